"""Reading in one snapshot: whole listings, exact counts, and what is wrong with a row in the domain's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from strongroom import errors
from strongroom.domains.runners.attempts import attempt_refusal
from strongroom.domains.runners.faults import (
    CorruptAttempt,
    CorruptColumn,
    CorruptHost,
    CorruptHostWorkspace,
    CorruptPolicy,
    CorruptRow,
)
from strongroom.domains.runners.hosts import host_refusal
from strongroom.domains.runners.policies import policy_refusal
from strongroom.domains.runners.refusals import Invalid, InvalidPath
from strongroom.domains.runners.tables import ATTEMPTS, HOSTS, POLICIES
from strongroom.engine import Engine, Reader
from strongroom.records import MAX_LIMIT, REPLACEABLE, SEAL, AnyTable, Record, Table

R = TypeVar("R", bound=Record)
T = TypeVar("T")

PAGE: Final = 500
"""Rows that are read at once: few round trips, and no answer that an engine would choke on."""


def _without_rule(table: Table[R]) -> Table[R]:
    return Table(table.name, table.record, key=table.key_names, scope=table.scope, changes=REPLACEABLE)


# The same tables without their rules, to find out what exactly the domain has against a row.
_ROWS: Final[dict[str, tuple[AnyTable, Callable[[Any], Invalid | None], type[CorruptRow]]]] = {
    HOSTS.name: (_without_rule(HOSTS), host_refusal, CorruptHost),
    POLICIES.name: (_without_rule(POLICIES), policy_refusal, CorruptPolicy),
    ATTEMPTS.name: (_without_rule(ATTEMPTS), attempt_refusal, CorruptAttempt),
}


def in_our_words(engine: Engine, call: Callable[[], T]) -> T:
    """What `call` returns; a row of this domain that is `Corrupt` comes out as the domain's own fault for it.

    Every other fault comes out as the same object. `call` is no read or write function, but makes one.
    """
    try:
        return call()
    except CorruptRow:
        raise
    except errors.Corrupt as found:
        if found.table not in _ROWS or len(found.key) != len(_ROWS[found.table][0].key):
            raise
        raise _named(engine, found) from found


def _named(engine: Engine, found: errors.Corrupt) -> CorruptRow:
    if found.column not in ("", SEAL):
        return CorruptColumn(found)
    table, refuse, kind = _ROWS[found.table]
    refusal = None
    if not found.column:
        record = engine.get(table, *found.key)
        refusal = None if record is None else refuse(record)
    if isinstance(refusal, InvalidPath) and kind is CorruptHost:
        kind = CorruptHostWorkspace
    return kind(found, refusal)


def walk(reader: Reader, table: Table[R], *prefix: Any) -> Iterator[R]:
    """Every record whose key begins with `prefix`, in key order. One corrupt row fails them all (R4)."""
    after: tuple[Any, ...] | None = None
    while True:
        records = reader.scan(table, *prefix, after=after, limit=PAGE)
        yield from records
        if len(records) < PAGE:
            return
        after = table.key_in(records[-1])[len(prefix) :]


def count_exactly(reader: Reader, table: AnyTable, *prefix: Any) -> int:
    """How many records have keys that begin with `prefix`, however many there are."""
    counted = reader.count(table, *prefix, limit=MAX_LIMIT)
    return counted if counted < MAX_LIMIT else sum(1 for _ in walk(reader, table, *prefix))
