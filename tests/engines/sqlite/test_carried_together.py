"""Writes that are committed together (T1, C1)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from strongroom.engine import Transaction
from strongroom.engines.sqlite import SqliteEngine
from strongroom.errors import AlreadyExists
from tests.engines.shelf import BOOKS, Book


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
