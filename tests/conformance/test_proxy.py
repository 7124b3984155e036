"""The proxy between drivers and real servers: what it does to a commit is what the fault's name says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pymysql
import pytest

from servers.server import Address
from strongroom.conformance import Ability, Unprovable
from strongroom.conformance.proxy import Network
from strongroom.conformance.wires.mysql import MysqlWire
from strongroom.conformance.wires.postgres import PostgresWire

Connect = Callable[[], Any]

FAULTS = {
    Ability.LOST_ANSWER: (True, True),
    Ability.LOST_COMMIT: (False, True),
    Ability.LATE_COMMIT: (True, True),
    Ability.GONE_AFTER_COMMIT: (True, False),
    Ability.GONE_BEFORE_COMMIT: (False, False),
}
"""For each fault of a commit: whether the commit is kept, and whether the server can be reached meanwhile."""


class Driver:
    """A driver on a network of its own, with an empty table of one number."""

    def __init__(self, network: Network, connect: Connect, error: type[Exception], table: str) -> None:
        self.network, self.connect, self.error, self.table = network, connect, error, table
        self.insert = f"INSERT INTO {table} VALUES (1)"

    def reaches_its_server(self) -> bool:
        try:
            self.connect().close()
        except self.error:
            return False
        return True

    def count(self) -> int:
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute(f"SELECT count(*) FROM {self.table}")
        (count,) = cursor.fetchone()
        connection.close()
        return int(count)


@pytest.fixture(params=["postgres", "mariadb"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    server: Address = request.getfixturevalue(request.param)
    if request.param == "postgres":
        network = Network(PostgresWire)
        host, port = network.address(server.host, server.port)
        place = f"host={host} port={port} user={server.user} dbname={server.database}"
        found = Driver(network, lambda: psycopg.connect(place), psycopg.Error, "proxied.numbers")
        make = "CREATE SCHEMA proxied"
    else:
        network = Network(MysqlWire)
        host, port = network.address(server.host, server.port)
        found = Driver(
            network,
            lambda: pymysql.connect(host=host, port=port, user=server.user, ssl_disabled=True),
            pymysql.MySQLError,
            "proxied.numbers",
        )
        make = "CREATE DATABASE proxied"
    _run(found, make, "CREATE TABLE proxied.numbers (number bigint)")
    try:
        yield found
    finally:
        drop = make.replace("CREATE", "DROP")
        _run(found, f"{drop} CASCADE" if request.param == "postgres" else drop)
        network.close()


def _run(driver: Driver, *statements: str) -> None:
    connection = driver.connect()
    for statement in statements:
        connection.cursor().execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.alone("proxied")
class TestProxy:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_commit_suffers_what_the_fault_says(self, driver: Driver, fault: Ability) -> None:
        kept, reached = FAULTS[fault]
        connection = driver.connect()
        connection.cursor().execute(driver.insert)
        with driver.network.suffering(fault):
            with pytest.raises(driver.error):
                connection.commit()
            assert driver.reaches_its_server() is reached
        assert driver.count() == kept

    def test_only_the_first_commit_suffers(self, driver: Driver) -> None:
        first, second = driver.connect(), driver.connect()
        for connection in (first, second):
            connection.cursor().execute(driver.insert)
        with driver.network.suffering(Ability.LOST_COMMIT):
            with pytest.raises(driver.error):
                first.commit()
            second.commit()
        second.close()
        assert driver.count() == 1

    def test_that_no_commit_came_is_told(self, driver: Driver) -> None:
        with pytest.raises(Unprovable, match="saw no commit"), driver.network.suffering(Ability.LOST_ANSWER):
            assert driver.count() == 0

    def test_a_cut_ends_every_connection_and_a_new_one_can_be_made(self, driver: Driver) -> None:
        connection = driver.connect()
        connection.cursor().execute(driver.insert)
        driver.network.cut()
        with pytest.raises(driver.error):
            connection.commit()
        assert driver.count() == 0

    def test_a_server_that_is_away_comes_back(self, driver: Driver) -> None:
        with driver.network.suffering(Ability.SERVER_AWAY):
            assert not driver.reaches_its_server()
        assert driver.reaches_its_server()
