"""Ctrl-C at every place of an engine with a server where it can strike."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.engine import groups
from strongroom.engines import etcd, mysql, postgres
from strongroom.engines.sql import pool
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next
from tests.interrupts import interrupted_everywhere

pytestmark = pytest.mark.slow


class Kind(NamedTuple):
    """An engine, and where it can be struck."""

    url: Callable[[Address, str], str]
    """The URL of a store of that name, in which two connections are all that there may be, if any are counted."""
    written: tuple[ModuleType, ...]
    """The modules in which every write passes some place."""
    asked: tuple[ModuleType, ...]
    """Those of the other calls."""
    connections: Callable[[Any], Any] = lambda _room: None
    """The pool of its connections, if it has one."""


KINDS: Final = {
    "etcd": Kind(
        lambda server, name: store_url([server], name, timeout_ms="5000"),
        (etcd.session, etcd.commits, etcd.members, etcd.view),
        (etcd.guards, etcd.snapshots, etcd.single, etcd.tails),
    ),
    "mariadb": Kind(
        lambda server, name: server.url(name, pool="2", timeout_ms="2000"),
        (mysql.session, mysql.commits, mysql.link, mysql.links, mysql.marks, mysql.single, pool, mysql.rows),
        (mysql.snapshots,),
        lambda room: room.links,
    ),
    "postgres": Kind(
        lambda server, name: server.url(schema=name, pool="2", timeout_ms="2000"),
        (postgres.session, postgres.link, postgres.links, postgres.marks, postgres.single, pool, postgres.rows),
        (postgres.snapshots,),
        lambda room: room._links,
    ),
}
"""By the fixtures that are their servers."""


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def room(kind: Kind, request: pytest.FixtureRequest) -> Iterator[strongroom.Engine]:
    server = request.getfixturevalue(request.node.callspec.params["kind"])
    with strongroom.open(kind.url(server, f"interrupts_{os.getpid()}")) as engine:
        engine.prepare(SCHEMA)
        yield engine


def all_places_are_free(kind: Kind, room: strongroom.Engine) -> bool:
    """Whether as many connections can be taken as there may be."""
    connections = kind.connections(room)
    if connections is None:
        return True
    taken = [connections.take() for _ in range(2)]
    for one in taken:
        connections.give(one)
    return len(taken) == 2


def write(room: strongroom.Engine) -> object:
    return room.write(lambda transaction: take_next(transaction, "mine"))


def update(room: strongroom.Engine) -> object:
    found = room.get(LEASES, "mine")
    assert found is not None
    room.update(LEASES, found.replace(version=found.version + 1), expect=found.version)
    return found


def read(room: strongroom.Engine) -> object:
    return room.read(lambda snapshot: (snapshot.get(LEASES, "mine"), snapshot.scan(LEASES, limit=1, reverse=True)))


def get(room: strongroom.Engine) -> object:
    return room.get(LEASES, "mine")


@pytest.mark.parametrize("call", [write, update, read, get])
def test_wherever_an_interrupt_strikes_the_engine_goes_on(
    kind: Kind, room: strongroom.Engine, call: Callable[[strongroom.Engine], object]
) -> None:
    write(room)
    for interrupt in interrupted_everywhere(*kind.written, *kind.asked):
        before = room.get(LEASES, "mine")
        assert before is not None
        interrupt.run(lambda: call(room))
        assert all_places_are_free(kind, room), interrupt.where
        after = room.get(LEASES, "mine")
        assert after is not None
        assert after.version - before.version in (0, 1), interrupt.where
        write(room)


def wait_for_queue(room: Any, length: int) -> None:
    deadline = time.monotonic() + 30
    while len(room._committer._queue) < length and time.monotonic() < deadline:
        time.sleep(0.0005)


def test_wherever_an_interrupt_strikes_a_leader_his_neighbour_s_write_is_kept_once(
    kind: Kind, room: strongroom.Engine
) -> None:
    room.insert(LEASES, Lease("other"))

    def hold(_transaction: strongroom.Transaction) -> None:
        wait_for_queue(room, 3)

    def follow() -> None:
        wait_for_queue(room, 2)
        room.write(lambda transaction: take_next(transaction, "other"))

    for times, interrupt in enumerate(interrupted_everywhere(*kind.written, groups), 1):
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
        assert all_places_are_free(kind, room), interrupt.where
