"""Buffered transactions: what a write function changes stays here until it commits, and what it reads is read once.

For engines that a round trip or a request separates from their rows. A function's changes are laid over what the
database has, so that it sees them; only the net change is sent, all at once, with the commit. Several functions may
follow one another in the same transaction: each sees what those before it left, and `undo` takes the changes of one
back without a word to the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sortedcontainers import SortedDict

from strongroom.engine.port import Guard, Rows, WritableRows
from strongroom.errors import Conflict, InvalidArgument
from strongroom.records import AnyTable, Key, KeyRange, Row, encode_key

_WORTH_KEEPING: Final = 256
"""The most rows of one walk that are kept to answer later reads."""
_SPANS: Final = 64
"""How many walked spans of a table's keys are remembered."""


@dataclass(slots=True)
class TableChanges:
    """The net changes to one table."""

    table: AnyTable
    inserts: list[Row] = field(default_factory=list)
    """New rows, whose keys the database does not have, or was assumed not to."""
    updates: list[Row] = field(default_factory=list)
    """Rows to be written over those that the database has under their keys."""
    puts: list[Row] = field(default_factory=list)
    """Rows to be kept whether the database has their keys or not."""
    removes: list[Key] = field(default_factory=list)
    """Keys whose rows, which the database has, are to go."""

    def guarded(self) -> TableChanges:
        """The same changes for a database that guards the table itself, and lets no update of an immutable row through.

        A row that was removed and inserted anew is not updated then, but removed before the inserts.
        """
        if not self.updates or self.table.changes.update or self.table.changes.put:
            return self
        again = [self.table.key_of(row) for row in self.updates]
        return TableChanges(self.table, [*self.inserts, *self.updates], [], self.puts, [*self.removes, *again])


