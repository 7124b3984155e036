"""The memory engine: many versions of each row, snapshots that hold still, one writer at a time.

It keeps what every engine keeps, sealed rows under key bytes, so that a test against it means what it means
elsewhere. Nothing of it outlives the process. ``memory://`` is a store of its own; ``memory://NAME`` is one that all
openers of that name in this process share, until the process ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sortedcontainers import SortedDict

from strongroom.engine import (
    Claims,
    Clock,
    Durability,
    Engine,
    Guard,
    Rows,
    SchemaRows,
    Sharing,
    StoreUrl,
    Strength,
    WritableRows,
)
from strongroom.errors import InvalidArgument
from strongroom.records import AnyTable, Column, Key, KeyRange, Row, encode_key, placed

T = TypeVar("T")


class _Version:
    """A row as it was from commit `at` on (None: absent), and what was there before."""

    __slots__ = ("at", "before", "row")

    def __init__(self, at: int, row: Row | None, before: _Version | None) -> None:
        self.at = at
        self.row = row
        self.before = before

    def seen_at(self, commit: int) -> Row | None:
        """The row as a snapshot of `commit` sees it."""
        version: _Version | None = self
        while version is not None and version.at > commit:
            version = version.before
        return None if version is None else version.row


class MemoryStore:
    """What the engines of one name share: the tables' versions, and the number of the last commit."""

    def __init__(self) -> None:
        self.tables: dict[str, SortedDict] = {}
        self.commit = 0
        self.latch = threading.Lock()
        """Held for moments: while the tables' structure is read or changed."""
        self.writer = threading.Lock()
        """Held by the one transaction that writes."""
        self.snapshots: dict[_Snapshot, int] = {}
        """The running snapshots, and the commit that each sees."""
        self._lingering: list[tuple[SortedDict, bytes]] = []
        self._forgotten = 0
        self.clock = Clock()

    def forget(self, changed: Iterable[tuple[SortedDict, bytes]] = ()) -> None:
        """Let go of the versions that nobody sees any more; those that somebody sees linger until he is gone."""
        oldest = min(self.snapshots.values(), default=self.commit)
        lingering = [place for place in changed if not _forget(*place, oldest)]
        if oldest == self._forgotten:  # what lingers has to go on lingering
            self._lingering += lingering
        else:
            self._lingering = lingering + [place for place in self._lingering if not _forget(*place, oldest)]
            self._forgotten = oldest


class _Snapshot(Rows):
    """Rows as one commit left them."""

    def __init__(self, store: MemoryStore, commit: int = 0) -> None:
        self._store = store
        self._commit = commit

    def begin(self) -> None:
        """See the last commit, and have it kept."""
        store = self._store
        with store.latch:
            self._commit = store.snapshots[self] = store.commit

    def end(self) -> None:
        """Let go of what is seen. Once more does nothing."""
        store = self._store
        with store.latch:
            seen = store.snapshots.pop(self, store.commit)
            if seen < min(store.snapshots.values(), default=store.commit):
                store.forget()  # it was the oldest

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        with self._store.latch:
            place = encode_key(table, key)
            version = self._table(table).get(place)
            row = None if version is None else version.seen_at(self._commit)
            return None if row is None else placed(table, place, row)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        rows: list[Row] = []
        with self._store.latch:
            for row in self._walk(table, *wanted.bounds(table), reverse=wanted.reverse):
                rows.append(row)
                if len(rows) == wanted.limit:
                    break
        return rows

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        count = 0
        with self._store.latch:
            low, high = KeyRange(prefix).bounds(table)
            for _row in self._walk(table, low, high, reverse=False):
                count += 1
                if count == limit:
                    break
        return count

    def _table(self, table: AnyTable) -> SortedDict:
        try:
            return self._store.tables[table.name]
        except KeyError:
            raise InvalidArgument(f"{table.name}: no such table; prepare its schema first") from None

    def _walk(self, table: AnyTable, low: bytes, high: bytes | None, *, reverse: bool) -> Iterator[Row]:
        versions = self._table(table)
        for key in versions.irange(low, high, inclusive=(True, False), reverse=reverse):
            row = versions[key].seen_at(self._commit)
            if row is not None:
                yield placed(table, key, row)


