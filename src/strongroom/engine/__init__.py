"""The port between stores and engines, and everything that all engines share. Knows no database."""

from strongroom.engine.asynchronous import Cancelled
from strongroom.engine.base import Engine, SingleCalls
from strongroom.engine.buffered import BufferedRows, Refuted, TableChanges
from strongroom.engine.clock import Clock
from strongroom.engine.committer import Committer, Job
from strongroom.engine.groups import GroupRunner, Rivals, Session, Stale, Work, retried
from strongroom.engine.marks import MARK_KEPT_MS, TOKEN_ANSWERED_MS
from strongroom.engine.port import (
    Claims,
    Durability,
    Guard,
    Reader,
    Rows,
    SchemaRows,
    Sharing,
    Strength,
    Transaction,
    WritableRows,
    Writer,
)
from strongroom.engine.queued import QueuedCalls
from strongroom.engine.registry import open, schemes
from strongroom.engine.retry import Backoff, retry
from strongroom.engine.struck import is_from_a_signal
from strongroom.engine.urls import StoreUrl
from strongroom.engine.wrapped import WrappedRows

__all__ = [
    "MARK_KEPT_MS",
    "TOKEN_ANSWERED_MS",
    "Backoff",
    "BufferedRows",
    "Cancelled",
    "Claims",
    "Clock",
    "Committer",
    "Durability",
    "Engine",
    "GroupRunner",
    "Guard",
    "Job",
    "QueuedCalls",
    "Reader",
    "Refuted",
    "Rivals",
    "Rows",
    "SchemaRows",
    "Session",
    "Sharing",
    "SingleCalls",
    "Stale",
    "StoreUrl",
    "Strength",
    "TableChanges",
    "Transaction",
    "Work",
    "WrappedRows",
    "WritableRows",
    "Writer",
    "is_from_a_signal",
    "open",
    "retried",
    "retry",
    "schemes",
]
