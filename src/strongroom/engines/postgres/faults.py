"""What PostgreSQL says went wrong, as Strongroom's faults (E1). Known by its SQLSTATE; no text is looked at."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from strongroom.engine import Rivals, Stale
from strongroom.engines.postgres.statements import IMMUTABLE
from strongroom.errors import (
    Conflict,
    Corrupt,
    InvalidArgument,
    StrongroomError,
    TooLarge,
    Unavailable,
    Unsupported,
)


class Lost(Stale):
    """The connection broke. What was under way was not kept, unless a commit of it had been sent."""


class Duplicate(Rivals):
    """A row that was taken for new is there; `table` is the name of its table."""

    def __init__(self, table: str) -> None:
        super().__init__(f"{table}: a row with the same key is there")
        self.table = table


_RUN_AGAIN: Final = frozenset({"40001", "40P01"})
_ENDED: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04"})
"""States with which the server ends a connection, or refuses one."""
_UNPREPARED: Final = frozenset({"26000", "42P05", "0A000"})
"""A prepared statement is not there, is another's (somebody stands between, and deals connections out anew), or was
prepared for a table that is declared otherwise now: it is to be prepared anew."""
_UNDECLARED: Final = frozenset({"42P01", "42703", "3F000"})
_DENIED: Final = frozenset({"42501", "28000", "28P01"})

_PREPARED: Final = "PostgreSQL: what it had prepared is of no use: is there a proxy between? Then say prepare=0"


def fault_of(result: PGresult) -> StrongroomError:
    """The fault that a failed statement stands for. The driver's error, without any value, is its cause."""
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    said = (result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace").partition("\n")[0]
    table = (result.error_field(DiagnosticField.TABLE_NAME) or b"").decode(errors="replace")
    fault = _fault(state, said, table)
    fault.__cause__ = _driver_error(state, said)
    return fault


def _fault(state: str, said: str, table: str) -> StrongroomError:
    if state == "23505":
        return Duplicate(table)
    if state in _RUN_AGAIN:
        return Rivals("PostgreSQL could not serialize the transaction with others")
    if state == "22012":
        return Rivals("PostgreSQL: a row that was read was no longer there to be changed")
    if state in _ENDED or state.startswith("08") or not state:
        return Lost("PostgreSQL ended the connection")
    if state in _UNPREPARED:
        return Lost(_PREPARED)
    if state == "55P03":
        return Conflict("PostgreSQL: a lock was held by another for longer than timeout_ms")
    if state == "57014":
        return Unavailable("PostgreSQL: a statement took longer than timeout_ms, or was cancelled; nothing was kept")
    if state == "53100":
        return Unavailable("PostgreSQL: the disk is full; nothing was kept")
    if state == "25006":
        return Unavailable("PostgreSQL: the server takes no writes now (a standby, or read-only); nothing was kept")
    if state[:2] in ("53", "57", "58"):
        return Unavailable(f"PostgreSQL can't do it just now ({said}); nothing was kept")
    if state.startswith("54"):
        return TooLarge("PostgreSQL: a key, or what was sent, is over a limit of the server")
    if state in _UNDECLARED:
        return InvalidArgument(f"PostgreSQL: {said}; prepare its schema first")
    if state in _DENIED:
        return InvalidArgument(f"PostgreSQL: the user is not allowed to do this ({said})")
    if state == IMMUTABLE:
        return Unsupported(f"PostgreSQL: {said}")
    if state.startswith("XX"):
        return Corrupt(f"PostgreSQL: the server found its own files damaged ({state})")
    return StrongroomError(f"PostgreSQL refused it ({state})")


def _driver_error(state: str, said: str) -> psycopg.Error:
    try:
        return psycopg.errors.lookup(state)(said)
    except KeyError:
        return psycopg.OperationalError(said)
