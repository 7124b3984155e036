"""The run's servers: started once, whoever asks; and what they are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pymysql
import pytest

from servers import Address, PgBouncer


def ask_postgres(address: Address, statement: str) -> list[Any]:
    with psycopg.connect(address.url(), prepare_threshold=None, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def ask_mysql(address: Address, statement: str) -> list[Any]:
    connection = pymysql.connect(host=address.host, port=address.port, user=address.user, autocommit=True)
    with connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


@pytest.mark.parametrize("kind", ["postgres", "postgres18"])
def test_postgres_is_durable_and_knows_no_prepared_transactions(kind: str, request: pytest.FixtureRequest) -> None:
    address = request.getfixturevalue(kind)
    settings = "fsync synchronous_commit full_page_writes max_prepared_transactions max_connections".split()
    found = [ask_postgres(address, f"SHOW {setting}")[0][0] for setting in settings]
    assert found == ["on", "on", "on", "0", "200"]


def test_the_wheel_has_postgres_18(postgres18: Address) -> None:
    assert 180000 <= int(ask_postgres(postgres18, "SHOW server_version_num")[0][0]) < 190000


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


def test_mariadb_is_durable(mariadb: Address) -> None:
    assert ask_mysql(mariadb, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite") == [(1, 1)]


def test_a_galera_cluster_has_three_nodes_that_know_each_other(galera: list[Address]) -> None:
    assert len(galera) == 3
    for address in galera:
        assert ask_mysql(address, "SHOW STATUS LIKE 'wsrep_cluster_size'") == [("wsrep_cluster_size", "3")]
