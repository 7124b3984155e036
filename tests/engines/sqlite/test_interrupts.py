"""Ctrl-C anywhere in a call of the SQLite engine: nothing half-done, nothing done twice, nothing left open."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Transaction, base, committer
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions, rows, snapshots, wal, writer
from strongroom.engines.sqlite import engine as engine_module
from strongroom.errors import Corrupt
from tests.engines.shelf import BOOKS, SHELF, Book
from tests.interrupts import interrupted_everywhere

WRITING = (base, committer, engine_module, rows, wal, writer)
READING = (base, engine_module, rows, snapshots)

_titles = map(str, itertools.count())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    with SqliteEngine(str(tmp_path / "room.db"), SqliteOptions(synchronous="normal")) as made:
        made.prepare(SHELF)
        yield made


def insert(engine: SqliteEngine, title: str) -> None:
    engine.insert(BOOKS, Book("a", title))


def insert_in_a_function(engine: SqliteEngine, title: str) -> None:
    engine.write(lambda transaction: transaction.insert(BOOKS, Book("a", title)))


def insert_two(engine: SqliteEngine, title: str) -> None:
    def change(transaction: Transaction) -> None:
        transaction.insert(BOOKS, Book("a", title))
        transaction.insert(BOOKS, Book("b", title))

    engine.write(change)


def titles(engine: SqliteEngine, shelf: str) -> set[str]:
    return {book.title for book in engine.scan(BOOKS, shelf, limit=10_000)}


@pytest.mark.parametrize("write", [insert, insert_two])
def test_an_interrupted_write_is_kept_whole_or_not_at_all_and_the_next_one_succeeds(
    engine: SqliteEngine, write: Callable[[SqliteEngine, str], None]
) -> None:
    for interrupt in interrupted_everywhere(*WRITING):
        mine, after = next(_titles), next(_titles)
        interrupt.run(partial(write, engine, mine))
        assert not engine._writer.in_transaction, interrupt.where
        write(engine, after)
        assert after in titles(engine, "a"), interrupt.where
        assert interrupt.where or mine in titles(engine, "a")
        if write is insert_two:
            assert titles(engine, "a") == titles(engine, "b"), interrupt.where


@pytest.mark.parametrize("write", [insert, insert_in_a_function])
def test_what_an_interrupted_leader_has_committed_for_others_is_not_done_again(
    engine: SqliteEngine, write: Callable[[SqliteEngine, str], None]
) -> None:
    for interrupt in interrupted_everywhere(*WRITING):
        crowd = Crowd(engine, write)
        interrupt.run(partial(write, engine, next(_titles)))
        crowd.end(interrupt.where)
        assert titles(engine, "a") >= set(crowd.titles), interrupt.where


class Crowd:
    """Seven callers: one that leads until another one waits behind him, and six that come behind that one."""

    def __init__(self, engine: SqliteEngine, write: Callable[[SqliteEngine, str], None]) -> None:
        self.titles = [next(_titles) for _ in range(6)]
        self._engine = engine
        self._write = write
        self._inside, self._go, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._callers = [Started(lambda: engine.write(self._hold))]
        assert self._inside.wait(PATIENCE)
        self._gathering = Started(self._gather)

    def end(self, where: str) -> None:
        """See that all got their answers."""
        self._ended.set()
        self._gathering.end().value()
        assert [caller.end().error for caller in self._callers] == [None] * 7, where

    def _hold(self, _transaction: Transaction) -> None:
        self._inside.set()
        self._go.wait(PATIENCE)

    def _gather(self) -> None:
        queue = self._engine._committer._queue
        while len(queue) < 2 and not self._ended.is_set():
            self._ended.wait(0.0005)
        for title in self.titles:
            there = len(queue)
            self._callers.append(Started(partial(self._write, self._engine, title)))
            while len(queue) == there:
                self._ended.wait(0.0005)
        self._go.set()


def lets_go(engine: SqliteEngine) -> bool:
    """Whether nobody reads: only then can the WAL be cut."""
    engine._writer.execute("INSERT INTO loans VALUES ('a', ?, x'00')", (next(_titles),))
    engine._writer.set_busy_handler(None)
    try:
        engine._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    return Path(f"{engine.path}-wal").stat().st_size == 0


READS: dict[str, Callable[[SqliteEngine], object]] = {
    "get": lambda engine: engine.get(BOOKS, "a", "b"),
    "scan": lambda engine: engine.scan(BOOKS, "a", limit=9),
    "count": lambda engine: engine.count(BOOKS, "a", limit=9),
    "read": lambda engine: engine.read(lambda reader: reader.scan(BOOKS, "a", limit=9)),
}


@pytest.mark.parametrize("how", READS)
def test_an_interrupted_read_lets_go_of_the_database(engine: SqliteEngine, how: str) -> None:
    for title in "abcdefghij":
        insert(engine, title)
    for interrupt in interrupted_everywhere(*READING):
        interrupt.run(partial(READS[how], engine))
        assert lets_go(engine), interrupt.where
        assert not engine._snapshots._running, interrupt.where
        idle = engine._snapshots._idle
        assert len(set(map(id, idle))) == len(idle), interrupt.where
        READS[how](engine)


@pytest.mark.parametrize("how", ["get", "scan", "read"])
def test_a_read_of_what_is_corrupt_lets_go_of_the_database(engine: SqliteEngine, how: str) -> None:
    for title in "abcdefghij":
        insert(engine, title)
    for damage in ("version = 7", "seal = CAST(CAST(x'ff' AS TEXT) AS BLOB)", "copies = -1"):
        engine._writer.execute(f"UPDATE books SET {damage} WHERE title = 'b'")
        with pytest.raises(Corrupt):
            READS[how](engine)
        assert lets_go(engine), damage


@pytest.mark.parametrize("how", ["get", "scan", "read"])
def test_a_read_of_text_that_the_driver_cannot_decode_lets_go_of_the_database(engine: SqliteEngine, how: str) -> None:
    insert(engine, "b")
    engine._writer.execute("CREATE TABLE loose (shelf TEXT, title TEXT, copies ANY, version ANY, seal ANY)")
    engine._writer.execute("INSERT INTO loose VALUES ('a', 'b', CAST(x'ff' AS TEXT), 1, x'00')")
    engine._writer.execute("DROP TABLE books")
    engine._writer.execute("ALTER TABLE loose RENAME TO books")
    with pytest.raises(Corrupt, match="UTF-8"):
        READS[how](engine)
    assert lets_go(engine)


def test_an_interrupt_while_the_wal_is_cut_leaves_the_writer_as_patient_as_it_was(engine: SqliteEngine) -> None:
    keeper = engine._wal
    for interrupt in interrupted_everywhere(wal):
        handlers: list[object] = []

        class Recorded:
            def __getattr__(self, name: str) -> Any:
                return getattr(engine._writer, name)

            def set_busy_handler(self, handler: Any, handlers: Any = handlers) -> None:
                engine._writer.set_busy_handler(handler)
                handlers.append(handler)

        keeper._connection = Recorded()  # type: ignore[assignment]
        interrupt.run(keeper._start_over)
        assert handlers[-1:] in ([], [keeper._patient]), interrupt.where
