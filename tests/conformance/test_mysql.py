"""The MySQL engine, held to the contract: on one MariaDB, and the slow way in a cluster and under a seal key."""

from __future__ import annotations

import pytest

from servers.server import Address
from strongroom.conformance import UrlHarness, conformance_tests, run

pytestmark = pytest.mark.timeout(900)

QUICK = ("K1", "W1", "W2", "W4", "W5", "R3", "L1", "M2")
"""A store for each case takes a server a second: these show the rest of the suite's fast loop that all is well."""

test_conformance = conformance_tests(lambda _folder, mariadb: UrlHarness(mariadb.url("kit")), quick=QUICK)

NO_OTHER_PROCESS = "the harness can't let another process open the store"
"""Another process opens a store by its URL, which says nothing of a seal key."""


@pytest.mark.long
def test_the_whole_contract_holds_under_a_seal_key(mariadb: Address) -> None:
    with UrlHarness(mariadb.url("sealed"), seal_key=bytes(range(32))) as harness:
        report = run(harness)
    assert report.failed == ()
    assert {unproved.reason for unproved in report.unsupported} == {NO_OTHER_PROCESS}
    assert report.passed > 200


@pytest.mark.slow
def test_the_whole_contract_holds_in_a_cluster_whose_nodes_are_all_written_to(galera: list[Address]) -> None:
    first, *others = galera
    hosts = ",".join(f"{node.host}:{node.port}" for node in others)
    with UrlHarness(first.url("kit", hosts=hosts, balance="1")) as harness:
        report = run(harness)
    assert report.failed == ()
    assert report.unsupported == ()
    assert report.passed > 200
