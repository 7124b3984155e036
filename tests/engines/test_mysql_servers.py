"""The MySQL engine where its server is restarted or killed, and where many processes write the same rows."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import strongroom
from servers.mariadb import MariaDB
from servers.server import Address
from strongroom.engines.mysql import MysqlEngine
from strongroom.errors import Unavailable
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)


def prepared(address: Address, **options: str) -> MysqlEngine:
    engine = strongroom.open(address.url(f"servers_{os.getpid()}_{next(_numbers)}", **options))
    assert isinstance(engine, MysqlEngine)
    engine.prepare(SCHEMA)
    return engine


def test_a_restart_is_noticed_by_nobody(own_mariadb: Callable[..., MariaDB]) -> None:
    server = own_mariadb()
    with prepared(server.address) as room:
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


def test_a_server_that_is_away_is_unavailable_and_is_used_again_once_it_is_back(
    own_mariadb: Callable[..., MariaDB],
) -> None:
    server = own_mariadb()
    with prepared(server.address) as room:
        room.insert(LEASES, Lease("a"))
        server.kill()
        for call in (
            lambda: room.get(LEASES, "a"),
            lambda: room.insert(LEASES, Lease("b")),
            lambda: room.write(lambda transaction: take_next(transaction, "a")),
            lambda: room.read(lambda snapshot: snapshot.get(LEASES, "a")),
        ):
            with pytest.raises(Unavailable):
                call()
        server.start()
        assert room.get(LEASES, "a") == Lease("a")
        assert room.get(LEASES, "b") is None
        room.insert(LEASES, Lease("b"))


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_the_server_was_killed(own_mariadb: Callable[..., MariaDB]) -> None:
    server = own_mariadb()
    acknowledged = [0] * 4
    stop = threading.Event()
    with prepared(server.address, timeout_ms="20000") as room:

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
def test_processes_that_all_write_the_same_row_all_come_through(mariadb: Address) -> None:
    with prepared(mariadb) as room:
        url = mariadb.url(room.options.database)
        counters = [subprocess.Popen([sys.executable, "-c", COUNTER, url]) for _ in range(4)]
        assert [counter.wait() for counter in counters] == [0, 0, 0, 0]
        assert room.get(LEASES, "hot") == Lease("hot", version=400)
