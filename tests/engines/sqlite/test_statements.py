"""Statements: what they are made of, and what the database itself refuses (K1, W4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import strongroom
from strongroom.engine import Durability
from strongroom.engines.sqlite import SqliteEngine
from strongroom.errors import AlreadyExists
from tests.engines.shelf import BOOKS, SCORES, SHELF, Book, Score


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
