"""Verification: every row of every table that can be read, every log's positions, every mapping's agreement (R4).

A bad record never stops the walk: it is named, and the walk goes on behind it. At any time no more than one page of
rows is held, however large the store; other users of the store are never kept waiting, and rows that they write
meanwhile are not mistaken for faults.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from strongroom.engine import Engine, Reader, Strength
from strongroom.engine.catalog import STEPS
from strongroom.errors import Corrupt, InvalidArgument, show_key
from strongroom.operations.stored import StoredTable
from strongroom.operations.survey import GONE, PAGE, UNREADABLE, Presence, Survey, survey
from strongroom.patterns import OrderedMapping, Subject
from strongroom.records import MAX_LIMIT, AnyTable, Key, Record, Stored, encode_key


class Kind(StrEnum):
    """What kind of fault a finding is."""

    ROW = "row"
    """A row is not what was written: its seal, a value's type or limit, or the table's rule is broken."""
    GAP = "gap"
    """A log lacks positions, or has an entry before its first (L1)."""
    MAPPING = "mapping"
    """A mapping's entry points to nothing, or to a record that is not the one it describes."""
    TABLE = "table"
    """A table, or the rest of one, can't be walked, or is not there although it was made."""
    SCHEMA = "schema"
    """The record of applied steps is not this code's: newer, altered, or taken away (M1, M2)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One bad thing. `key` is in stored form, with sensitive parts hidden; `column` is empty where it is not one's."""

    kind: Kind
    table: str
    key: tuple[Stored, ...]
    column: str
    what: str

    def __str__(self) -> str:
        return f"{self.table}{show_key(self.key) if self.key else ''}: {self.what}"


@dataclass(slots=True)
class Walked:
    """How far the walk of one table has come."""

    table: str
    schema: str
    total: int | None
    """How many rows the table had when its walk began; None for 10,000 or more."""
    rows: int = 0
    bad: int = 0
    """How many findings the table has."""


