"""A disk that is full, fails to flush or can't be read (D3, T6, E1)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import strongroom
from strongroom.engine import Transaction
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from strongroom.errors import Corrupt, InvalidArgument, Unavailable, Unsupported
from tests.engines.shelf import BOOKS, SCORES, Book, Score
from tests.engines.sqlite.stores import opened


class Faulty(apsw.VFS):
    """The system's files, with faults that the tests switch on."""

    NAME = "strongroom-faulty"
    failing: str | None = None

    def __init__(self) -> None:
        super().__init__(self.NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FaultyFile("", name, flags)


class FaultyFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802
        if Faulty.failing == "flush":
            raise apsw.IOError("the disk did not take it")
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if Faulty.failing == "space":
            raise apsw.FullError("no space left")
        super().xWrite(data, offset)


@pytest.fixture
def faults(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SqliteEngine, Callable[[str | None], None]]]:
    vfs = Faulty()
    with opened(path, SqliteOptions(vfs=vfs.NAME)) as engine:
        engine.insert(BOOKS, Book("a", "kept"))

        def fail(how: str | None) -> None:
            monkeypatch.setattr(Faulty, "failing", how)

        yield engine, fail
        fail(None)


Faults = tuple[SqliteEngine, Callable[[str | None], None]]


def losing(engine: SqliteEngine) -> list[Callable[[], None]]:
    """One write, made both ways."""
    return [
        lambda: engine.insert(BOOKS, Book("a", "lost")),
        lambda: engine.write(lambda tx: tx.insert(BOOKS, Book("a", "lost"))),
    ]


class TestFaults:
    def test_a_full_disk_is_unavailable_loses_nothing_and_work_goes_on(self, faults: Faults) -> None:
        engine, fail = faults
        fail("space")
        for attempt in losing(engine):
            with pytest.raises(Unavailable) as caught:
                attempt()
            assert isinstance(caught.value.__cause__, apsw.Error)
        assert engine.scan(BOOKS, "a", limit=9) == [Book("a", "kept")]
        fail(None)
        engine.insert(BOOKS, Book("a", "more"))
        assert engine.count(BOOKS, "a", limit=9) == 2

    def test_a_flush_that_fails_for_good_is_unknown_until_it_can_be_settled(self, faults: Faults) -> None:
        engine, fail = faults
        for attempt in losing(engine):
            fail("flush")
            with pytest.raises(strongroom.CommitUnknown) as caught:
                attempt()
            assert engine.get(BOOKS, "a", "lost") is None
            with pytest.raises(strongroom.StrongroomError):
                engine.resolve(caught.value.token)
            fail(None)
            assert engine.resolve(caught.value.token) is False
            assert engine.get(BOOKS, "a", "lost") is None
        with pytest.raises(InvalidArgument):
            engine.resolve("another's token")

    def test_a_flush_that_fails_once_is_settled_at_once_and_nothing_was_kept(
        self, faults: Faults, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, fail = faults
        fail("flush")
        real = engine._group._rows.touch

        def touch() -> None:
            fail(None)
            real()

        monkeypatch.setattr(engine._group._rows, "touch", touch)
        with pytest.raises(Unavailable, match="nothing of it was kept"):
            engine.write(lambda tx: tx.insert(BOOKS, Book("a", "lost")))
        assert engine.scan(BOOKS, "a", limit=9) == [Book("a", "kept")]

    def test_when_the_flush_of_a_group_fails_none_of_it_is_called_done(self, faults: Faults) -> None:
        engine, fail = faults
        entered, go = threading.Event(), threading.Event()
        outcomes: list[object] = []

        def first(tx: Transaction) -> None:
            entered.set()
            assert go.wait(60)

        def record(title: str) -> None:
            try:
                engine.write(lambda tx: tx.insert(BOOKS, Book("a", title)))
                outcomes.append("done")
            except strongroom.StrongroomError as fault:
                outcomes.append(type(fault))

        leader = threading.Thread(target=engine.write, args=(first,))
        leader.start()
        assert entered.wait(60)
        titles = ["x", "y", "kept", "z"]
        others = [threading.Thread(target=record, args=(title,)) for title in titles]
        for thread in others:
            thread.start()
        while len(engine._committer._queue) <= len(titles):
            go.wait(0.001)
        fail("flush")
        go.set()
        for thread in [leader, *others]:
            thread.join(60)
        assert outcomes == [strongroom.CommitUnknown] * 4
        assert engine.scan(BOOKS, "a", limit=9) == [Book("a", "kept")]

    def test_a_lock_held_for_too_long_by_another_process_is_unavailable(self, path: Path) -> None:
        with opened(path, SqliteOptions(timeout_ms=10)) as engine:
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked for too long") as caught:
                engine.insert(BOOKS, Book("a", "b"))
            assert caught.value.retryable
            other.execute("ROLLBACK")
            other.close()
            engine.insert(BOOKS, Book("a", "b"))

    def test_a_file_that_turns_read_only_is_unavailable(self, path: Path) -> None:
        with opened(path) as engine:
            engine._writer.pragma("query_only", 1)
            with pytest.raises(Unavailable, match="read-only"):
                engine.insert(BOOKS, Book("a", "b"))
            engine._writer.pragma("query_only", 0)
            engine.insert(BOOKS, Book("a", "b"))

    def test_a_trigger_that_fires_after_all_is_unsupported_not_a_drivers_error(self, engine: SqliteEngine) -> None:
        engine.insert(SCORES, Score("a", 0.5, "b"))
        with pytest.raises(Unsupported, match="immutable") as caught:
            engine._writer_rows.remove(SCORES, ("a", 0.5, "b"), None)
        assert isinstance(caught.value.__cause__, apsw.ConstraintError)

    def test_text_that_is_not_utf_8_is_corrupt(self, engine: SqliteEngine) -> None:
        engine.insert(BOOKS, Book("a", "b"))
        engine._writer.execute("UPDATE books SET title = CAST(x'ff' AS TEXT)")
        with pytest.raises(Corrupt):
            engine.scan(BOOKS, "a", limit=9)

    def test_a_table_that_was_never_prepared_is_named(self, path: Path) -> None:
        with SqliteEngine(str(path)) as engine, pytest.raises(InvalidArgument, match="no such table: books"):
            engine.get(BOOKS, "a", "b")
