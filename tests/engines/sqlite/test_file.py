"""The file: who may read it, where it may be, what it is not (D2, E1)."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest

import strongroom
from strongroom.engine import Durability
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from strongroom.errors import Corrupt, InvalidArgument, NotFound
from tests.engines.shelf import BOOKS, Book
from tests.engines.sqlite.stores import opened


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
