"""The port between stores and engines, and everything that all engines share. Knows no database."""

from strongroom.engine.asynchronous import Cancelled
from strongroom.engine.base import Engine, SingleCalls
from strongroom.engine.clock import Clock
from strongroom.engine.committer import Committer, Job
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
from strongroom.engine.registry import open, schemes
from strongroom.engine.retry import Backoff, retry
from strongroom.engine.urls import StoreUrl

__all__ = [
    "Backoff",
    "Cancelled",
    "Claims",
    "Clock",
    "Committer",
    "Durability",
    "Engine",
    "Guard",
    "Job",
    "Reader",
    "Rows",
    "SchemaRows",
    "Sharing",
    "SingleCalls",
    "StoreUrl",
    "Strength",
    "Transaction",
    "WritableRows",
    "Writer",
    "open",
    "retry",
    "schemes",
]
