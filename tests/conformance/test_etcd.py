"""The etcd engine, held to the contract: through one server, and through the followers of a cluster."""

from __future__ import annotations

import pytest

from servers.etcd import leader_among, store_url
from servers.server import Address
from strongroom.conformance import UrlHarness, conformance_tests, run

QUICK = ("K1", "W1", "W2", "W3", "W5", "T1", "R2", "L1", "M2")
"""These show the rest of the suite's fast loop that all is well."""

test_conformance = conformance_tests(lambda _folder, etcd: UrlHarness(store_url([etcd], "kit")), quick=QUICK)

NO_OTHER_PROCESS = "the harness can't let another process open the store"
"""Another process opens a store by its URL, which says nothing of a seal key."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_contract_holds_through_followers(etcd_cluster: list[Address]) -> None:
    leader = leader_among(etcd_cluster)
    followers = [address for number, address in enumerate(etcd_cluster) if number != leader]
    with UrlHarness(store_url(followers, "followers")) as harness:
        report = run(harness, slow=False)
    assert report.failed == ()
    assert report.unsupported == ()
    assert report.passed > 200


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_whole_contract_holds_under_a_seal_key(etcd: Address) -> None:
    with UrlHarness(store_url([etcd], "sealed"), seal_key=bytes(range(32))) as harness:
        report = run(harness)
    assert report.failed == ()
    assert {unproved.reason for unproved in report.unsupported} == {NO_OTHER_PROCESS}
    assert report.passed > 200
