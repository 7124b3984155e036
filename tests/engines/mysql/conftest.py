"""Stores on the run's MariaDB, each a database of its test's own, and the server's root beside them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

import strongroom
from servers.server import Address
from strongroom.engines.mysql import MysqlEngine
from tests.engines.leases import SCHEMA

_numbers = itertools.count(1)

Ask = Callable[..., Any]
Url = Callable[..., str]


@pytest.fixture
def admin(mariadb: Address) -> Iterator[Ask]:
    """Asks the server something, on a connection of the test's own."""
    with pymysql.connect(host=mariadb.host, port=mariadb.port, user=mariadb.user, autocommit=True) as connection:

        def ask(statement: str, *values: object) -> Any:
            with connection.cursor() as cursor:
                cursor.execute(statement, values or None)
                return cursor.fetchall()

        yield ask


@pytest.fixture
def url(mariadb: Address) -> Url:
    """Makes URLs of the test's own database, with options."""
    database = f"own_{os.getpid()}_{next(_numbers)}"
    return lambda **options: mariadb.url(database, **options)


def opened(url: str) -> MysqlEngine:
    """The store at the URL."""
    engine = strongroom.open(url)
    assert isinstance(engine, MysqlEngine)
    return engine


@pytest.fixture
def room(url: Url) -> Iterator[MysqlEngine]:
    """A store of leases, with few connections and little patience."""
    with opened(url(timeout_ms="2000", pool="3")) as engine:
        engine.prepare(SCHEMA)
        yield engine
