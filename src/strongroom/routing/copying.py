"""Copies of a scope's rows from one room to another: made alike, compared, and removed. Rows go as they are, seals too.

A copy is made by comparing: what the target has already and is the same stays, what is missing or other is written,
what the source does not have is removed. So it may be made over a live source, over the rest of an earlier copy, and
again after a crash; the last one, over a fenced source, leaves exactly the source's rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from strongroom.engine import Engine, Guard, Rows, WritableRows
from strongroom.errors import Conflict, Corrupt, TooLarge
from strongroom.records import SEAL, AnyTable, Key, KeyRange, Row, encode_key
from strongroom.routing.scopes import prefix_of
from strongroom.routing.tables import FENCES, Hold

PAGE: Final = 200
"""How many rows are copied in one transaction, where the target takes so many."""

Watch = Callable[[str, int], None]
"""Called with a table's name and how many of its rows are done."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What a scope's rows in one room come to."""

    rows: int
    tables: dict[str, str]
    """Each table's name, and the hex digits of the digest of its rows in order."""

    @property
    def whole(self) -> str:
        """The digest over all tables: 64 hex digits."""
        return hashlib.blake2b(msgspec.msgpack.encode(self.tables), digest_size=32).hexdigest()


@dataclass(frozen=True)
class ScopeRows:
    """The rows of one scope in one room.

    Arguments:
        room: the room.
        tables: the scoped tables of all schemas that the room has.
        scope, number: the scope, and the fencing number that writes here are made under.
    """

    room: Engine
    tables: Sequence[AnyTable]
    scope: str
    number: int

    def is_empty(self) -> bool:
        """Whether there is no row."""
        return not any(self.room._rows.tally(table, prefix, 1) for table, prefix in self._held())

    def digest(self, watch: Watch) -> Digest:
        """What the rows come to, read in pages: of any worth only while nobody writes them."""
        count, digests = 0, {}
        for table, prefix in self._held():
            digest, rows = hashlib.blake2b(digest_size=32, person=b"strongroom.move"), 0
            for page in _pages(self.room._rows, table, prefix, PAGE):
                for row in page:
                    digest.update(msgspec.msgpack.encode(row))
                rows += len(page)
                watch(table.name, rows)
            digests[table.name] = digest.hexdigest()
            count += rows
        return Digest(count, digests)

    def copy_to(self, target: ScopeRows, watch: Watch) -> None:
        """Make the rows of `target` those that are here, as long as it is told to expect them under its number.

        Raises `Conflict` where it is not any more, `Corrupt` for a row here that is not what was written, and for one
        there that can't be.
        """
        size = PAGE
        for table, prefix in self._held():
            decode = self.room._codecs[table].decode
            begin: Key | None = None
            done = 0
            while True:
                rows = self.room._rows.fetch_range(table, _behind(prefix, begin, size))
                for row in rows:
                    decode(row)
                end = table.key_of(rows[-1])[len(prefix) :] if len(rows) == size else None
                stretch = _Stretch(table, prefix, begin, end)
                try:
                    target._write(Hold.INCOMING, stretch.replaced_by(rows))
                except TooLarge:
                    if size == 1:
                        raise
                    size //= 2
                    continue
                done += len(rows)
                watch(table.name, done)
                if end is None:
                    break
                begin = end

    def remove(self, watch: Watch) -> None:
        """Remove the rows of the tables that allow deletes, as long as the scope has left under this number."""
        size = PAGE
        for table, prefix in self._held():
            done = 0
            while table.changes.delete:
                rows = self.room._rows.fetch_range(table, _behind(prefix, None, size))
                try:
                    self._write(Hold.LEFT, _removal(table, rows))
                except TooLarge:
                    if size == 1:
                        raise
                    size //= 2
                    continue
                done += len(rows)
                watch(table.name, done)
                if len(rows) < size:
                    break

    def _held(self) -> Iterator[tuple[AnyTable, Key]]:
        """The tables that may have rows of the scope, and the prefix of their keys."""
        for table in self.tables:
            prefix = prefix_of(table, self.scope)
            if prefix is not None:
                yield table, prefix

    def _write(self, hold: Hold, change: Callable[[WritableRows], None]) -> None:
        """Make `change` in a transaction, if the scope's fence is as expected."""
        codec = self.room._codecs[FENCES]

        def guarded(rows: WritableRows) -> None:
            row = rows.fetch(FENCES, (self.scope,))
            fence = None if row is None else codec.decode(row)
            if fence is None or (fence.number, fence.hold) != (self.number, hold):
                raise Conflict("somebody else has moved the scope, or given up the move, meanwhile")
            change(rows)

        self.room._write(guarded, lambda: False)


@dataclass(frozen=True)
class _Stretch:
    """The keys of a scope behind `begin`, up to `end` and that included; None: without a bound."""

    table: AnyTable
    prefix: Key
    begin: Key | None
    end: Key | None

    def replaced_by(self, wanted: Sequence[Row]) -> Callable[[WritableRows], None]:
        """What makes the rows of the stretch the `wanted` ones."""
        table = self.table

        def change(rows: WritableRows) -> None:
            there = {table.key_of(row): row for row in self._rows(rows)}
            for row in wanted:
                key = table.key_of(row)
                found = there.pop(key, None)
                if found is None:
                    rows.insert(table, key, row)
                elif found != row:
                    self._overwrite(rows, key, found, row)
            for key in there:
                if not table.changes.delete:
                    raise Corrupt(
                        f"{table.show(key)} is in the target, and not in the source that it was copied from",
                        table=table.name,
                        key=table.shown_key(key),
                    )
                rows.remove(table, key, None)

        return change

    def _rows(self, rows: Rows) -> Iterator[Row]:
        last = None if self.end is None else encode_key(self.table, self.prefix + self.end)
        for page in _pages(rows, self.table, self.prefix, PAGE, self.begin):
            for row in page:
                if last is not None and encode_key(self.table, self.table.key_of(row)) > last:
                    return
                yield row

    def _overwrite(self, rows: WritableRows, key: Key, old: Row, new: Row) -> None:
        changes = self.table.changes
        if changes.put:
            rows.put(self.table, key, new)
        elif changes.update:
            rows.replace(self.table, key, new, Guard(len(old) - 1, SEAL, old[-1]))
        elif changes.delete:
            rows.remove(self.table, key, None)
            rows.insert(self.table, key, new)
        else:
            shown = self.table.shown_key(key)
            raise Corrupt(f"{self.table.show(key)} differs, and never changes", table=self.table.name, key=shown)


def _removal(table: AnyTable, rows: Sequence[Row]) -> Callable[[WritableRows], None]:
    def change(target: WritableRows) -> None:
        for row in rows:
            target.remove(table, table.key_of(row), None)

    return change


def _pages(rows: Rows, table: AnyTable, prefix: Key, size: int, begin: Key | None = None) -> Iterator[list[Row]]:
    """The rows behind `begin` whose keys begin with `prefix`, page by page."""
    while True:
        page = rows.fetch_range(table, _behind(prefix, begin, size))
        yield page
        if len(page) < size:
            return
        begin = table.key_of(page[-1])[len(prefix) :]


def _behind(prefix: Key, begin: Key | None, size: int) -> KeyRange:
    return KeyRange(prefix, begin, begin is not None, limit=size)
