"""SQLite's faults in Strongroom's words (E1), and nothing of the driver's beyond this room."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import apsw

from strongroom.errors import Closed, Corrupt, InvalidArgument, StrongroomError, TooLarge, Unavailable, Unsupported


def translate(fault: Exception) -> StrongroomError:
    """The fault to raise for a driver's; the driver's is to be its cause."""
    text = str(fault)
    match fault:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("SQLite: another connection has kept the store locked for too long; `inspect` names it")
        case apsw.ConnectionClosedError():
            return Closed("the engine was closed meanwhile")
        case apsw.FullError():
            return Unavailable("SQLite: the disk or the store's size limit is full; nothing of this call was kept")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable("SQLite: the store can't be written: file or disk is read-only")
        case apsw.CorruptError():
            return Corrupt(f"SQLite: the file is damaged: {text}")
        case apsw.NotADBError():
            return Corrupt("SQLite: the file is not a SQLite database")
        case apsw.TooBigError():
            return TooLarge("SQLite: a value is over the database's own size limit")
        case apsw.ConstraintError() if "is immutable" in text:
            return Unsupported(f"SQLite: {text}")
        case apsw.ConstraintError():
            return Corrupt(f"SQLite: a row breaks what its table demands: {text}")
        case apsw.SQLError() if "no such table" in text or "no such column" in text:
            return InvalidArgument(f"SQLite: {text}; prepare its schema first")
        case UnicodeDecodeError():
            return Corrupt("SQLite: a stored text is not UTF-8")
        case apsw.IOError() | apsw.CantOpenError() | apsw.NoMemError() | apsw.ProtocolError() | apsw.InterruptError():
            return Unavailable(f"SQLite: the store can't be used just now: {text}")
        case _:
            return StrongroomError(f"SQLite: {text}")


FAULTS = (apsw.Error, UnicodeDecodeError)
"""What the driver may raise."""


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let no driver's exception out."""
    try:
        yield
    except FAULTS as fault:
        raise translate(fault) from fault
