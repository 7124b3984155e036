"""The PostgreSQL engine where its server is restarted or killed, newer than the system's, or behind a proxy."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import strongroom
from servers.pgbouncer import PgBouncer
from servers.postgres import Postgres
from servers.server import Address
from strongroom.conformance import UrlHarness, run
from strongroom.engine import Engine
from strongroom.engines.postgres import PostgresEngine
from strongroom.errors import Unavailable
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)


def prepared(address: Address, **options: str) -> Engine:
    engine = strongroom.open(address.url(schema=f"servers_{os.getpid()}_{next(_numbers)}", **options))
    engine.prepare(SCHEMA)
    return engine


def test_a_restart_is_noticed_by_nobody(own_postgres: Callable[..., Postgres]) -> None:
    server = own_postgres()
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
    own_postgres: Callable[..., Postgres],
) -> None:
    server = own_postgres()
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
def test_what_was_acknowledged_is_there_after_the_server_was_killed(own_postgres: Callable[..., Postgres]) -> None:
    server = own_postgres()
    acknowledged: list[dict[str, int]] = [{} for _ in range(4)]
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
                    assert version == acknowledged[number].get("version", 0) + 1
                    acknowledged[number]["version"] = version

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
            assert found.version == acknowledged[number]["version"]


@pytest.fixture(params=["postgres18", "pgbouncer"])
def other(request: pytest.FixtureRequest) -> Address:
    address: Address = request.getfixturevalue(request.param)
    return address


QUICK = ("W5", "T5", "R2")


def test_the_newest_server_and_a_proxy_can_be_used(other: Address) -> None:
    harness = UrlHarness(other.url(schema="quick_{n}"))
    try:
        report = run(harness, clauses=QUICK)
    finally:
        harness.close()
    assert not report.failed, str(report)


@pytest.mark.slow
def test_the_newest_server_and_a_proxy_keep_every_clause(other: Address) -> None:
    harness = UrlHarness(other.url(schema="all_{n}"))
    try:
        report = run(harness, slow=True)
    finally:
        harness.close()
    assert not report.failed, str(report)


def test_a_proxy_that_deals_sessions_out_anew_is_seen(pgbouncer: Address, postgres: Address) -> None:
    with prepared(pgbouncer) as behind, prepared(postgres) as direct:
        assert behind.describe()["proxied"] is True
        assert direct.describe()["proxied"] is False


def test_engines_that_share_the_sessions_of_a_proxy_never_meet_each_other_s_statements(pgbouncer: Address) -> None:
    schema = f"shared_{os.getpid()}"
    rooms = [strongroom.open(pgbouncer.url(schema=schema)) for _ in range(3)]
    rooms[0].prepare(SCHEMA)

    def work(room: Engine, name: str) -> None:
        for _ in range(30):
            room.write(lambda transaction: take_next(transaction, name))
            room.get(LEASES, name)
            room.scan(LEASES, limit=10)

    threads = [threading.Thread(target=work, args=(room, f"r{i}")) for i, room in enumerate(rooms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.version for found in rooms[0].scan(LEASES, limit=10)] == [30, 30, 30]
    for room in rooms:
        room.close()


def test_a_proxy_that_is_restarted_is_noticed_by_nobody(
    own_pgbouncer: Callable[..., PgBouncer], postgres: Address
) -> None:
    proxy = own_pgbouncer(postgres)
    with prepared(proxy.address) as room:
        room.insert(LEASES, Lease("a"))
        proxy.restart()
        assert room.write(lambda transaction: take_next(transaction, "a")) == 2
        proxy.restart()
        assert room.get(LEASES, "a") == Lease("a", version=2)


def test_what_is_sent_in_pieces_and_answered_in_pieces_comes_through(postgres: Address) -> None:
    with prepared(postgres) as room:
        assert isinstance(room, PostgresEngine)
        wide = [Lease(f"r{i:05}", "x" * 3000) for i in range(5000)]  # many times what a socket takes at once

        def fill(transaction: strongroom.Transaction) -> None:
            for lease in wide:
                transaction.insert(LEASES, lease)

        room.write(fill)
        assert room.scan(LEASES, limit=10_000) == wide
        assert room.get_many(LEASES, [(lease.runner,) for lease in wide]) == wide


COUNTER = """
import sys, strongroom
from tests.engines.leases import take_next
with strongroom.open(sys.argv[1]) as room:
    for _ in range(100):
        room.write(lambda transaction: take_next(transaction, "hot"))
"""


@pytest.mark.slow
def test_processes_that_all_write_the_same_row_all_come_through(postgres: Address) -> None:
    with prepared(postgres) as room:
        assert isinstance(room, PostgresEngine)
        url = postgres.url(schema=room.options.schema)
        # Four at once, without a pause: each would find that another has committed meanwhile, nearly every time.
        counters = [subprocess.Popen([sys.executable, "-c", COUNTER, url]) for _ in range(4)]
        assert [counter.wait() for counter in counters] == [0, 0, 0, 0]
        assert room.get(LEASES, "hot") == Lease("hot", version=400)
