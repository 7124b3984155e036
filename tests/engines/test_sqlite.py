"""What is SQLite's own: the file, its holders, its WAL, and its faults (D2-D5, T6, C2, E1)."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import strongroom
from strongroom.engine import Durability, Reader, Transaction
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from strongroom.engines.sqlite.connections import connect
from strongroom.engines.sqlite.files import HoldLock
from strongroom.errors import (
    AlreadyExists,
    Closed,
    Conflict,
    Corrupt,
    InvalidArgument,
    NotFound,
    StoreHeld,
    Unavailable,
    Unsupported,
)
from tests.engines.shelf import BOOKS, COVERS, SCORES, SHELF, Book, Cover, Score


def opened(path: Path, options: SqliteOptions | None = None) -> SqliteEngine:
    engine = SqliteEngine(str(path), options)
    engine.prepare(SHELF)
    return engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "room.db"


@pytest.fixture
def engine(path: Path) -> Iterator[SqliteEngine]:
    with opened(path) as made:
        yield made


def grow_wal(engine: SqliteEngine, mib: int, done: Callable[[], bool] = lambda: False) -> None:
    for n in range(mib * 8):
        if done():
            return
        engine.put(COVERS, Cover(f"cover {n % 4}", os.urandom(2**17)))


class TestTheFile:
    def test_a_new_store_can_be_read_by_its_owner_alone(self, engine: SqliteEngine, path: Path) -> None:
        engine.insert(BOOKS, Book("a", "b"))
        for name in ("room.db", "room.db-wal", "room.db-shm", "room.db.lock"):
            assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600, name

    def test_a_store_that_is_not_there_is_not_made_when_that_was_not_wanted(self, path: Path) -> None:
        with pytest.raises(NotFound, match="there is no store"):
            strongroom.open(f"sqlite:///{path}?create=0")
        assert list(path.parent.iterdir()) == []

    def test_another_programs_database_is_refused_and_left_as_it_is(self, path: Path) -> None:
        foreign = apsw.Connection(str(path))
        foreign.execute("CREATE TABLE mine (x)")
        foreign.close()
        before = path.read_bytes()
        with pytest.raises(InvalidArgument, match="another program's"):
            opened(path)
        assert path.read_bytes() == before

    def test_a_file_that_is_no_database_is_corrupt_and_left_as_it_is(self, path: Path) -> None:
        path.write_bytes(b"not a database, but long enough to be looked at" * 50)
        before = path.read_bytes()
        with pytest.raises(Corrupt):
            opened(path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("place", ["", "missing/room.db"])
    def test_a_folder_and_a_missing_folder_are_refused_in_one_line(self, tmp_path: Path, place: str) -> None:
        with pytest.raises(InvalidArgument) as caught:
            opened(tmp_path / place)
        assert "\n" not in str(caught.value)

    def test_operators_can_look_with_their_own_tools(self, engine: SqliteEngine, path: Path) -> None:
        engine.insert(BOOKS, Book("fiction", "Dune", 3))
        own = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        assert own.execute("SELECT shelf, title, copies, version FROM books").fetchall() == [("fiction", "Dune", 3, 1)]
        own.close()

    def test_every_commit_is_flushed_unless_less_was_asked_for_by_name(self, path: Path) -> None:
        with opened(path) as engine:
            assert engine.claims.durability is Durability.FLUSHED
            assert engine._writer.pragma("synchronous") == 2
            assert engine.describe()["flush"] == "every commit"
        with opened(path, SqliteOptions(synchronous="normal")) as engine:
            assert engine.claims.durability is Durability.PROCESS
            assert "asked for by name" in str(engine.describe()["flush"])


class TestStatements:
    def test_rows_that_never_change_are_guarded_in_the_database_itself(self, engine: SqliteEngine) -> None:
        engine.insert(SCORES, Score("a", 0.5, "b"))
        for statement in ("UPDATE scores SET title = 'c'", "DELETE FROM scores"):
            with pytest.raises(apsw.ConstraintError, match="scores is immutable"):
                engine._writer.execute(statement)
        with pytest.raises(apsw.ConstraintError, match="loans is immutable: no UPDATE"):
            engine._writer.execute("INSERT INTO loans VALUES ('a', 'b', x'00'); UPDATE loans SET title = 'c'")

    @pytest.mark.parametrize(
        "ask",
        [
            lambda e: e.scan(BOOKS, "a", limit=5),
            lambda e: e.scan(BOOKS, "a", after=("b",), limit=5, reverse=True),
            lambda e: e.scan(BOOKS, start=("a", "b"), stop=("c", "d"), limit=5),
            lambda e: e.scan(SCORES, "a", after=(0.5, "b"), limit=5),
            lambda e: e.scan(SCORES, "a", after=(0.5, "b"), limit=5, reverse=True),
            lambda e: e.scan(SCORES, after=("a", 0.5, "b"), start=("a",), stop=("b", 0.5), limit=5),
            lambda e: e.scan(SCORES, limit=5, reverse=True),
            lambda e: e.count(SCORES, "a", limit=5),
            lambda e: e.get(BOOKS, "a", "b"),
        ],
    )
    def test_every_read_walks_the_key_and_sorts_nothing(
        self, engine: SqliteEngine, ask: Callable[[SqliteEngine], object]
    ) -> None:
        texts: list[str] = []
        engine._reader.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: texts.append(event["sql"]))
        ask(engine)
        engine._reader.trace_v2(0, None)
        (sql,) = texts
        plan = engine._reader.execute("EXPLAIN QUERY PLAN " + sql, [None] * sql.count("?")).fetchall()
        steps = " | ".join(str(step[-1]) for step in plan)
        assert "TEMP B-TREE" not in steps, steps
        assert "SCAN books" not in steps, steps

    def test_a_read_lets_go_of_the_database_at_once(self, engine: SqliteEngine) -> None:
        engine.insert(BOOKS, Book("a", "b"))
        engine.get(BOOKS, "a", "b")
        engine.scan(BOOKS, "a", limit=5)
        engine.read(lambda reader: reader.get(BOOKS, "a", "b"))
        engine._writer.execute("INSERT INTO loans VALUES ('a', 'b', x'00')")
        engine._writer.set_busy_timeout(0)
        engine._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert Path(f"{engine.path}-wal").stat().st_size == 0

    def test_a_store_in_memory_keeps_the_same_promises_and_nothing_else(self) -> None:
        with strongroom.open("sqlite://:memory:") as engine:
            engine.prepare(SHELF)
            engine.insert(BOOKS, Book("a", "b"))
            with pytest.raises(AlreadyExists):
                engine.insert(BOOKS, Book("a", "b"))
            assert engine.read(lambda reader: reader.get(BOOKS, "a", "b")) == Book("a", "b")
            assert engine.claims.durability is Durability.NONE


class TestHolders:
    def test_an_exclusive_holder_shuts_others_out_at_once_and_is_shut_out_by_them(self, path: Path) -> None:
        with opened(path, SqliteOptions(exclusive=True)):
            for exclusive in (False, True):
                with pytest.raises(StoreHeld):
                    opened(path, SqliteOptions(exclusive=exclusive))
        with opened(path), opened(path), pytest.raises(StoreHeld):
            opened(path, SqliteOptions(exclusive=True))
        opened(path, SqliteOptions(exclusive=True)).close()

    def test_the_lock_is_taken_first_and_released_last(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        order: list[str] = []

        class Lock(HoldLock):
            def __init__(self, place: Path, *, exclusive: bool) -> None:
                super().__init__(place, exclusive=exclusive)
                order.append("locked")

            def release(self) -> None:
                order.append("released")
                super().release()

        def connecting(place: str, *, synchronous: str, timeout_ms: int, vfs: str | None) -> apsw.Connection:
            order.append("connected")
            return connect(place, synchronous=synchronous, timeout_ms=timeout_ms, vfs=vfs)

        monkeypatch.setattr("strongroom.engines.sqlite.engine.HoldLock", Lock)
        monkeypatch.setattr("strongroom.engines.sqlite.engine.connect", connecting)
        engine = opened(path, SqliteOptions(exclusive=True))
        engine.close()
        assert order == ["locked", "connected", "connected", "released"]
        with pytest.raises(apsw.ConnectionClosedError):
            engine._writer.changes()

    def test_an_opener_that_fails_leaves_no_lock_behind(self, path: Path) -> None:
        path.write_bytes(b"no database" * 500)
        with pytest.raises(Corrupt):
            opened(path, SqliteOptions(exclusive=True))
        path.unlink()
        opened(path, SqliteOptions(exclusive=True)).close()

    def test_death_frees_an_exclusive_holder(self, path: Path) -> None:
        script = (
            "import sys, time, strongroom\n"
            "strongroom.open(f'sqlite:///{sys.argv[1]}?exclusive=1')\n"
            "print('held', flush=True)\n"
            "time.sleep(600)\n"
        )
        holder = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(StoreHeld):
                opened(path, SqliteOptions(exclusive=True))
        finally:
            holder.kill()
            holder.communicate()
        opened(path, SqliteOptions(exclusive=True)).close()

    def test_a_forked_child_can_neither_use_nor_unlock_the_parents_store(self, path: Path) -> None:
        with opened(path, SqliteOptions(exclusive=True)) as engine:
            engine.insert(BOOKS, Book("a", "b"))
            child = os.fork()
            if child == 0:  # pragma: no cover - the child reports by its exit code
                code = 1
                try:
                    engine.get(BOOKS, "a", "b")
                except Closed:
                    engine.close()
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            with pytest.raises(StoreHeld):
                opened(path, SqliteOptions(exclusive=True))
            engine.insert(BOOKS, Book("a", "c"))
        with opened(path) as engine:
            assert engine.count(BOOKS, "a", limit=9) == 2

    def test_inspect_names_who_holds_the_wal_open(self, engine: SqliteEngine) -> None:
        inside, go = threading.Event(), threading.Event()

        def hold(reader: Reader) -> None:
            reader.get(BOOKS, "a", "b")
            inside.set()
            assert go.wait(60)

        thread = threading.Thread(target=engine.read, args=(hold,), name="nightly report")
        thread.start()
        assert inside.wait(60)
        holders = engine.describe()["holders"]
        go.set()
        thread.join(60)
        assert isinstance(holders, tuple)
        assert any("nightly report" in holder for holder in holders)
        if Path("/proc/locks").exists():
            assert f"reader pid {os.getpid()}" in holders


class TestTheWal:
    def test_steady_writes_under_steady_short_reads_keep_the_wal_bounded(self, path: Path) -> None:
        with opened(path, SqliteOptions(wal_limit_mib=4)) as engine:
            stop = threading.Event()

            def read() -> None:
                while not stop.is_set():
                    engine.get(COVERS, "cover 1")
                    with contextlib.suppress(Conflict):  # it may be unlucky, and is told so
                        engine.read(lambda reader: reader.count(COVERS, limit=9))

            reader = threading.Thread(target=read)
            reader.start()
            try:
                grow_wal(engine, 40)
            finally:
                stop.set()
                reader.join(60)
            assert Path(f"{path}-wal").stat().st_size <= 16 * 2**20

    def test_a_long_snapshot_is_given_up_when_it_makes_the_wal_grow_past_its_limit(self, path: Path) -> None:
        with opened(path, SqliteOptions(wal_limit_mib=4)) as engine:
            engine.insert(BOOKS, Book("a", "b"))

            def linger(reader: Reader) -> None:
                assert reader.get(BOOKS, "a", "b") == Book("a", "b")
                writer = threading.Thread(target=grow_wal, args=(engine, 24))
                writer.start()
                writer.join(120)
                reader.get(BOOKS, "a", "b")

            with pytest.raises(Conflict, match="WAL above 4 MiB") as caught:
                engine.read(linger)
            assert caught.value.retryable
            assert Path(f"{path}-wal").stat().st_size <= 16 * 2**20
            assert engine.read(lambda reader: reader.get(BOOKS, "a", "b")) == Book("a", "b")

    def test_where_another_process_holds_the_wal_open_writes_are_refused_by_name_and_go_on_later(
        self, path: Path
    ) -> None:
        with opened(path, SqliteOptions(wal_limit_mib=1, timeout_ms=20)) as engine:
            engine.insert(BOOKS, Book("a", "b"))
            script = (
                "import sys, apsw\n"
                "c = apsw.Connection(sys.argv[1])\n"
                "c.execute('BEGIN'); c.execute('SELECT * FROM books').fetchall()\n"
                "print('held', flush=True); sys.stdin.read()\n"
            )
            other = subprocess.Popen(
                [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            try:
                assert other.stdout is not None
                assert other.stdout.readline() == "held\n"
                with pytest.raises(Unavailable, match="hard limit") as caught:
                    grow_wal(engine, 12)
                if Path("/proc/locks").exists():
                    assert f"pid {other.pid}" in str(caught.value)
                assert engine.get(BOOKS, "a", "b") == Book("a", "b")
                assert Path(f"{path}-wal").stat().st_size <= 8 * 2**20
            finally:
                other.communicate("")
            grow_wal(engine, 12)


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


class TestGroups:
    def test_a_function_that_raises_after_a_write_does_not_spoil_its_neighbours(self, engine: SqliteEngine) -> None:
        entered, go = threading.Event(), threading.Event()
        outcomes: dict[str, object] = {}

        def hold(tx: Transaction) -> None:
            entered.set()
            assert go.wait(60)

        def spoil(tx: Transaction) -> None:
            tx.insert(BOOKS, Book("a", "spoiled"))
            raise RuntimeError("after the write")

        def give_up(tx: Transaction) -> str:
            tx.insert(BOOKS, Book("a", "abandoned"))
            return tx.abandon("abandoned")

        def run(name: str, change: Callable[[Transaction], object]) -> None:
            try:
                outcomes[name] = engine.write(change)
            except RuntimeError as fault:
                outcomes[name] = str(fault)

        works: dict[str, Callable[[Transaction], object]] = {f"good {n}": self.inserting(f"good {n}") for n in range(4)}
        works |= {f"spoiler {n}": spoil for n in range(5)}
        works |= {"abandoner": give_up} | {f"late {n}": self.inserting(f"late {n}") for n in range(4)}
        threads = [threading.Thread(target=engine.write, args=(hold,))]
        threads[0].start()
        assert entered.wait(60)
        for name, work in works.items():
            threads.append(threading.Thread(target=run, args=(name, work)))
            threads[-1].start()
            while len(engine._committer._queue) < len(threads):
                go.wait(0.001)
        go.set()
        for thread in threads:
            thread.join(60)
        good = {name: name for name in works if name.startswith(("good", "late"))}
        spoiled = {f"spoiler {n}": "after the write" for n in range(5)}
        assert outcomes == {**good, **spoiled, "abandoner": "abandoned"}
        assert {book.title for book in engine.scan(BOOKS, "a", limit=99)} == set(good)

    @pytest.mark.parametrize("titles", [[f"t{n}" for n in range(12)], ["a", "b", "c", "d", "a", "b", "e", "kept"]])
    def test_single_inserts_that_are_carried_together_each_get_their_own_answer(
        self, engine: SqliteEngine, titles: list[str]
    ) -> None:
        engine.insert(BOOKS, Book("a", "kept"))
        entered, go = threading.Event(), threading.Event()
        outcomes: list[tuple[str, str]] = []

        def hold(tx: Transaction) -> None:
            entered.set()
            assert go.wait(60)

        def insert(title: str) -> None:
            try:
                engine.insert(BOOKS, Book("a", title))
                outcomes.append((title, "new"))
            except AlreadyExists:
                outcomes.append((title, "there"))

        threads = [threading.Thread(target=engine.write, args=(hold,))]
        threads += [threading.Thread(target=insert, args=(title,)) for title in titles]
        threads[0].start()
        assert entered.wait(60)
        for thread in threads[1:]:
            thread.start()
        while len(engine._committer._queue) <= len(titles):
            go.wait(0.001)
        go.set()
        for thread in threads:
            thread.join(60)
        fresh = set(titles) - {"kept"}
        assert sorted(title for title, outcome in outcomes if outcome == "new") == sorted(fresh)
        assert len(outcomes) == len(titles)
        assert {book.title for book in engine.scan(BOOKS, "a", limit=99)} == {*titles, "kept"}

    @staticmethod
    def inserting(title: str) -> Callable[[Transaction], str]:
        def insert(tx: Transaction) -> str:
            tx.insert(BOOKS, Book("a", title))
            return title

        return insert
