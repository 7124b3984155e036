"""The PostgreSQL engine, held to the contract: on the system's server, and the slow way on others."""

from __future__ import annotations

import pytest

from servers.server import Address
from strongroom.conformance import UrlHarness, conformance_tests, run

pytestmark = pytest.mark.timeout(900)

QUICK = ("K1", "W1", "W2", "W4", "W5", "R3", "L1", "M2")
"""A store for each case takes a server a second: these show the rest of the suite's fast loop that all is well."""

test_conformance = conformance_tests(lambda _folder, postgres: UrlHarness(postgres.url(schema="kit")), quick=QUICK)

NO_OTHER_PROCESS = "the harness can't let another process open the store"
"""Another process opens a store by its URL, which says nothing of a seal key."""


@pytest.mark.slow
def test_the_whole_contract_holds_on_a_newer_server_too(postgres18: Address) -> None:
    with UrlHarness(postgres18.url(schema="kit")) as harness:
        report = run(harness, slow=False)
    assert report.failed == ()
    assert report.unsupported == ()
    assert report.passed > 200


@pytest.mark.long
def test_the_whole_contract_holds_under_a_seal_key(postgres: Address) -> None:
    with UrlHarness(postgres.url(schema="sealed"), seal_key=bytes(range(32))) as harness:
        report = run(harness)
    assert report.failed == ()
    assert {unproved.reason for unproved in report.unsupported} == {NO_OTHER_PROCESS}
    assert report.passed > 200
