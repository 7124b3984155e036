"""The server's and the driver's faults in Strongroom's words (E1)."""

from __future__ import annotations

from typing import Final

import pymysql

from strongroom.engine import Rivals
from strongroom.errors import (
    Conflict,
    Corrupt,
    InvalidArgument,
    MigrationFailed,
    StrongroomError,
    TooLarge,
    Unavailable,
    Unsupported,
)

DUPLICATE: Final = 1062
DEADLOCK: Final = 1213

_RIVALS: Final = {
    DEADLOCK,  # also: the cluster certified another node's transaction
    1020,  # the record has changed since it was last read
}
LOCKED: Final = {1205, 3572}
_MISSING: Final = {1049, 1146, 1054}
_REFUSED: Final = {1044, 1045, 1142, 1143, 1227, 1370, 1698}
_TOO_LARGE: Final = {1153, 1301, 1118, 1406, 3950}
_BROKEN_ROWS: Final = {1048, 1264, 1265, 1292, 1364, 1366, 1526, 3819, 4025}
_DAMAGED: Final = {126, 127, 134, 144, 145, 1034, 1035, 1194, 1195}
_INTERRUPTED: Final = {1317, 1969, 3024}
_GONE: Final = {
    1047: "the node has no quorum, or is not ready yet",
    1053: "the server is shutting down",
    1927: "an operator killed the connection",
    4031: "the server closed a connection that nobody used",
}
"""What a server says as the last thing on a connection; another connection, to another node, may do."""
_BINARY_LOG: Final = 1419
_KEY_TOO_LONG: Final = 1071
_SYNTAX: Final = 1064
_SIGNAL: Final = 1644

_WHY_UNAVAILABLE: Final = {
    3: "an error of the disk",
    28: "the disk is full",
    1021: "the disk is full",
    1037: "the server is out of memory",
    1038: "the server is out of memory",
    1041: "the server is out of memory",
    1040: "the server has too many connections",
    1203: "the user has too many connections",
    1226: "the user has used up what the server grants",
    1114: "the table or the disk is full",
    1129: "the server has blocked this host after too many faults: FLUSH HOSTS unblocks it",
    1206: "the server's lock table is full",
    1290: "the server is read-only",
    1792: "the server is read-only",
    1836: "the server is read-only",
}


class Duplicate(StrongroomError):
    """There is a row under the key of one that was to be inserted."""


class Lost(Unavailable):
    """The connection broke, can't be made, or leads to a server that is going."""


def number_of(fault: BaseException) -> int:
    """The server's number of a fault; the driver's own begin at 2000 and end at 2999, 0 is none."""
    first = fault.args[0] if isinstance(fault, pymysql.MySQLError) and fault.args else 0
    return first if isinstance(first, int) else 0


def is_lost(fault: BaseException) -> bool:
    """Whether a connection is of no more use after the fault; otherwise the server answered with it, and goes on."""
    number = number_of(fault)
    return number == 0 or 2000 <= number < 3000 or number in _GONE


def translate(fault: Exception) -> StrongroomError:
    """The fault to raise for a driver's; the driver's is to be its cause."""
    number = number_of(fault)
    text = str(fault.args[1]) if len(fault.args) > 1 else str(fault)
    match number:
        case _ if isinstance(fault, UnicodeError):
            return Corrupt("MySQL: a stored text is not UTF-8")
        case _ if not isinstance(fault, pymysql.MySQLError):
            return StrongroomError(f"MySQL: {text}")
        case _ if number in _RIVALS:
            return Rivals("MySQL: another transaction won")
        case n if n in LOCKED:
            return Conflict("MySQL: another transaction has kept a row locked for too long; `inspect` names it")
        case _ if number == DUPLICATE:
            return Duplicate("MySQL: the key exists")
        case n if n in _MISSING:
            return InvalidArgument(f"MySQL: {text}; prepare its schema first")
        case n if n in _REFUSED:
            return InvalidArgument(f"MySQL: {text}: see to the user, the password and what they are granted")
        case n if n in _TOO_LARGE:
            return TooLarge(f"MySQL: {text}")
        case _ if number == _SIGNAL and "is immutable" in text:
            return Unsupported(f"MySQL: {text}")
        case _ if number == _SIGNAL:
            return StrongroomError("MySQL: a trigger that is not Strongroom's refused the change")
        case n if n in _BROKEN_ROWS:
            return Corrupt(f"MySQL: a row breaks what its table demands (error {number})")
        case n if n in _DAMAGED:
            return Corrupt(f"MySQL: a table is damaged: {text}")
        case n if n in _INTERRUPTED:
            return Unavailable("MySQL: the statement was interrupted, by an operator or by the server's own deadline")
        case n if n == _BINARY_LOG:
            return MigrationFailed(
                "MySQL: with its binary log on, the server lets this user make no triggers: set "
                "log_bin_trust_function_creators=1, or migrate once as a user with SUPER"
            )
        case n if n == _KEY_TOO_LONG:
            return MigrationFailed(f"MySQL: {text}")
        case n if n == _SYNTAX:  # the server's own words show a piece of the statement, and so of its values
            return StrongroomError("MySQL: the server does not understand a statement")
        case n if n in _WHY_UNAVAILABLE:
            return Unavailable(f"MySQL: {_WHY_UNAVAILABLE[n]}; nothing of this call was kept")
        case _ if is_lost(fault):
            why = _GONE.get(number) or text or "the connection is closed"
            return Lost(f"MySQL: the server can't be reached just now ({why})")
        case _ if isinstance(fault, pymysql.OperationalError | pymysql.InternalError):
            return Unavailable(f"MySQL: the store can't be used just now: {text}")
        case _:
            return StrongroomError(f"MySQL: {text}")


FAULTS: Final = (pymysql.MySQLError, UnicodeError)
"""What the driver may raise."""
