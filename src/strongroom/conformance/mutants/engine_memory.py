"""The memory engine with one safeguard broken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from sortedcontainers import SortedDict

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Guard
from strongroom.engines import memory
from strongroom.engines.memory import MemoryEngine, MemoryStore
from strongroom.records import AnyTable, Key, KeyRange, Row, encode_key

MEMORY = Ground.MEMORY


@mutant("W1", on=MEMORY)
def memory_create_once_dropped(patch: Patches) -> None:
    """An insert puts its row over the one that its key has."""

    def insert(self: Any, table: AnyTable, key: Key, row: Row) -> bool:
        self._set(table, key, row)
        return True

    patch.method(memory._Transaction, "insert", insert)


@mutant("W2", on=MEMORY)
def memory_version_check_dropped(patch: Patches) -> None:
    """An update looks only whether there is a row, not whether it is the expected one."""

    def replace(self: Any, table: AnyTable, key: Key, row: Row, _guard: Guard) -> bool:
        if self.fetch(table, key) is None:
            return False
        self._set(table, key, row)
        return True

    patch.method(memory._Transaction, "replace", replace)


@mutant("W2", on=MEMORY)
def memory_update_makes_the_missing_row(patch: Patches) -> None:
    """An update of a key that has no row inserts one."""

    def replace(self: Any, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        if self.fetch(table, key) is not None and not self._is(table, key, guard):
            return False
        self._set(table, key, row)
        return True

    patch.method(memory._Transaction, "replace", replace)


@mutant("W3", on=MEMORY)
def memory_delete_without_its_guard(patch: Patches) -> None:
    """A guarded delete removes whatever row the key has."""

    def remove(self: Any, table: AnyTable, key: Key, _guard: Guard | None) -> bool:
        if self.fetch(table, key) is None:
            return False
        self._set(table, key, None)
        return True

    patch.method(memory._Transaction, "remove", remove)


@mutant("W3", on=MEMORY)
def memory_delete_of_nothing_is_true(patch: Patches) -> None:
    """A delete says True whether there was a row or not."""

    def remove(self: Any, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        if self._is(table, key, guard):
            self._set(table, key, None)
        return True

    patch.method(memory._Transaction, "remove", remove)


@mutant("T1", "W1", on=MEMORY)
def memory_deleted_key_stays_taken(patch: Patches) -> None:
    """A transaction can't insert a key again that it deleted: the mark that it left there counts as a row."""

    def insert(self: Any, table: AnyTable, key: Key, row: Row) -> bool:
        if encode_key(table, key) in self._table(table):
            return False
        self._set(table, key, row)
        return True

    patch.method(memory._Transaction, "insert", insert)


@mutant("T1", on=MEMORY)
def memory_failed_transaction_keeps_its_first_write(patch: Patches) -> None:
    """Taking a transaction back stops short of the first change that it made."""

    def undo(self: Any) -> None:
        with self._store.latch:
            for versions, key in reversed(self._changed[1:]):
                before = versions[key].before
                if before is None:
                    del versions[key]
                else:
                    versions[key] = before
            if self._changed:
                self._store.commit = self._commit

    patch.method(memory._Transaction, "undo", undo)


@mutant("T1", on=MEMORY)
def memory_second_change_of_a_row_is_not_taken_back(patch: Patches) -> None:
    """A row that a transaction changes twice goes back to its first change when the transaction is taken back."""

    def set_bytes(self: Any, versions: SortedDict, key: bytes, row: Row | None) -> None:
        versions[key] = memory._Version(self._commit, row, versions.get(key))
        if not any(held is versions and changed == key for held, changed in self._changed):
            self._changed.append((versions, key))

    patch.method(memory._Transaction, "_set_bytes", set_bytes)


@mutant("T1", "R2", on=MEMORY)
def memory_transaction_works_on_the_live_rows(patch: Patches) -> None:
    """A transaction's changes can be seen as they are made, not when it commits."""

    def begin(self: Any, store: MemoryStore) -> None:
        store.commit += 1
        memory._Snapshot.__init__(self, store, store.commit)
        self._changed = []
        self._created = []

    patch.method(memory._Transaction, "__init__", begin)


@mutant("R1", on=MEMORY)
def memory_reads_from_a_stale_snapshot(patch: Patches) -> None:
    """A read sees the store as it was before the last commit, as one from a lagging replica does."""

    def read(self: Any, work: Callable[[Any], Any]) -> Any:
        with self._store.latch:
            before = max(0, self._store.commit - 1)
        self._store.snapshots[self] = 0  # so that no version is forgotten
        return work(memory._Snapshot(self._store, before))

    patch.method(MemoryEngine, "_read", read)


@mutant("R2", on=MEMORY)
def memory_snapshot_moves_with_the_commits(patch: Patches) -> None:
    """Each operation of a read function sees the newest commit, not the one that the function began on."""

    class Moving(memory._Snapshot):
        def __init__(self, store: MemoryStore) -> None:
            self._store = store

        @property
        def _commit(self) -> int:  # type: ignore[override]
            return self._store.commit

    patch.method(MemoryEngine, "_read", lambda self, work: work(Moving(self._store)))


@mutant("R2", on=MEMORY)
def memory_versions_forgotten_while_they_are_seen(patch: Patches) -> None:
    """A commit forgets the versions before it, whoever still reads them."""
    forget = memory._forget
    patch.function(forget, lambda versions, key, _oldest: forget(versions, key, 10**12))


