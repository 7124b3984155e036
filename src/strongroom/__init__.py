"""Strongroom keeps the state of control planes: durable, provable, the same on every engine."""

from strongroom.engine import Cancelled, Engine, Reader, Transaction, open, schemes
from strongroom.errors import (
    AlreadyExists,
    Closed,
    CommitUnknown,
    Conflict,
    Corrupt,
    CursorExpired,
    InvalidArgument,
    MigrationFailed,
    NotFound,
    SchemaTooNew,
    ScopeMismatch,
    StoreHeld,
    StrongroomError,
    TooLarge,
    Unavailable,
    Unsupported,
    VersionMismatch,
)

__version__ = "0.1.0"

__all__ = [
    "AlreadyExists",
    "Cancelled",
    "Closed",
    "CommitUnknown",
    "Conflict",
    "Corrupt",
    "CursorExpired",
    "Engine",
    "InvalidArgument",
    "MigrationFailed",
    "NotFound",
    "Reader",
    "SchemaTooNew",
    "ScopeMismatch",
    "StoreHeld",
    "StrongroomError",
    "TooLarge",
    "Transaction",
    "Unavailable",
    "Unsupported",
    "VersionMismatch",
    "__version__",
    "open",
    "schemes",
]
