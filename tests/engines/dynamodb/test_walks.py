"""Walks over ranges: those that nothing can be in, and those over partitions whose writers never rest."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strongroom.engine import Transaction
from strongroom.engines.dynamodb import DynamoEngine
from tests.engines.dynamodb.calls import Calls, answered
from tests.engines.dynamodb.conftest import Open
from tests.engines.shelf import LOANS, Loan


def test_a_range_that_ends_before_it_begins_is_empty_in_one_scope_and_across_them(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "atlas"))
    store.insert(LOANS, Loan("novels", "emma"))
    for reverse in (False, True):
        assert store.scan(LOANS, start=("novels",), stop=("maps",), limit=5, reverse=reverse) == []
        assert store.scan(LOANS, start=("novels", "a"), stop=("maps", "z"), limit=5, reverse=reverse) == []
        assert store.scan(LOANS, "maps", start=("globe",), stop=("atlas",), limit=5, reverse=reverse) == []
        assert store.write(lambda tx: tx.scan(LOANS, start=("z",), stop=("a",), limit=5)) == []
    assert store.scan(LOANS, "maps", after=("atlas",), stop=("a",), limit=5) == []


class Restless:
    """Writers who take turns at changing the rows of a partition, before or behind each call of another's."""

    def __init__(self, writers: Sequence[DynamoEngine], seed: int, *, deletes: bool) -> None:
        self._writers = itertools.cycle(writers)
        self._mixed = random.Random(seed)
        self._deletes = deletes
        self._there: list[str] = []
        self.states: list[list[Loan]] = []
        """All rows, as they were after each change."""
        for _ in range(6):
            self.change()

    def change(self) -> None:
        writer = next(self._writers)
        if self._deletes and len(self._there) > 4 and self._mixed.random() < 0.5:
            writer.delete(LOANS, "maps", self._there.pop(self._mixed.randrange(len(self._there))))
        else:
            title = f"{self._mixed.randrange(10**6):06}"
            writer.insert(LOANS, Loan("maps", title))
            self._there = sorted([*self._there, title])
        self.states.append([Loan("maps", title) for title in self._there])

    def before(self, request: Any, send: Callable[[Any], Any]) -> Any:
        self.change()
        return send(request)

    def behind(self, request: Any, send: Callable[[Any], Any]) -> Any:
        response = send(request)
        response.content  # noqa: B018 - read before the connection is used again
        self.change()
        return response


@pytest.mark.parametrize("deletes", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 50])
def test_a_walk_comes_through_beside_writers_who_never_rest_and_shows_one_moment(
    open_store: Open, limit: int, reverse: bool, deletes: bool
) -> None:
    reader, *others = [open_store() for _ in range(4)]
    calls = Calls(reader)
    for seed in range(3):
        writers = Restless(others, seed, deletes=deletes)
        calls.answer("Query", *[writers.behind if seed else writers.before] * 1000)
        calls.answer("TransactGetItems", *[writers.before] * 1000)
        begun = len(writers.states) - 1
        found = reader.scan(LOANS, "maps", limit=limit, reverse=reverse)
        calls.answer_no_more()
        wanted = [(state[::-1] if reverse else state)[:limit] for state in writers.states[begun:]]
        assert found in wanted
        for row in writers.states[-1]:
            reader.delete(LOANS, "maps", row.title)


@pytest.mark.parametrize("deletes", [False, True])
@pytest.mark.parametrize("limit", [4, 50])
def test_a_count_comes_through_beside_writers_who_never_rest(open_store: Open, limit: int, deletes: bool) -> None:
    reader, *others = [open_store() for _ in range(4)]
    calls = Calls(reader)
    writers = Restless(others, 1, deletes=deletes)
    calls.answer("Query", *[writers.behind] * 1000)
    calls.answer("TransactGetItems", *[writers.before] * 1000)
    begun = len(writers.states) - 1
    found = reader.count(LOANS, "maps", limit=limit)
    calls.answer_no_more()
    assert found in {min(len(state), limit) for state in writers.states[begun:]}


def test_a_transaction_that_a_walk_saw_in_part_is_seen_whole(open_store: Open) -> None:
    reader, *others = [open_store() for _ in range(4)]
    numbers = itertools.count()

    def write_two() -> str:
        number = next(numbers)
        one, two = f"{number:03}a", f"{number:03}b"

        def change(transaction: Transaction) -> None:
            transaction.insert(LOANS, Loan("maps", one))
            transaction.insert(LOANS, Loan("maps", two))

        others[number % 3].write(change)
        return two

    def see_in_part(request: Any, send: Callable[[Any], Any]) -> Any:
        missed = write_two()
        answer = json.loads(send(request).content)
        return answered(request, {"Items": [item for item in answer["Items"] if item["title"] != {"S": missed}]})

    def write_before(request: Any, send: Callable[[Any], Any]) -> Any:
        write_two()
        return send(request)

    calls = Calls(reader)
    calls.answer("Query", *[see_in_part] * 1000)
    calls.answer("TransactGetItems", *[write_before] * 1000)
    titles = [row.title for row in reader.scan(LOANS, "maps", limit=500)]
    assert titles == [f"{number:03}{end}" for number in range(len(titles) // 2) for end in "ab"]
