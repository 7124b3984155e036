"""A test engine that stops its user dead after a chosen write, and the check that is made with it.

A flow over single records is never in one transaction: it may die between any two of its writes. It keeps its
promises if, wherever that happens, running it again leads to exactly what an undisturbed run leads to. That is what
`check_stops` shows, for every write in turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from strongroom.engine import Engine, Guard, Rows, SchemaRows, WritableRows
from strongroom.errors import InvalidArgument
from strongroom.records import MAX_LIMIT, AnyTable, Key, KeyRange, Row, Schema, Table

T = TypeVar("T")


class Stopped(BaseException):
    """The process is taken to have died here.

    No `Exception`, so that no handler of a flow can tidy up after it: a dead process does not either.
    """


class StoppingEngine(Engine):
    """`inner`, until `after_writes` transactions that change something have been committed through this object.

    The write that reaches the number is kept, and its caller gets `Stopped` instead of its result; from then on every
    call is `Stopped`. ``None`` never stops: the writes are only counted. What deletes nothing, is refused or abandoned
    changes nothing and is not counted, nor are migrations. Closing this engine leaves `inner` open, which outlives
    the death as a database does.

    Raises `InvalidArgument` for a number below 1.
    """

    def __init__(self, inner: Engine, after_writes: int | None = None) -> None:
        if after_writes is not None and after_writes < 1:
            raise InvalidArgument("an engine can stop after 1 write or more, not before")
        self.inner = inner
        self.claims = inner.claims
        super().__init__(f"stopping {inner.name}")
        self._codecs = inner._codecs
        self._after_writes = after_writes
        self._writes = 0
        self._counting = threading.Lock()

    @property
    def writes(self) -> int:
        """How many transactions that changed something were committed through this object."""
        return self._writes

    @property
    def stopped(self) -> bool:
        """Whether the number was reached."""
        return self._after_writes is not None and self._writes >= self._after_writes

    def _read(self, work: Callable[[Rows], T]) -> T:
        self._check_running()
        return self.inner._read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        self._check_running()
        last: list[_Watched] = []

        def watched(rows: WritableRows) -> T:
            last[:] = [_Watched(rows)]
            return work(last[0])

        result = self.inner._write(watched, abandoned)
        if last[0].changed and not abandoned():
            with self._counting:
                self._writes += 1
                self._check_running()
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        self._check_running()
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        self._check_running()
        return self.inner._tables()

    def _check_running(self) -> None:
        if self.stopped:
            raise Stopped(f"{self.inner.name} after write {self._after_writes}")


class _Watched(WritableRows):
    """Rows that remember whether anything was changed."""

    def __init__(self, rows: WritableRows) -> None:
        self._rows = rows
        self.changed = False

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._rows.fetch(table, key)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._rows.fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._rows.tally(table, prefix, limit)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._noted(self._rows.insert(table, key, row))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._noted(self._rows.replace(table, key, row, guard))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._rows.put(table, key, row)
        self._noted(True)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._noted(self._rows.remove(table, key, guard))

    def clock(self) -> int:
        return self._rows.clock()

    def _noted(self, done: bool) -> bool:
        self.changed = self.changed or done
        return done


def contents(engine: Engine, schema: Schema) -> dict[str, list[Any]]:
    """Every record of every table of `schema`, in key order, by the table's name; not a snapshot while others write.

    Raises `Corrupt` for a row that is not what was written.
    """
    return {table.name: _all(engine, table) for table in schema.tables}


def _all(engine: Engine, table: Table[Any]) -> list[Any]:
    found: list[Any] = []
    while page := engine.scan(table, after=_key(table, found[-1]) if found else None, limit=MAX_LIMIT):
        found += page
    return found


def _key(table: AnyTable, record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in table.key_names)


def check_stops(fresh: Callable[[], Engine], work: Callable[[Engine], object], schema: Schema) -> int:
    """Show that `work` may be stopped after each of its writes and run again; how many writes that is.

    `fresh` gives an engine, prepared and filled in the same way each time; `work` does the same each time, with the
    engine that it gets. One undisturbed run tells what must come out. Then, for each write in turn, a run is stopped
    after it and a second run must end with exactly the same records in every table of `schema`. Last, the work is
    stopped after every single write that it makes, until it gets through.

    Raises AssertionError, naming the write, where another end is reached, or none.
    """
    engine = fresh()
    undisturbed = StoppingEngine(engine)
    work(undisturbed)
    expected = contents(engine, schema)
    for number in range(1, undisturbed.writes + 1):
        engine = fresh()
        assert not _completes(work, StoppingEngine(engine, number)), f"there was no write {number} this time"
        assert _completes(work, StoppingEngine(engine)), f"stopped after write {number}, the work never ended"
        _compare(contents(engine, schema), expected, f"stopped after write {number} and run again")
    engine = fresh()
    for _attempt in range(undisturbed.writes + 1):
        if _completes(work, StoppingEngine(engine, 1)):
            break
    else:
        raise AssertionError(f"stopped after each write, the work did not end within {undisturbed.writes} writes")
    _compare(contents(engine, schema), expected, "stopped after every single write")
    return undisturbed.writes


def _completes(work: Callable[[Engine], object], engine: StoppingEngine) -> bool:
    try:
        work(engine)
    except Stopped:
        return False
    return True


def _compare(found: dict[str, list[Any]], expected: dict[str, list[Any]], when: str) -> None:
    for name, records in expected.items():
        assert found[name] == records, f"{when}: {name} holds {found[name]}, not {records}"
