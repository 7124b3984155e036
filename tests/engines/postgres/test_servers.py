"""The PostgreSQL engine where its server is newer than the system's, or behind a proxy."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable

import pytest

import strongroom
from servers.pgbouncer import PgBouncer
from servers.server import Address
from strongroom.conformance import UrlHarness, run
from strongroom.engine import Engine
from strongroom.engines.postgres import PostgresEngine
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)


def prepared(address: Address, **options: str) -> Engine:
    engine = strongroom.open(address.url(schema=f"servers_{os.getpid()}_{next(_numbers)}", **options))
    engine.prepare(SCHEMA)
    return engine


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


@pytest.mark.long
@pytest.mark.timeout(1800)
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
