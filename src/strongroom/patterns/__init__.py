"""Patterns: what stores are made of, on any engine of the strength that each one names. Knows no engine."""

from strongroom.patterns.chain import Appended, Chain, ChainHeadBroken, EntryUnreadable, Link, StoredLine
from strongroom.patterns.chain_check import (
    ChainCheck,
    ChainFinding,
    ChainReport,
    Checkpoint,
    Finding,
    check_file,
    check_lines,
)
from strongroom.patterns.chain_format import ChainFormat, JsonFormat, LineTooLong, Linked, MalformedLine
from strongroom.patterns.claim import ClaimLost, LeasedQueue, Queue
from strongroom.patterns.cursor import make_cursor, read_cursor
from strongroom.patterns.digests import EMPTY_DIGEST, digest, is_digest
from strongroom.patterns.idempotency import Idempotency, IdempotencyConflict, Once
from strongroom.patterns.lease import LeaseHeld, LeaseLost, Leases
from strongroom.patterns.log import Log, Page
from strongroom.patterns.mapping import OrderedMapping, UniqueMapping
from strongroom.patterns.notes import (
    Note,
    NoteMalformed,
    NoteSigner,
    NoteUnverified,
    NoteVerifier,
    open_note,
    sign_note,
)
from strongroom.patterns.scoped import Faults, ScopedTable, check_scope
from strongroom.patterns.signed_checkpoint import CheckpointText, open_checkpoint, sign_checkpoint
from strongroom.patterns.subjects import Subject

__all__ = [
    "EMPTY_DIGEST",
    "Appended",
    "Chain",
    "ChainCheck",
    "ChainFinding",
    "ChainFormat",
    "ChainHeadBroken",
    "ChainReport",
    "Checkpoint",
    "CheckpointText",
    "ClaimLost",
    "EntryUnreadable",
    "Faults",
    "Finding",
    "Idempotency",
    "IdempotencyConflict",
    "JsonFormat",
    "LeaseHeld",
    "LeaseLost",
    "LeasedQueue",
    "Leases",
    "LineTooLong",
    "Link",
    "Linked",
    "Log",
    "MalformedLine",
    "Note",
    "NoteMalformed",
    "NoteSigner",
    "NoteUnverified",
    "NoteVerifier",
    "Once",
    "OrderedMapping",
    "Page",
    "Queue",
    "ScopedTable",
    "StoredLine",
    "Subject",
    "UniqueMapping",
    "check_file",
    "check_lines",
    "check_scope",
    "digest",
    "is_digest",
    "make_cursor",
    "open_checkpoint",
    "open_note",
    "read_cursor",
    "sign_checkpoint",
    "sign_note",
]
