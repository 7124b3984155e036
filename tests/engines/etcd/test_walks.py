"""Walks from the end, what calls cost, and many engines at once (L1)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from strongroom.engine import Engine, Transaction
from strongroom.engines.etcd import EtcdEngine
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import KeyValue
from strongroom.engines.etcd.view import View
from tests.engines.etcd.stores import ITEMS, LINES, Line, insert_all, names, opened
from tests.engines.leases import LEASES, Lease, take_next

# Some tests compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")


def backwards(room: EtcdEngine, span: tuple[bytes, bytes], wanted: int) -> list[bytes]:
    return [pair.key for pair in room._store.tails.last(View(room._members), span, wanted)]


def test_the_last_keys_are_found_whatever_the_keys_are_like(room: EtcdEngine) -> None:
    room.write(lambda transaction: insert_all([f"{'x' * 200}{n}" for n in names(700)], transaction))
    room.write(lambda transaction: insert_all(["a", "a ", "é" * 100, "zzz", "zzzz"], transaction))

    def append(transaction: Transaction) -> None:
        for position in [*range(1, 301), *range(2**40, 2**40 + 300), 2**62]:
            transaction.insert(LINES.table, Line("s", position))

    room.write(append)
    span = room._layout.root, room._layout.root + b"\xff"
    everything = [pair.key for pair in View(room._members).walk(span, 100_000, keys_only=True).pairs][::-1]
    for low, high in [span, room._layout.rows(ITEMS), room._layout.rows(LINES.table)]:
        within = [key for key in everything if low <= key < high]
        for wanted in (1, 2, 100, 300, 900, 10_000):
            for _ in range(2):  # what was found before is remembered
                assert backwards(room, (low, high), wanted) == within[:wanted]


def test_what_is_remembered_of_a_walk_does_not_outlive_the_rows(room: EtcdEngine) -> None:
    room.write(lambda transaction: insert_all(names(1000), transaction))
    span = room._layout.rows(ITEMS)

    def last(wanted: int) -> list[str]:
        return [item.name for item in room.scan(ITEMS, limit=wanted, reverse=True)]

    assert last(2) == ["000999", "000998"]
    for name in ("000999", "000998", "000997"):
        room.delete(ITEMS, name)
    assert last(2) == ["000996", "000995"]
    room.write(lambda transaction: insert_all(names(600, 2000), transaction))
    assert last(2) == ["002599", "002598"]
    assert len(backwards(room, span, 5)) == 5


def test_an_append_reads_the_end_of_a_log_and_not_all_of_it(
    room: EtcdEngine, other: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(transaction: Transaction) -> None:
        head = LINES.head(transaction, "s")
        for position in range(head + 1, head + 1001):
            transaction.insert(LINES.table, Line("s", position))

    for _ in range(3):
        room.write(fill)
    read: list[KeyValue] = []
    walk = View.walk

    def counted(view: View, *args: Any, **options: Any) -> Any:
        found = walk(view, *args, **options)
        read.extend(found.pairs)
        return found

    monkeypatch.setattr(View, "walk", counted)
    assert LINES.append(other, "s", make=lambda position: Line("s", position)).position == 3001
    assert len(read) < 700
    read.clear()
    assert LINES.append(other, "s", make=lambda position: Line("s", position)).position == 3002
    assert len(read) <= 2


# What calls cost.


def test_a_call_costs_as_many_requests_as_it_must(
    room: EtcdEngine, other: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = Members._ask

    def counted(members: Members, path: str, *args: Any, **options: Any) -> Any:
        if members is room._members:
            asked.append(path.rpartition("/")[2])
        return ask(members, path, *args, **options)

    def cost(call: Callable[[], object]) -> list[str]:
        asked.clear()
        call()
        return asked

    room.write(lambda transaction: insert_all(names(200), transaction))
    room.insert(LEASES, Lease("a"))
    monkeypatch.setattr(Members, "_ask", counted)
    assert cost(lambda: room.get(LEASES, "a")) == ["Range"]
    assert cost(lambda: room.update(LEASES, Lease("a", version=2), expect=1)) == ["Txn"]
    assert cost(lambda: room.update(LEASES, Lease("a", version=3), expect=2)) == ["Range", "Txn"]
    room.get(LEASES, "a")
    other.update(LEASES, Lease("a", version=3, job="another"), expect=3)
    assert cost(lambda: room.update(LEASES, Lease("a", version=4), expect=3)) == ["Txn", "Range", "Txn"]
    assert cost(lambda: room.insert(LEASES, Lease("b"))) == ["Txn"]
    assert cost(lambda: room.delete(ITEMS, "000000")) == ["Txn"]
    assert cost(lambda: room.scan(ITEMS, limit=1000)) == ["Range"]
    assert cost(lambda: room.scan(ITEMS, limit=3, reverse=True)) == ["Range"]
    assert cost(lambda: room.count(ITEMS, limit=1000)) == ["Range"]
    assert cost(lambda: room.get_many(ITEMS, [(name,) for name in names(128)])) == ["Txn"]
    assert cost(lambda: room.get_many(ITEMS, [(name,) for name in names(129)])) == ["Txn", "Range"]
    assert cost(lambda: room.write(lambda transaction: take_next(transaction, "a"))) == ["Range", "Txn"]
    assert cost(lambda: room.write(lambda transaction: transaction.get(LEASES, "a"))) == ["Range"]
    assert cost(lambda: room.write(lambda transaction: insert_all(["x", "y"], transaction))) == ["Txn"]


# Many at once.


def test_a_log_that_many_engines_append_to_makes_progress_for_each(url: Callable[..., str], room: EtcdEngine) -> None:
    def append(engine: Engine, count: int) -> None:
        for _ in range(count):
            LINES.append(engine, "s", make=lambda position: Line("s", position))

    engines = [opened(url()) for _ in range(4)]
    threads = [threading.Thread(target=append, args=(engine, 15)) for engine in engines for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    for engine in engines:
        engine.close()
    assert [line.position for line in room.scan(LINES.table, "s", limit=1000)] == [*range(1, 181)]
