"""What depends on how the server is set: what is claimed, what a session relies on, how much goes in one packet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import pytest

import strongroom
from servers.mariadb import MariaDB
from strongroom.engine import Durability
from strongroom.errors import (
    TooLarge,
)
from strongroom.records import REPLACEABLE, Blob, Identifier, Record, Schema, Table
from tests.engines.leases import LEASES, SCHEMA, Lease
from tests.engines.mysql.conftest import Ask, Url, opened


def test_what_is_claimed_is_what_the_server_flushes(url: Url, admin: Ask) -> None:
    with opened(url()) as engine:
        assert engine.claims.durability is Durability.FLUSHED
    admin("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    try:
        with opened(url()) as engine:
            assert engine.claims.durability is Durability.PROCESS
            assert engine.describe()["flush"] == "once a second (innodb_flush_log_at_trx_commit=2)"
    finally:
        admin("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


def test_a_binary_log_that_is_not_flushed_is_claimed_for_what_it_is(own_mariadb: Callable[..., MariaDB]) -> None:
    server = own_mariadb(settings={"log_bin": "log", "sync_binlog": "0"})
    with opened(server.address.url("a")) as engine:
        assert engine.claims.durability is Durability.PROCESS
        assert engine.describe()["flush"] == "not by every commit (sync_binlog=0)"
        with engine.links.lent() as link:
            link.ask("SET GLOBAL sync_binlog = 1")
    with opened(server.address.url("a")) as engine:
        assert engine.claims.durability is Durability.FLUSHED


def test_a_session_does_not_depend_on_what_the_server_is_set_to(url: Url, admin: Ask) -> None:
    before = admin("SELECT @@GLOBAL.sql_mode, @@GLOBAL.tx_isolation")[0]
    admin("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', GLOBAL tx_isolation = 'READ-UNCOMMITTED'")
    try:
        with opened(url()) as engine:
            engine.prepare(SCHEMA)
            engine.insert(LEASES, Lease("it's a \\'\" %s \n"))
            assert [lease.runner for lease in engine.scan(LEASES, limit=9)] == ["it's a \\'\" %s \n"]
            with engine.links.lent() as link:
                assert link.ask("SELECT @@tx_isolation") == [("REPEATABLE-READ",)]
    finally:
        admin("SET GLOBAL sql_mode = %s, GLOBAL tx_isolation = %s", *before)


class Heap(Record):
    name: Annotated[str, Identifier(16)]
    data: Annotated[bytes, Blob(20_000_000)]


HEAPS = Table("heaps", Heap, key=("name",), changes=REPLACEABLE)


def test_what_the_server_takes_in_no_packet_is_too_large_and_is_not_sent(url: Url) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("heaps", HEAPS))
        with pytest.raises(TooLarge, match="max_allowed_packet"):
            engine.insert(HEAPS, Heap("a", bytes(9_000_000)))  # bytes take two places each on their way
        with pytest.raises(TooLarge, match="max_allowed_packet"):
            engine.write(lambda transaction: transaction.put(HEAPS, Heap("a", bytes(9_000_000))))
        assert engine.get(HEAPS, "a") is None


def test_a_transaction_larger_than_a_packet_is_kept_whole(url: Url) -> None:
    heaps = [Heap(f"h{i}", bytes([i]) * 4_000_000) for i in range(5)]
    with opened(url()) as engine:
        engine.prepare(Schema("heaps", HEAPS))

        def insert_all(transaction: strongroom.Transaction) -> None:
            for heap in heaps:
                transaction.insert(HEAPS, heap)

        engine.write(insert_all)
        assert [engine.get(HEAPS, heap.name) for heap in heaps] == heaps
