"""The run's servers, whoever started them, and what they are like."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from servers import Address, PgBouncer
from tests.servers.asking import ask


@pytest.mark.parametrize("kind", ["postgres", "postgres18"])
def test_postgres_is_durable_and_knows_no_prepared_transactions(kind: str, request: pytest.FixtureRequest) -> None:
    address = request.getfixturevalue(kind)
    settings = "fsync synchronous_commit full_page_writes max_prepared_transactions max_connections".split()
    assert [ask(address, f"SHOW {setting}")[0][0] for setting in settings] == ["on", "on", "on", "0", "200"]


def test_the_wheel_has_postgres_18(postgres18: Address) -> None:
    assert 180000 <= int(ask(postgres18, "SHOW server_version_num")[0][0]) < 190000


def test_a_pgbouncer_gives_each_transaction_whichever_session_is_free(
    postgres: Address, own_pgbouncer: Callable[..., PgBouncer]
) -> None:
    url = own_pgbouncer(postgres).url()
    session = "SELECT pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as one, psycopg.connect(url, autocommit=True) as other:
        first = one.execute(session).fetchone()
        with other.transaction():
            assert other.execute(session).fetchone() == first
            assert one.execute(session).fetchone() != first


def test_the_shared_pgbouncer_leads_to_the_shared_postgres(postgres: Address, pgbouncer: Address) -> None:
    identity = "SELECT system_identifier FROM pg_control_system()"
    assert pgbouncer.port != postgres.port
    assert ask(pgbouncer, identity) == ask(postgres, identity)


def test_mariadb_is_durable(mariadb: Address) -> None:
    assert ask(mariadb, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite") == [(1, 1)]


def test_a_galera_cluster_has_three_nodes_that_know_each_other(galera: list[Address]) -> None:
    assert len(galera) == 3
    for address in galera:
        assert ask(address, "SHOW STATUS LIKE 'wsrep_cluster_size'") == [("wsrep_cluster_size", "3")]


def test_a_url_names_a_database_and_the_stores_options(postgres: Address, mariadb: Address) -> None:
    assert postgres.url(schema="a b") == f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres?schema=a+b"
    assert mariadb.url("mine") == f"mysql://root@127.0.0.1:{mariadb.port}/mine"