class Verification:
    """The findings of one walk, found while it is iterated over, and its counts, which grow meanwhile.

    Iterating again walks again. Raises as the engine does where it can't be reached (`Unavailable`, `Closed`).
    """

    def __init__(
        self, engine: Engine, subjects: Sequence[Subject], watch: Callable[[Walked], None] | None, page: int
    ) -> None:
        self._engine = engine
        self._page = page
        self._watch = watch or (lambda _walked: None)
        self._logs = {log.table.name for subject in subjects for log in subject.logs}
        self._mappings = [mapping for subject in subjects for mapping in subject.mappings]
        self.survey: Survey = survey(engine, subjects)
        """What the store was found to have before the walk."""
        self.tables: list[Walked] = []
        """The tables walked so far, in order; the last one may be under way."""
        self.bad = 0
        """How many findings there were so far."""

    @property
    def rows(self) -> int:
        """How many rows were looked at so far."""
        return sum(walked.rows for walked in self.tables)

    def __iter__(self) -> Iterator[Finding]:
        self.tables = []
        self.bad = 0
        yield from self._counted(self._unwalkable(), None)
        for state in self.survey.tables:
            if state.presence is Presence.READABLE:
                stored = self.survey.readable[state.name]
                walked = Walked(state.name, state.schema, self._total(stored))
                self.tables.append(walked)
                self._watch(walked)
                yield from self._counted(self._walk(stored, walked), walked)

    def _total(self, stored: StoredTable[Any]) -> int | None:
        try:
            count = stored.count(self._engine, limit=MAX_LIMIT)
        except Corrupt:
            return None  # the walk comes upon the same fault, and names it
        return count if count < MAX_LIMIT else None

    def _counted(self, findings: Iterable[Finding], walked: Walked | None) -> Iterator[Finding]:
        for finding in findings:
            self.bad += 1
            if walked is not None:
                walked.bad += 1
            yield finding

    def _unwalkable(self) -> Iterator[Finding]:
        for schema in self.survey.schemas:
            if schema.state in UNREADABLE:
                yield Finding(Kind.SCHEMA, STEPS.name, (schema.name,), "", schema.problem)
        for table in self.survey.tables:
            if table.presence is Presence.MISSING:
                yield Finding(Kind.TABLE, table.name, (), "", GONE)
            if table.presence is Presence.UNFINISHED:
                what = "it is there, but its step is not recorded: a migration was cut short, or the record is gone"
                yield Finding(Kind.SCHEMA, table.name, (), "", what)

    def _walk(self, stored: StoredTable[Any], walked: Walked) -> Iterator[Finding]:
        table = stored.table
        positions = _Positions(table) if table.name in self._logs else None
        mappings = [mapping for mapping in self._mappings if mapping.mapping is table]
        last: Key | None = None
        size = self._page
        while True:
            try:
                page = stored.examine(self._engine, after=last, limit=size)
            except Corrupt as fault:
                if size > 1:
                    size = max(1, size // 10)  # what stands before the damage can be had in smaller pages
                    continue
                yield _finding(Kind.TABLE, table, last or (), f"can't be walked from here on: {fault}")
                return
            if not page:
                return
            for key, found in page:
                if last is not None and not _follows(table, key, last):
                    yield _finding(Kind.TABLE, table, key, "is out of order: the table can't be walked from here on")
                    return
                last = key
                walked.rows += 1
                if isinstance(found, Corrupt):
                    yield _finding(Kind.ROW, table, key, _bare(found, table, key), found.column)
                if positions is not None:
                    yield from positions.check(key)
            entries = [(key, found) for key, found in page if not isinstance(found, Corrupt)]
            for mapping in mappings:
                yield from self._check_entries(mapping, stored, entries)
            self._watch(walked)

    def _check_entries(
        self, mapping: OrderedMapping[Any, Any], stored: StoredTable[Any], entries: Sequence[tuple[Key, Any]]
    ) -> Iterator[Finding]:
        target = self.survey.readable.get(mapping.table.name)
        for key in self._suspects(mapping, target, entries):
            what = self._disagreement(mapping, stored, target, key)
            if what:
                yield _finding(Kind.MAPPING, mapping.mapping, key, what)

    def _suspects(
        self, mapping: OrderedMapping[Any, Any], target: StoredTable[Any] | None, entries: Sequence[tuple[Key, Any]]
    ) -> list[Key]:
        """The keys of the entries that a first look, without a snapshot, does not find in agreement."""
        if target is None:
            return [key for key, _entry in entries]
        try:
            records = target.get_many(self._engine, [mapping.locate(entry) for _key, entry in entries])
        except (Corrupt, InvalidArgument):
            return [key for key, _entry in entries]  # it is one of them: each is looked at by itself
        pairs = zip(entries, records, strict=True)
        return [key for (key, entry), record in pairs if mapping.fault(entry, record) is not None]

    def _disagreement(
        self, mapping: OrderedMapping[Any, Any], stored: StoredTable[Any], target: StoredTable[Any] | None, key: Key
    ) -> str:
        """What is wrong with the entry under `key`, looked at anew: either of the two may have changed meanwhile."""

        def look(reader: Reader) -> str:
            try:
                entry = stored.get(reader, *key)
            except Corrupt:
                return ""  # it went bad after the walk had passed; the next one will name it
            if entry is None:
                return ""
            try:
                record: Record | None = None if target is None else target.get(reader, *mapping.locate(entry))
            except (Corrupt, InvalidArgument) as problem:
                return f"points to what can't be read: {problem}"
            fault = mapping.fault(entry, record)
            return "" if fault is None else _bare(fault, mapping.mapping, key)

        if self._engine.claims.strength >= Strength.MULTI_RECORD:
            return self._engine.read(look)
        return look(self._engine)


def verify(
    engine: Engine,
    subjects: Sequence[Subject],
    *,
    watch: Callable[[Walked], None] | None = None,
    page: int = PAGE,
) -> Verification:
    """Walk the store of `engine`: every row of its catalog and of the tables of `subjects`, every log, every mapping.

    Iterate over what is returned for the findings; nothing bad was found if there are none. Nothing is created,
    migrated or repaired: a table that the store lacks, or that no subject declares, is not a finding (the
    verification's `survey` names them). A table under a newer or altered schema is one, and is not walked.

    Arguments:
        watch: called when the walk of a table begins and after each page of it, with the same object each time.
        page: how many rows are looked at, and held, at once: 1 to 10,000.

    Raises as `survey`, before anything is walked; `InvalidArgument` for a page out of range.
    """
    if type(page) is not int or not 1 <= page <= MAX_LIMIT:
        raise InvalidArgument(f"a page has 1 to {MAX_LIMIT} rows")
    return Verification(engine, subjects, watch, page)


class _Positions:
    """The positions of a log's streams, as the walk comes by them in key order."""

    def __init__(self, table: AnyTable) -> None:
        self._table = table
        self._stream: Key | None = None
        self._next = 1

    def check(self, key: Key) -> Iterator[Finding]:
        stream, position = key[:-1], key[-1]
        if not isinstance(position, int):
            return  # the row was named for it
        if stream != self._stream:
            self._stream, self._next = stream, 1
        if position < 1:
            yield _finding(Kind.GAP, self._table, key, "stands before position 1, where every log begins")
        elif position > self._next:
            count = position - self._next
            missing = f"position {self._next} is" if count == 1 else f"positions {self._next} to {position - 1} are"
            yield _finding(Kind.GAP, self._table, (*stream, self._next), f"{missing} missing: the log has a gap")
        self._next = max(self._next, position + 1)


def _finding(kind: Kind, table: AnyTable, key: Key, what: str, column: str = "") -> Finding:
    return Finding(kind, table.name, table.shown_key(key), column, what)


def _bare(fault: Corrupt, table: AnyTable, key: Key) -> str:
    """The fault's message without the table and key that a finding names anyway."""
    return str(fault).removeprefix(table.show(key)).lstrip(": ")


def _follows(table: AnyTable, key: Key, last: Key) -> bool:
    try:
        return encode_key(table, key) > encode_key(table, last)
    except (TypeError, ValueError, struct.error):
        return False