@mutant("T2", on=MEMORY)
def memory_writers_do_not_wait_for_one_another(patch: Patches) -> None:
    """Each write function reads one snapshot, and its changes are made behind it: write skew goes through."""
    turns = threading.Lock()

    def transact(self: Any, work: Callable[[Any], Any], abandoned: Callable[[], bool]) -> Any:
        with turns:
            scratch = memory.MemoryStore()
            with self._store.latch:
                scratch.tables = {name: SortedDict(rows) for name, rows in self._store.tables.items()}
                scratch.commit = self._store.commit
            scratch.clock = self._store.clock
        mine = memory._Transaction(scratch)
        result = work(mine)
        if not abandoned():
            with turns, self._store.latch:
                self._store.commit += 1
                for name in mine._created:
                    self._store.tables.setdefault(name, SortedDict())
                for name, rows in scratch.tables.items():
                    for held, key in mine._changed:
                        if held is rows:
                            live = self._store.tables[name]
                            live[key] = memory._Version(self._store.commit, rows[key].row, live.get(key))
        return result

    patch.method(MemoryEngine, "_transact", transact)


@mutant("T5", on=MEMORY)
def memory_abandon_commits(patch: Patches) -> None:
    """What an abandoned transaction wrote is kept."""
    transact = MemoryEngine._transact
    patch.method(MemoryEngine, "_transact", lambda self, work, _abandoned: transact(self, work, lambda: False))


@mutant("R1", "L1", on=MEMORY)
def memory_result_handed_out_before_the_commit(patch: Patches) -> None:
    """A write function's caller gets its result while the commit is still on its way."""

    def transact(self: Any, work: Callable[[Any], Any], abandoned: Callable[[], bool]) -> Any:
        self._store.writer.acquire()
        transaction = memory._Transaction(self._store)
        try:
            result = work(transaction)
        except BaseException:
            transaction.undo()
            self._store.writer.release()
            raise

        def later() -> None:
            time.sleep(0.01)
            transaction.undo() if abandoned() else transaction.commit()
            self._store.writer.release()

        threading.Thread(target=later).start()
        return result

    patch.method(MemoryEngine, "_transact", transact)


@mutant("C3", on=MEMORY)
def memory_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine does not wait for the write that is in flight."""
    patch.method(MemoryEngine, "_close", lambda self: None)


@mutant("K3", on=MEMORY)
def memory_order_by_another_column(patch: Patches) -> None:
    """A range comes back in the order of the last column before the seal, not of the key."""
    fetch_range = memory._Snapshot.fetch_range

    def unordered(self: Any, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return sorted(fetch_range(self, table, wanted), key=lambda row: repr(row[-2]), reverse=wanted.reverse)

    patch.method(memory._Snapshot, "fetch_range", unordered)


@mutant("R5", on=MEMORY)
def memory_stop_inclusive(patch: Patches) -> None:
    """A range goes on to the row at its stop, and a cursor in reverse begins with its own row."""

    def walk(self: Any, table: AnyTable, low: bytes, high: bytes | None, *, reverse: bool) -> Iterator[Row]:
        versions = self._table(table)
        for key in versions.irange(low, high, inclusive=(True, True), reverse=reverse):
            row = versions[key].seen_at(self._commit)
            if row is not None:
                yield row

    patch.method(memory._Snapshot, "_walk", walk)


@mutant("R5", on=MEMORY)
def memory_reverse_ignored(patch: Patches) -> None:
    """A walk from the end begins at the start."""
    walk = memory._Snapshot._walk
    patch.method(
        memory._Snapshot,
        "_walk",
        lambda self, table, low, high, *, reverse: walk(self, table, low, high, reverse=False),
    )


@mutant("R5", on=MEMORY)
def memory_limit_off_by_one(patch: Patches) -> None:
    """A scan gives one row more than its limit."""
    fetch_range = memory._Snapshot.fetch_range

    def generous(self: Any, table: AnyTable, wanted: KeyRange) -> list[Row]:
        more = wanted._replace(limit=wanted.limit + 1)
        return fetch_range(self, table, more)

    patch.method(memory._Snapshot, "fetch_range", generous)


@mutant("R5", on=MEMORY)
def memory_count_ignores_its_limit(patch: Patches) -> None:
    """A count goes on to the end of its prefix."""
    tally = memory._Snapshot.tally
    patch.method(memory._Snapshot, "tally", lambda self, table, prefix, _limit: tally(self, table, prefix, 10**9))


@mutant("M4", on=MEMORY)
def memory_added_column_left_empty(patch: Patches) -> None:
    """A column that is added holds nothing in the older rows, whatever its default."""

    def add_column(self: Any, table: AnyTable, column: Any) -> None:
        with self._store.latch:
            versions = self._table(table)
            for key in list(versions):
                row = versions[key].seen_at(self._commit)
                if row is not None and len(row) == table.index[column.name] + 1:
                    self._set_bytes(versions, key, (*row[:-1], None, row[-1]))

    patch.method(memory._Transaction, "add_column", add_column)


@mutant("M3", on=MEMORY)
def memory_migrations_run_at_once(patch: Patches) -> None:
    """Those who migrate at the same time do not wait for one another, and each finds the same steps missing."""
    transact = MemoryEngine._transact

    def migrate(self: Any, work: Callable[[Any], Any]) -> Any:
        store = self._store
        seen = memory.MemoryStore()
        with store.latch:
            seen.tables = {name: SortedDict(rows) for name, rows in store.tables.items()}
            seen.commit = store.commit
        time.sleep(0.01)

        def on_what_was_seen(rows: Any) -> Any:
            rows.tables = lambda: set(seen.tables)
            scan = rows.fetch_range
            old = memory._Snapshot(seen, seen.commit)
            rows.fetch_range = lambda table, wanted: (
                old.fetch_range(table, wanted) if table.name in seen.tables else scan(table, wanted)
            )
            return work(rows)

        return transact(self, on_what_was_seen, lambda: False)

    patch.method(MemoryEngine, "_migrate", migrate)
