"""Who has the store open: one alone, many processes, a forked child (D4, C2)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from strongroom.engine import Reader
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from strongroom.engines.sqlite.connections import connect
from strongroom.engines.sqlite.files import HoldLock
from strongroom.errors import Closed, Corrupt, StoreHeld
from tests.engines.shelf import BOOKS, Book
from tests.engines.sqlite.stores import opened


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
