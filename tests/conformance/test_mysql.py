"""The MySQL engine, held to the contract: on one MariaDB, and the slow way in a cluster and under a seal key."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from servers.fixtures import need
from servers.galera import Galera
from servers.mariadb import MariaDB
from servers.run import Run
from servers.server import Address
from strongroom.conformance import Ability, UrlHarness, conformance_tests, run, select

pytestmark = pytest.mark.timeout(900)

QUICK = ("K1", "W1", "W2", "W4", "W5", "R3", "L1", "M2")
"""A store for each case takes a server a second: these show the rest of the suite's fast loop that all is well."""

FLUSHES = {one.name for one in select(slow=True) if Ability.FLUSHES in one.needs}
OTHERS = [one.name for one in select(slow=True) if one.name not in FLUSHES]


@pytest.fixture(scope="module")
def disk() -> Iterator[Run]:
    """Servers with their data on a disk: under /dev/shm MariaDB takes memory to be persistent, and never flushes."""
    need("mariadb")
    made = Run.named(f"{os.getpid()}-disk", os.getpid())
    yield made
    made.end()


@pytest.fixture(scope="module")
def flushing(disk: Run) -> Iterator[Address]:
    """A MariaDB on a disk."""
    with MariaDB(run=disk) as server:
        yield server.address


test_conformance = conformance_tests(lambda _folder, mariadb: UrlHarness(mariadb.url("kit")), cases=OTHERS, quick=QUICK)

test_flushes = conformance_tests(lambda _folder, flushing: UrlHarness(flushing.url("kit")), cases=FLUSHES, quick=QUICK)

NO_OTHER_PROCESS = "the harness can't let another process open the store"
"""Another process opens a store by its URL, which says nothing of a seal key."""


@pytest.mark.long
def test_the_whole_contract_holds_under_a_seal_key(flushing: Address) -> None:
    with UrlHarness(flushing.url("sealed"), seal_key=bytes(range(32))) as harness:
        report = run(harness)
    assert report.failed == ()
    assert {unproved.reason for unproved in report.unsupported} == {NO_OTHER_PROCESS}
    assert report.passed > 200


@pytest.mark.slow
def test_the_whole_contract_holds_in_a_cluster_whose_nodes_are_all_written_to(disk: Run) -> None:
    need("galera")
    with Galera(run=disk) as cluster:
        first, *others = cluster.addresses
        hosts = ",".join(f"{node.host}:{node.port}" for node in others)
        with UrlHarness(first.url("kit", hosts=hosts, balance="1")) as harness:
            report = run(harness)
    assert report.failed == ()
    assert report.unsupported == ()
    assert report.passed > 200
