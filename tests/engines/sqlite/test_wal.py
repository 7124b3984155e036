"""The WAL stays bounded, and who keeps it from being cut is named (D5)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from strongroom.engine import Reader
from strongroom.engines.sqlite import SqliteOptions
from strongroom.errors import Conflict, Unavailable
from tests.engines.shelf import BOOKS, COVERS, Book
from tests.engines.sqlite.stores import grow_wal, opened


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
