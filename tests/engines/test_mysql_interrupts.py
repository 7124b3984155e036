"""Ctrl-C at every place of the MySQL engine where it can strike."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import strongroom
from servers.server import Address
from strongroom.engine import groups
from strongroom.engines.mysql import MysqlEngine, commits, link, links, marks, rows, session, single, snapshots
from strongroom.engines.sql import pool
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next
from tests.interrupts import interrupted_everywhere

pytestmark = pytest.mark.slow

MODULES = (session, commits, link, links, marks, single, pool, rows)


@pytest.fixture
def room(mariadb: Address) -> Iterator[MysqlEngine]:
    engine = strongroom.open(mariadb.url(f"interrupts_{os.getpid()}", pool="2", timeout_ms="2000"))
    assert isinstance(engine, MysqlEngine)
    with engine:
        engine.prepare(SCHEMA)
        yield engine


def all_places_are_free(room: MysqlEngine) -> bool:
    """Whether as many connections can be taken as there may be."""
    taken = [room.links.take() for _ in range(2)]
    for one in taken:
        room.links.leave(one)
    return len(taken) == 2


def write(room: MysqlEngine) -> object:
    return room.write(lambda transaction: take_next(transaction, "mine"))


def update(room: MysqlEngine) -> object:
    found = room.get(LEASES, "mine")
    assert found is not None
    room.update(LEASES, found.replace(version=found.version + 1), expect=found.version)
    return found


def read(room: MysqlEngine) -> object:
    return room.read(lambda snapshot: snapshot.get(LEASES, "mine"))


def get(room: MysqlEngine) -> object:
    return room.get(LEASES, "mine")


@pytest.mark.parametrize("call", [write, update, read, get])
def test_wherever_an_interrupt_strikes_the_engine_goes_on(
    room: MysqlEngine, call: Callable[[MysqlEngine], object]
) -> None:
    write(room)
    for interrupt in interrupted_everywhere(*MODULES, snapshots):
        before = room.get(LEASES, "mine")
        assert before is not None
        interrupt.run(lambda: call(room))
        assert all_places_are_free(room), interrupt.where
        after = room.get(LEASES, "mine")
        assert after is not None
        assert after.version - before.version in (0, 1), interrupt.where
        write(room)


def wait_for_queue(room: MysqlEngine, length: int) -> None:
    deadline = time.monotonic() + 30
    while len(room._committer._queue) < length and time.monotonic() < deadline:
        time.sleep(0.0005)


def test_wherever_an_interrupt_strikes_a_leader_his_neighbour_s_write_is_kept_once(room: MysqlEngine) -> None:
    room.insert(LEASES, Lease("other"))

    def hold(_transaction: strongroom.Transaction) -> None:
        wait_for_queue(room, 3)

    def follow() -> None:
        wait_for_queue(room, 2)
        room.write(lambda transaction: take_next(transaction, "other"))

    for times, interrupt in enumerate(interrupted_everywhere(*MODULES, groups), 1):
        others = [threading.Thread(target=lambda: room.write(hold)), threading.Thread(target=follow)]
        for other in others:
            other.start()
        wait_for_queue(room, 1)
        interrupt.run(lambda: write(room))  # it leads, and takes the one that follows along
        for other in others:
            other.join(60)
            assert not other.is_alive(), interrupt.where
        found = room.get(LEASES, "other")
        assert found is not None
        assert found.version == times + 1, interrupt.where
        assert all_places_are_free(room), interrupt.where
