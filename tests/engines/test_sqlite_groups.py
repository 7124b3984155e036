"""A commit group whose transaction SQLite rolls back by itself, as it does when the disk is full half-way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Transaction
from strongroom.engines.sqlite import SqliteEngine
from strongroom.engines.sqlite.rows import ConnectionRows
from strongroom.errors import Unavailable
from tests.engines.shelf import BOOKS, SHELF, Book


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
        while len(engine._committer._queue) < len(crowd):
            go.wait(0.001)
        go.set()
        first.end().value()
        assert [one.end().error for one in crowd] == [None] * len(crowd)
        assert engine.count(BOOKS, limit=99) == len(crowd)
    assert tries[0] == len(crowd)
