"""The one fault vocabulary (contract E).

Every fault that leaves Strongroom is one of these. A driver's exception never leaves its engine: it is the
``__cause__`` of one of these. Messages name tables, keys and columns, and show no other value but the one, clipped,
that `Corrupt` found in a column which is not sensitive (E2, R4). Domains subclass the ones their callers catch, so
that two domains' faults are never mixed up.
"""

from __future__ import annotations

from collections.abc import Sequence

CLIP = 60
"""The most characters of a stored value that a message shows (R4)."""


def clip(value: object) -> str:
    """The value as a message may show it: its ``repr``, at most `CLIP` characters long."""
    return cut(repr(value[: CLIP * 2]) if isinstance(value, str | bytes) else repr(value), CLIP)


def cut(text: str, length: int) -> str:
    """The text in at most `length` characters: one that is longer ends in an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def show_key(key: Sequence[object]) -> str:
    """A key as messages show it, each part clipped."""
    return "(" + ", ".join(clip(part) for part in key) + ")"


class StrongroomError(Exception):
    """The base of every fault. `retryable` says whether the same call may succeed if made again."""

    retryable: bool = False


class InvalidArgument(StrongroomError, ValueError):
    """The call itself is wrong; nothing was read or written (K2, K4, R5, S3)."""


class NotFound(StrongroomError, LookupError):
    """Nothing is stored under that key (raised by domain stores; an engine's `get` answers ``None``, R3)."""


class AlreadyExists(StrongroomError):
    """A row with that key exists and was left untouched (W1)."""


class VersionMismatch(StrongroomError):
    """The stored row is not the expected one, or there is none; nothing was written (W2). Read again and retry."""

    retryable = True


class Conflict(StrongroomError):
    """Other writers won every bounded retry, or a snapshot had to be given up (T4, D5). Retry later."""

    retryable = True


class ScopeMismatch(StrongroomError, ValueError):
    """A record names another scope than the store is bound to; the engine was not asked (S2)."""


class Corrupt(StrongroomError):
    """What is stored is not what was written: a broken seal, type, rule, link or gap (R4)."""

    def __init__(self, message: str, *, table: str = "", key: Sequence[object] = (), column: str = "") -> None:
        super().__init__(message)
        self.table = table
        self.key = tuple(key)
        self.column = column


class CommitUnknown(StrongroomError):
    """It cannot be known here whether the commit took place (T6).

    `token` can be given to the engine's `resolve`, which answers for certain once it can be reached.
    """

    def __init__(self, message: str, *, token: str) -> None:
        super().__init__(message)
        self.token = token


class Unavailable(StrongroomError):
    """The engine cannot be reached, or cannot write, just now: nothing of this call was kept (D3)."""

    retryable = True


class TooLarge(StrongroomError, ValueError):
    """A record, transaction or answer is over a limit of the engine; it was not sent."""


class SchemaTooNew(StrongroomError):
    """The store was written by newer code; it was left untouched (M2)."""


class MigrationFailed(StrongroomError):
    """The store's recorded steps are not this code's, or a step could not be applied (M1, M3)."""


class StoreHeld(StrongroomError):
    """Another holder has the store exclusively, or it is shared when exclusive use was asked for (D4)."""


class CursorExpired(StrongroomError):
    """The cursor was made before the store was restored: its positions mean nothing now (R5)."""


class Unsupported(StrongroomError):
    """The engine, or the table's declaration, does not offer what was asked for (T7, W4)."""


class Closed(StrongroomError):
    """The engine was closed, or belongs to the process that this one was forked from (E3, C2)."""
