"""Engines whose server is restarted or killed, and where many processes write the same row."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import strongroom
from servers.server import Server
from strongroom.engine import Engine
from strongroom.errors import Unavailable
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next


@pytest.fixture(params=["etcd", "mariadb", "postgres"])
def server(request: pytest.FixtureRequest) -> Server:
    """A server of the test's own, of each kind in turn."""
    started: Server = request.getfixturevalue(f"own_{request.param}")()
    return started


def url_of(server: Server, **options: str) -> str:
    """The URL of the server's one store."""
    return server.url(server.address.database or "leases", **options)


@contextmanager
def prepared(server: Server, **options: str) -> Iterator[Engine]:
    with strongroom.open(url_of(server, **options)) as room:
        room.prepare(SCHEMA)
        yield room


def test_a_restart_is_noticed_by_nobody(server: Server) -> None:
    with prepared(server) as room:
        room.insert(LEASES, Lease("a"))
        room.read(lambda snapshot: snapshot.get(LEASES, "a"))
        server.restart()
        assert room.get(LEASES, "a") == Lease("a")
        server.restart()
        assert room.write(lambda transaction: take_next(transaction, "a")) == 2
        server.restart()
        room.update(LEASES, Lease("a", version=3), expect=2)
        server.restart()
        assert room.read(lambda snapshot: snapshot.get(LEASES, "a")) == Lease("a", version=3)


def test_a_server_that_is_away_is_unavailable_and_is_used_again_once_it_is_back(server: Server) -> None:
    with prepared(server, timeout_ms="2000") as room:
        room.insert(LEASES, Lease("a"))
        server.kill()
        calls: list[Callable[[], object]] = [
            lambda: room.get(LEASES, "a"),
            lambda: room.insert(LEASES, Lease("b")),
            lambda: room.write(lambda transaction: take_next(transaction, "a")),
            lambda: room.read(lambda snapshot: snapshot.get(LEASES, "a")),
        ]
        for call in calls:
            with pytest.raises(Unavailable):
                call()
        server.start()
        assert room.get(LEASES, "a") == Lease("a")
        assert room.get(LEASES, "b") is None
        room.insert(LEASES, Lease("b"))


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_the_server_was_killed(server: Server) -> None:
    acknowledged = [0] * 4
    stop = threading.Event()
    with prepared(server, timeout_ms="20000") as room:

        def count(number: int) -> None:
            while not stop.is_set():
                try:
                    version = room.write(lambda transaction: take_next(transaction, f"r{number}"))
                except Unavailable:
                    stop.wait(0.01)
                else:
                    # Each version is taken by exactly one write, whatever became of the answers on the way.
                    assert version == acknowledged[number] + 1
                    acknowledged[number] = version

        threads = [threading.Thread(target=count, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            stop.wait(0.3)
            server.kill()
            server.start()
        stop.wait(0.3)
        stop.set()
        for thread in threads:
            thread.join()
        for number in range(4):
            found = room.get(LEASES, f"r{number}")
            assert found is not None
            assert found.version == acknowledged[number]


COUNTER = """
import sys, strongroom
from tests.engines.leases import take_next
with strongroom.open(sys.argv[1]) as room:
    for _ in range(100):
        room.write(lambda transaction: take_next(transaction, "hot"))
"""


@pytest.mark.slow
def test_processes_that_all_write_the_same_row_all_come_through(server: Server) -> None:
    with prepared(server) as room:
        # Four at once, without a pause: each would find that another has committed meanwhile, nearly every time.
        counters = [subprocess.Popen([sys.executable, "-c", COUNTER, url_of(server)]) for _ in range(4)]
        assert [counter.wait() for counter in counters] == [0, 0, 0, 0]
        assert room.get(LEASES, "hot") == Lease("hot", version=400)
