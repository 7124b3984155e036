"""Dispatch's own faults, the six of its contract: absent, taken, conflict, durability, unreadable, refused.

Each is also the fault of the common vocabulary that it is a case of, so that whoever catches that one catches it too.
Arguments out of range stay `strongroom.InvalidArgument`, an engine that can't be reached before anything was to be
committed stays `strongroom.Unavailable`, and what a caller's own function raises comes out as the same object (T3).
"""

from __future__ import annotations

from typing import Final

from strongroom import errors
from strongroom.domains.dispatch.words import RefusalCode
from strongroom.patterns import IdempotencyConflict


class Absent(errors.NotFound):
    """Nothing is held under that id."""


class Taken(errors.AlreadyExists):
    """The id, the sequence or the request key is held by another record; what is stored was left untouched."""


class Conflict(errors.VersionMismatch):
    """What is stored is not in the state that the change was for; nothing was written. Has `expected` and `found`."""

    def __init__(self, message: str, *, expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class Durability(errors.StrongroomError):
    """The commit failed, or what came of it is not known here. Take nothing as kept.

    It is always a `NotKept` or an `OutcomeUnknown`.
    """


class NotKept(Durability, errors.Unavailable):
    """The commit failed, and nothing of it is kept. Retryable."""


class OutcomeUnknown(Durability, errors.CommitUnknown):
    """Whether the commit was kept can't be known here: the engine's `resolve` answers `token` (T6)."""


class Unreadable(errors.Corrupt):
    """What is held is not what was written (R4), or does not fit together with what it belongs to."""


class Refused(errors.StrongroomError):
    """A well-formed request that is not to be; nothing was written. `code` says why."""

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = code is RefusalCode.QUEUE_FULL


class RequestConflict(Refused, IdempotencyConflict):
    """The request key stands for another request."""

    def __init__(self, message: str) -> None:
        super().__init__(RefusalCode.IDEMPOTENCY_CONFLICT, message)


class _ReadFaults:
    """Has what is corrupt come out as `Unreadable`, caused by what found it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if isinstance(fault, errors.Corrupt) and not isinstance(fault, Unreadable):
            raise Unreadable(str(fault), table=fault.table, key=fault.key, column=fault.column) from fault


READ_FAULTS: Final = _ReadFaults()
"""What every read of this domain is made within."""
