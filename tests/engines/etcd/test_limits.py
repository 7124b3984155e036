"""What etcd takes at once: 128 changes a list, 1.5 MiB a request (K2)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from strongroom.engine import Transaction
from strongroom.engines.etcd import EtcdEngine
from strongroom.errors import TooLarge
from tests.engines.etcd.stores import ITEMS, SCHEMA, Item, insert_all, names, opened

# Some tests compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")


@pytest.mark.parametrize("count", [126, 127, 128, 129, 2000])
def test_a_transaction_may_change_more_rows_than_one_list_of_etcd_holds(room: EtcdEngine, count: int) -> None:
    room.write(lambda transaction: insert_all(names(count), transaction))
    assert room.count(ITEMS, limit=10_000) == count


def test_a_transaction_of_too_many_changes_is_refused_with_the_limit_and_the_way_to_raise_it(room: EtcdEngine) -> None:
    with pytest.raises(TooLarge, match=r"128 operations in a list: .* --max-txn-ops there and max_txn_ops in the URL"):
        room.write(lambda transaction: insert_all(names(5000), transaction))
    assert room.count(ITEMS, limit=1) == 0


def test_a_request_that_is_too_large_is_refused_with_the_limit_and_the_way_to_raise_it(room: EtcdEngine) -> None:
    room.insert(ITEMS, Item("fits", bytes(1_570_000)))

    def insert_together(transaction: Transaction) -> None:
        for name in names(8):
            transaction.insert(ITEMS, Item(name, bytes(200_000)))

    expected = r"1572864 in a request: .* --max-request-bytes there and max_request_bytes"
    with pytest.raises(TooLarge, match=expected):
        room.insert(ITEMS, Item("single", bytes(1_573_000)))
    with pytest.raises(TooLarge, match=expected):
        room.write(insert_together)
    assert [item.name for item in room.scan(ITEMS, limit=9)] == ["fits"]


def test_limits_that_the_servers_do_not_have_are_told_from_theirs(url: Callable[..., str]) -> None:
    with opened(url(max_txn_ops="1000", max_request_bytes="4000000")) as room:
        room.prepare(SCHEMA)
        with pytest.raises(TooLarge, match="below the URL's max_txn_ops or max_request_bytes"):
            room.write(lambda transaction: insert_all(names(300), transaction))
        with pytest.raises(TooLarge, match="below the URL's max_txn_ops or max_request_bytes"):
            room.insert(ITEMS, Item("a", bytes(1_700_000)))
        assert room.count(ITEMS, limit=1) == 0


def test_of_callers_whose_writes_are_too_large_together_each_is_kept(room: EtcdEngine) -> None:
    inside, go = threading.Event(), threading.Event()

    def hold(_transaction: Transaction) -> None:
        inside.set()
        go.wait(30)

    threads = [threading.Thread(target=lambda: room.write(hold))]
    threads += [threading.Thread(target=room.insert, args=(ITEMS, Item(n, bytes(300_000)))) for n in names(12)]
    threads[0].start()
    assert inside.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(room._committer._queue) < len(threads):
        pass
    go.set()
    for thread in threads:
        thread.join(60)
    assert [item.name for item in room.scan(ITEMS, limit=20)] == names(12)


def test_rows_that_are_more_than_one_answer_of_grpc_are_read(room: EtcdEngine) -> None:
    for name in names(8):
        room.insert(ITEMS, Item(name, bytes(1_000_000)))
    assert sum(len(item.body) for item in room.scan(ITEMS, limit=10)) == 8_000_000