class _Held:
    """What is known of one table, and what is changed in it."""

    def __init__(self, table: AnyTable) -> None:
        self.table = table
        self.known: dict[Key, Row | None] = {}
        """Rows as the database has them."""
        self.changed: dict[Key, Row | None] = {}
        """Rows as they are to be; None for one that is to go."""
        self.assumed: set[Key] = set()
        """Keys of inserted rows that were taken for new without a look; the database is asked as they are sent."""
        self.order: SortedDict = SortedDict()
        """The changed keys by their bytes."""
        self.walks: dict[KeyRange, list[Row]] = {}
        self.tallies: dict[tuple[Key, int], int] = {}
        self.spans: list[tuple[bytes, bytes | None]] = []
        """Spans of key bytes in which every row is known: what is not in `known` is not there."""
        self._places: dict[Key, bytes] = {}

    def place(self, key: Key) -> bytes:
        """The key's bytes, by which keys are ordered."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = encode_key(self.table, key)
        return place

    def set(self, key: Key, row: Row | None) -> None:
        if key not in self.changed:
            self.order[self.place(key)] = key
        self.changed[key] = row

    def unset(self, key: Key) -> None:
        self.assumed.discard(key)
        del self.changed[key]
        del self.order[self.place(key)]

    def is_walked(self, key: Key) -> bool:
        """Whether a walk went over the place of `key`."""
        if not self.spans:
            return False
        place = self.place(key)
        return any(low <= place and (high is None or place < high) for low, high in self.spans)

    def learn(self, wanted: KeyRange, rows: list[Row]) -> None:
        """Remember what a walk found."""
        self.walks[wanted] = rows
        self.known.update((self.table.key_of(row), row) for row in rows)
        low, high = wanted.bounds(self.table)
        if len(rows) == wanted.limit:  # it may go on behind the last row
            last = self.place(self.table.key_of(rows[-1]))
            low, high = (last, high) if wanted.reverse else (low, last + b"\0")
        self.spans = [*self.spans[1 - _SPANS :], (low, high)]


class Refuted(Conflict):
    """A row that was taken for new was there: what the functions were told is wrong, and they are to run again."""

    def __init__(self, table: AnyTable) -> None:
        super().__init__(f"{table.name}: a row that was taken for new is there")
        self.table = table


class BufferedRows(WritableRows):
    """Rows as `base` has them, a transaction of the database, with the changes that were made here laid over them.

    Arguments:
        base: the rows of one transaction, which stay the same while it lasts but for what others can't change.
        clock: answers the engine's time, see `WritableRows.clock`.
        assumes: whether a row that is inserted into a table may be taken for new without being looked for: if it is
            there, the commit or a later look raises `Refuted`.
    """

    def __init__(
        self, base: Rows, clock: Callable[[], int], assumes: Callable[[AnyTable], bool] = lambda _table: False
    ) -> None:
        self._base = base
        self._clock = clock
        self._assumes = assumes
        self._tables: dict[str, _Held] = {}
        self._journal: list[tuple[_Held, Key, bool, Row | None]] = []
        self.refuted: Refuted | None = None
        """Set for good where an assumption turned out wrong, also if the function that was told so went on."""
        self.mixed = False
        """Set for good where two declarations of one table met, which can't share what is known of its rows."""

    # What the transaction's functions ask for.

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        held = self._held(table)
        return held.changed[key] if key in held.changed else self._known(held, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        self.expect(table, keys)
        return [self.fetch(table, key) for key in keys]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        held = self._held(table)
        if not held.changed:
            return [*self._walk(held, wanted)]
        low, high = wanted.bounds(table)
        over: dict[bytes, Row | None] = {}
        shown = 0
        for place in held.order.irange(low, high, inclusive=(True, False), reverse=wanted.reverse):
            row = over[place] = held.changed[held.order[place]]
            shown += row is not None
            if shown == wanted.limit:
                break  # nothing behind this one is wanted
        if not over:
            return [*self._walk(held, wanted)]
        # Each row that is to go may hide one that the database has.
        base = self._walk(held, wanted._replace(limit=wanted.limit + len(over) - shown))
        merged: dict[bytes, Row | None] = {held.place(table.key_of(row)): row for row in base}
        merged.update(over)
        rows = [merged[place] for place in sorted(merged, reverse=wanted.reverse)]
        return [row for row in rows if row is not None][: wanted.limit]

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        held = self._held(table)
        changed = [key for key in held.changed if key[: len(prefix)] == prefix]
        self.expect(table, changed)
        more = sum(held.changed[key] is not None and held.known[key] is None for key in changed)
        fewer = sum(held.changed[key] is None and held.known[key] is not None for key in changed)
        asked = prefix, limit + fewer
        if asked not in held.tallies:
            held.tallies[asked] = self._base.tally(table, *asked)
        return min(limit, held.tallies[asked] + more - fewer)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        held = self._held(table)
        if key in held.changed or key in held.known or held.is_walked(key) or not self._assumes(table):
            if self.fetch(table, key) is not None:
                return False
        else:
            held.assumed.add(key)
        self._set(held, key, row)
        return True

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        held = self._held(table)
        before = self.fetch(table, key)
        if before is None or before[guard.column] != guard.value:
            return False
        self._set(held, key, row)
        return True

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._set(self._held(table), key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        before = self.fetch(table, key)
        if before is None or (guard is not None and before[guard.column] != guard.value):
            return False
        held = self._held(table)
        self._known(held, key)  # what is sent depends on it, also for a row that was put, or taken for new
        self._set(held, key, None)
        return True

    def clock(self) -> int:
        return self._clock()

    # What whoever runs the functions asks for.

    def expect(self, table: AnyTable, keys: Sequence[Key]) -> None:
        """Read the rows under `keys` that are not known yet, in one go."""
        held = self._held(table)
        unknown = []
        for key in dict.fromkeys(keys):
            if key not in held.known:
                if held.is_walked(key):
                    self._learned(held, [key], [None])
                else:
                    unknown.append(key)
        if len(unknown) == 1:
            self._known(held, unknown[0])
        elif unknown:
            self._learned(held, unknown, self._base.fetch_many(table, unknown))

    def verify(self, savepoint: int) -> None:
        """Look for the rows that were taken for new since `savepoint`; `Refuted` where one is there.

        Whatever a function did besides may follow from what it was told of them: it is asked for where nothing of
        the function's is sent.
        """
        for held in self._tables.values():
            if held.assumed:
                self.expect(held.table, [key for where, key, _, _ in self._journal[savepoint:] if where is held])

    def savepoint(self) -> int:
        """A place to `undo` back to, or to `verify` from."""
        return len(self._journal)

    def undo(self, savepoint: int) -> None:
        """Take back every change that was made since `savepoint`."""
        while len(self._journal) > savepoint:
            held, key, was_changed, before = self._journal.pop()
            if was_changed:
                held.changed[key] = before
            else:
                held.unset(key)

    def changes(self) -> list[TableChanges]:
        """The net changes, by table, in key order; none for a table that is to be what it was."""
        found = [_net(held) for held in self._tables.values() if held.changed]
        return [net for net in found if net.inserts or net.updates or net.puts or net.removes]

    def reached(self) -> Iterator[tuple[AnyTable, Key]]:
        """Everything that was read or changed: the full keys, and the prefixes that were walked or counted."""
        for held in self._tables.values():
            table = held.table
            yield from ((table, key) for key in held.known)
            yield from ((table, key) for key in held.assumed)
            yield from ((table, key) for key in held.changed)
            yield from ((table, wanted.prefix) for wanted in held.walks)
            yield from ((table, prefix) for prefix, _ in held.tallies)

    def _held(self, table: AnyTable) -> _Held:
        held = self._tables.get(table.name)
        if held is None:
            held = self._tables[table.name] = _Held(table)
        elif held.table is not table and not _is_same(held.table, table):
            self.mixed = True
            raise InvalidArgument(f"{table.name}: a transaction works with one declaration of a table, not with two")
        return held

    def _known(self, held: _Held, key: Key) -> Row | None:
        if key not in held.known:
            row = None if held.is_walked(key) else self._base.fetch(held.table, key)
            self._learned(held, [key], [row])
        return held.known[key]

    def _walk(self, held: _Held, wanted: KeyRange) -> list[Row]:
        rows = held.walks.get(wanted)
        if rows is None:
            rows = self._base.fetch_range(held.table, wanted)
            self._learned(held, [held.table.key_of(row) for row in rows] if held.assumed else (), rows)
            if len(rows) <= _WORTH_KEEPING:
                held.learn(wanted, rows)
        return rows

    def _learned(self, held: _Held, keys: Sequence[Key], rows: Sequence[Row | None]) -> None:
        """Take in what the database has under `keys`; `Refuted` where that was assumed to be nothing."""
        held.known.update(zip(keys, rows, strict=False))
        if held.assumed:
            there = held.assumed.intersection(key for key, row in zip(keys, rows, strict=False) if row is not None)
            held.assumed.difference_update(keys)
            if there:
                self.refuted = Refuted(held.table)
                raise self.refuted

    def _set(self, held: _Held, key: Key, row: Row | None) -> None:
        self._journal.append((held, key, key in held.changed, held.changed.get(key)))
        held.set(key, row)


def _is_same(one: AnyTable, other: AnyTable) -> bool:
    """Whether two declarations of a table have the same rows: a module may be loaded twice."""
    shapes = [
        ([(c.name, c.storage) for c in t.columns], [(k.index, k.descending) for k in t.key], t.changes)
        for t in (one, other)
    ]
    return shapes[0] == shapes[1]


def _net(held: _Held) -> TableChanges:
    net = TableChanges(held.table)
    for key in held.order.values():
        row: Any = held.changed[key]
        if key in held.assumed:
            net.inserts.append(row)
        elif key not in held.known:
            net.puts.append(row)
        elif row == held.known[key]:
            continue
        elif row is None:
            net.removes.append(key)
        elif held.known[key] is None:
            net.inserts.append(row)
        else:
            net.updates.append(row)
    return net
