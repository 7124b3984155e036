"""Revisions are compacted away under readers, and what stays in etcd is cleared up (R2, T6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.engine import Reader, Transaction
from strongroom.engines.etcd import EtcdEngine
from strongroom.engines.etcd.messages import TxnRequest
from strongroom.engines.etcd.session import put
from strongroom.errors import Conflict, InvalidArgument
from tests.engines.etcd.stores import ITEMS, Item, compact, keys, opened
from tests.engines.leases import LEASES, Lease, take_next

# Some tests compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")


def test_a_snapshot_whose_revision_is_compacted_begins_again(room: EtcdEngine, other: EtcdEngine) -> None:
    room.insert(ITEMS, Item("a"))
    runs: list[int] = []

    def look(reader: Reader) -> tuple[int, int]:
        first = reader.count(ITEMS, limit=9)
        runs.append(first)
        if len(runs) == 1:
            other.insert(ITEMS, Item("b"))
            compact(other)
        return first, reader.count(ITEMS, limit=8)

    assert room.read(look) == (2, 2)
    runs.clear()

    def change(transaction: Transaction) -> tuple[int, int]:
        found = look(transaction)
        transaction.insert(LEASES, Lease("result"))
        return found

    other.delete(ITEMS, "b")
    assert room.write(change) == (2, 2)
    assert runs == [1, 2]


def test_a_snapshot_that_is_always_compacted_is_given_up(room: EtcdEngine, other: EtcdEngine) -> None:
    def look(reader: Reader) -> None:
        reader.get(ITEMS, "a")
        other.write(lambda transaction: take_next(transaction, "mine"))
        compact(other)
        reader.get(ITEMS, "b")

    with pytest.raises(Conflict):
        room.read(look)


# What stays in etcd.


def test_marks_go_with_later_commits_and_with_the_engine(url: Callable[..., str], room: EtcdEngine) -> None:
    with opened(url()) as writer:
        for _ in range(200):
            writer.write(lambda transaction: take_next(transaction, "mine"))
        assert 1 <= len(keys(room, f"_marks/{writer._commits._lane}")) <= 64
    assert keys(room, f"_marks/{writer._commits._lane}") == []


def test_the_marks_of_those_who_are_long_gone_are_removed(
    url: Callable[..., str], room: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.insert(ITEMS, Item("a"))
    assert len(keys(room, "_marks/")) >= 1
    later = room._clock.now() + 8 * 24 * 3_600_000
    with opened(url()) as engine:
        monkeypatch.setattr(engine._clock, "now", lambda: later)
    assert keys(room, "_marks/") == []


def test_a_token_is_answered_for_alike_by_whoever_is_asked_and_for_its_time_only(
    room: EtcdEngine, other: EtcdEngine, etcd: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"{'0123456789abcdef'}{1:08x}{room._clock.now() // 1000:08x}"
    token = named + room._commits._check(named)
    assert [engine.resolve(token) for engine in (room, other, room)] == [False, False, False]
    another = store_url([etcd], f"{room._layout.prefix}-another")
    with opened(another) as stranger, pytest.raises(InvalidArgument, match="not one of this store"):
        stranger.resolve(token)
    later = room._clock.now() + 7 * 24 * 3_600_000
    monkeypatch.setattr(room._clock, "now", lambda: later)
    with pytest.raises(InvalidArgument, match="older than six days"):
        room.resolve(token)


def test_a_mark_that_was_tampered_with_is_corrupt(room: EtcdEngine, url: Callable[..., str]) -> None:
    named = f"{'0123456789abcdef'}{2:08x}{room._clock.now() // 1000:08x}"
    mark = room._layout.marks[0] + named[:-8].encode()
    room._members.repeat(TxnRequest(success=[put(mark, b"yes")]))
    with pytest.raises(strongroom.Corrupt, match="mark of a transaction"):
        room.resolve(named + room._commits._check(named))