class _Transaction(_Snapshot):
    """Rows as the next commit will leave them; `undo` takes all changes back."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, store.commit + 1)
        self._changed: list[tuple[SortedDict, bytes]] = []
        self._created: list[str] = []

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        if self.fetch(table, key) is not None:
            return False
        self._set(table, key, row)
        return True

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        if not self._is(table, key, guard):
            return False
        self._set(table, key, row)
        return True

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._set(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        if not self._is(table, key, guard):
            return False
        self._set(table, key, None)
        return True

    def clock(self) -> int:
        return self._store.clock.now()

    def tables(self) -> set[str]:
        return set(self._store.tables)

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        if table.name not in self._store.tables:
            self._created.append(table.name)
            self._store.tables[table.name] = SortedDict()

    def add_column(self, table: AnyTable, column: Column) -> None:
        # Rows are whole here: each older one is kept again with the new column's default before its seal.
        with self._store.latch:
            versions = self._table(table)
            for key in list(versions):
                row = versions[key].seen_at(self._commit)
                if row is not None and len(row) == table.index[column.name] + 1:
                    self._set_bytes(versions, key, (*row[:-1], column.stored_default(), row[-1]))

    def commit(self) -> None:
        """Let everyone see the changes, and forget versions that nobody sees any more."""
        store = self._store
        with store.latch:
            store.commit = self._commit  # from here on all of it is seen, and nothing taken back
            store.forget(self._changed)

    def undo(self) -> None:
        """Take every change back. May be done again from its beginning."""
        with self._store.latch:
            for versions, key in self._changed:
                newest = versions.get(key)
                if newest is not None and newest.at == self._commit:
                    _set(versions, key, newest.before)
            for name in self._created:
                self._store.tables.pop(name, None)

    def finish(self) -> None:
        """Take every change back that was not committed."""
        if self._store.commit != self._commit:
            self.undo()

    def _is(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        row = self.fetch(table, key)
        return row is not None and (guard is None or row[guard.column] == guard.value)

    def _set(self, table: AnyTable, key: Key, row: Row | None) -> None:
        with self._store.latch:
            self._set_bytes(self._table(table), encode_key(table, key), row)

    def _set_bytes(self, versions: SortedDict, key: bytes, row: Row | None) -> None:
        before = versions.get(key)
        if before is not None and before.at == self._commit:
            before.row = row  # changed by this transaction already: undo leads back past both
        else:
            self._changed.append((versions, key))
            _set(versions, key, _Version(self._commit, row, before))


def _set(versions: SortedDict, key: bytes, version: _Version | None) -> None:
    """Let `version` be the newest of a row; None: let there be none."""
    try:
        if version is not None:
            versions[key] = version
        else:
            versions.pop(key, None)
    except BaseException:
        # A sorted dict is made of Python code: Ctrl-C in it may leave its order and its entries at odds.
        entries = {key: dict.__getitem__(versions, key) for key in dict.__iter__(versions)}
        versions.clear()
        versions.update(entries)
        raise


def _forget(versions: SortedDict, key: bytes, oldest: int) -> bool:
    """Cut a row's versions behind the one that the commit `oldest` sees; whether that left no more than one."""
    newest = version = versions.get(key)
    while version is not None and version.at > oldest:
        version = version.before
    if version is None:
        return newest is None or newest.before is None
    version.before = None
    if version is not newest:
        return False
    if version.row is None:
        _set(versions, key, None)
    return True


class MemoryEngine(Engine):
    """An engine over a `MemoryStore`; by default one of its own."""

    claims = Claims(
        strength=Strength.MULTI_RECORD,
        durability=Durability.NONE,
        sharing=Sharing.PROCESS,
        guards_immutable=False,
        reopens=False,
    )

    def __init__(self, store: MemoryStore | None = None, *, seal_key: bytes | None = None) -> None:
        self._store = store or MemoryStore()
        super().__init__("memory", seal_key=seal_key)

    def _read(self, work: Callable[[Rows], T]) -> T:
        snapshot = _Snapshot(self._store)
        try:
            try:
                snapshot.begin()
                return work(snapshot)
            finally:
                snapshot.end()
        except BaseException:
            snapshot.end()  # once more: Ctrl-C may have struck the first time
            raise

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        return self._transact(work, abandoned)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self._transact(work, lambda: False)

    def _transact(self, work: Callable[[Any], T], abandoned: Callable[[], bool]) -> T:
        with self._store.writer:
            transaction = _Transaction(self._store)
            try:
                try:
                    result = work(transaction)
                    if not abandoned():
                        transaction.commit()
                finally:
                    transaction.finish()
            except BaseException:
                transaction.finish()  # once more: Ctrl-C may have struck the first time
                raise
            return result

    def _tables(self) -> set[str]:
        with self._store.latch:
            return set(self._store.tables)

    def _close(self) -> None:
        with self._store.writer:
            pass  # a write in flight ends first (C3)


_named: dict[str, MemoryStore] = {}


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> MemoryEngine:
    """The memory engine for ``memory://`` or ``memory://NAME``."""
    url.allow()
    return MemoryEngine(_named.setdefault(url.path, MemoryStore()) if url.path else None, seal_key=seal_key)
