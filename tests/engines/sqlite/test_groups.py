"""Commit groups whose transaction SQLite rolls back by itself, and other traps that it sets."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Transaction
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from strongroom.engines.sqlite.rows import ConnectionRows
from strongroom.errors import Closed, InvalidArgument, StoreHeld, Unavailable, Unsupported
from strongroom.records import REPLACEABLE, Identifier, Record, Table
from tests.engines.shelf import BOOKS, COVERS, SHELF, Book, Cover


class Named(Record):
    name: Annotated[str, Identifier(64)]


def test_an_insert_is_made_once_though_sqlite_rolled_its_group_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry = ConnectionRows.insert_many
    tries: list[int] = []

    def rolled_back_once(self: Any, rows: Sequence[Any]) -> bool:
        tries.append(len(rows))
        if len(tries) > 1:
            return carry(self, rows)
        self._connection.execute("ROLLBACK")
        raise Unavailable("the disk is full")

    monkeypatch.setattr(ConnectionRows, "insert_many", rolled_back_once)
    inside, go = threading.Event(), threading.Event()

    def hold(_transaction: Transaction) -> None:
        inside.set()
        go.wait(PATIENCE)

    with SqliteEngine(str(tmp_path / "shelf.db")) as engine:
        engine.prepare(SHELF)
        first = Started(lambda: engine.write(hold))
        assert inside.wait(PATIENCE)
        crowd = [Started(partial(engine.insert, BOOKS, Book("a", str(number)))) for number in range(8)]
        while len(engine._committer._queue) <= len(crowd):
            go.wait(0.001)
        go.set()
        first.end().value()
        assert [one.end().error for one in crowd] == [None] * len(crowd)
        assert engine.count(BOOKS, limit=99) == len(crowd)
    assert tries[0] == len(crowd)


def test_after_a_fault_that_rolled_everything_back_a_function_that_goes_on_writes_nothing(tmp_path: Path) -> None:
    with SqliteEngine(str(tmp_path / "room.db")) as engine:
        engine.prepare(SHELF)
        engine._writer.pragma("max_page_count", engine._writer.pragma("page_count") + 40)
        caught: list[Unavailable] = []

        def stubborn(transaction: Transaction) -> str:
            try:
                for n in range(40):
                    transaction.put(COVERS, Cover(f"cover {n}", os.urandom(90_000)))
            except Unavailable as fault:
                caught.append(fault)
                engine._writer.pragma("max_page_count", 1_000_000)
                with contextlib.suppress(Unavailable):
                    transaction.put(COVERS, Cover("afterwards", b""))
            return "done"

        with pytest.raises(Unavailable):
            engine.write(stubborn)
        assert caught
        assert engine.count(COVERS, limit=99) == 0


def test_a_name_that_is_no_column_is_an_error_and_never_a_text(tmp_path: Path) -> None:
    with SqliteEngine(str(tmp_path / "room.db")) as engine:
        engine.prepare(SHELF)
        engine.put(COVERS, Cover("kept", b""))
        stranger = Table("covers", Named, key=("name",), changes=REPLACEABLE)
        for call in (lambda: engine.get(stranger, "name"), lambda: engine.delete(stranger, "name")):
            with pytest.raises(InvalidArgument, match="no such column"):
                call()
        assert engine.count(COVERS, limit=9) == 1


def test_two_names_of_one_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "room.db")
    held = SqliteOptions(exclusive=True)
    with SqliteEngine(str(tmp_path / "room.db"), held), pytest.raises(StoreHeld):
        SqliteEngine(str(tmp_path / "link.db"), held)


def test_a_forked_child_cannot_open_again_what_its_parent_had_open(tmp_path: Path) -> None:
    with SqliteEngine(str(tmp_path / "room.db")):
        child = os.fork()
        if child == 0:  # pragma: no cover - the child reports by its exit code
            code = 1
            try:
                SqliteEngine(str(tmp_path / "room.db"))
            except Unsupported:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_a_function_raises_in_another_thread_is_its_callers_even_an_interrupt(tmp_path: Path) -> None:
    with SqliteEngine(str(tmp_path / "room.db")) as engine:
        engine.prepare(SHELF)
        mine = KeyboardInterrupt("mine")
        caught: list[BaseException] = []

        def interrupt(_transaction: Transaction) -> None:
            raise mine

        def call() -> None:
            try:
                engine.write(interrupt)
            except KeyboardInterrupt as fault:
                caught.append(fault)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join(30)
        assert caught == [mine]


@pytest.mark.parametrize("how", ["write", "read"])
def test_a_child_forked_inside_of_a_function_cannot_go_on_in_it(tmp_path: Path, how: str) -> None:
    with SqliteEngine(str(tmp_path / "room.db")) as engine:
        engine.prepare(SHELF)
        engine.insert(BOOKS, Book("a", "before"))
        child = -1

        def change(transaction: Transaction) -> None:
            nonlocal child
            if how == "write":
                transaction.insert(BOOKS, Book("a", "parent"))
            child = os.fork()
            if child == 0:
                transaction.insert(BOOKS, Book("a", "child")) if how == "write" else transaction.get(BOOKS, "a", "b")

        try:
            engine.write(change) if how == "write" else engine.read(change)  # type: ignore[arg-type]
        except Closed:
            os._exit(0 if child == 0 else 1)
        if child == 0:  # pragma: no cover - the child was not refused
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        titles = [book.title for book in engine.scan(BOOKS, "a", limit=9)]
        assert titles == (["before", "parent"] if how == "write" else ["before"])
