"""What a transaction has read is what it is compared with when it commits (T2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import strongroom
from strongroom.engine import Transaction
from strongroom.engines.etcd import EtcdEngine
from tests.engines.etcd.stores import ITEMS, Item, insert_all, names
from tests.engines.leases import LEASES, Lease

# Some tests compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")


def insert_one(room: EtcdEngine) -> None:
    room.insert(ITEMS, Item("000000 and a half"))


def delete_one(room: EtcdEngine) -> None:
    assert room.delete(ITEMS, "000001")


def replace_one(room: EtcdEngine) -> None:
    def change(transaction: Transaction) -> None:
        transaction.delete(ITEMS, "000001")
        transaction.insert(ITEMS, Item("000001", b"another"))

    room.write(change)


def scan(transaction: Transaction) -> object:
    return transaction.scan(ITEMS, limit=10_000)


def scan_back(transaction: Transaction) -> object:
    return transaction.scan(ITEMS, limit=10_000, reverse=True)


def get_each(transaction: Transaction) -> object:
    return [transaction.get(ITEMS, name) for name in ["000000 and a half", *names(200)]]


def count(transaction: Transaction) -> object:
    return transaction.count(ITEMS, limit=10_000)


@pytest.mark.parametrize("there", [5, 200])
@pytest.mark.parametrize("look", [scan, scan_back, get_each, count])
@pytest.mark.parametrize("interfere", [insert_one, delete_one, replace_one])
def test_whatever_changes_in_what_was_read_has_the_function_run_again(
    room: EtcdEngine,
    other: EtcdEngine,
    there: int,
    look: Callable[[Transaction], object],
    interfere: Callable[[EtcdEngine], None],
) -> None:
    room.write(lambda transaction: insert_all(names(there), transaction))
    seen: list[object] = []

    def change(transaction: Transaction) -> None:
        seen.append(look(transaction))
        if len(seen) == 1:
            interfere(other)
        transaction.insert(LEASES, Lease("result"))

    room.write(change)
    assert len(seen) == 2
    assert room.write(look) == seen[1]


@pytest.mark.parametrize("there", [5, 200])
def test_what_changes_behind_the_last_row_that_was_wanted_is_of_no_concern(
    room: EtcdEngine, other: EtcdEngine, there: int
) -> None:
    room.write(lambda transaction: insert_all(names(there), transaction))
    runs: list[int] = []

    def change(transaction: Transaction) -> None:
        runs.append(len(transaction.scan(ITEMS, limit=there - 1)))
        other.insert(ITEMS, Item("9 behind"))
        transaction.insert(LEASES, Lease("result"))

    room.write(change)
    assert runs == [there - 1]


def test_rows_taken_for_new_by_the_hundred_are_looked_for(room: EtcdEngine, other: EtcdEngine) -> None:
    other.insert(ITEMS, Item("000150", b"first"))
    with pytest.raises(strongroom.AlreadyExists):
        room.write(lambda transaction: insert_all(names(200), transaction))
    assert [item.body for item in room.scan(ITEMS, limit=5)] == [b"first"]
