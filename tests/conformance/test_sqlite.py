"""The SQLite engine, held to the contract: as a file, in memory, sealed with a key, and with its flushes counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from strongroom.conformance import FlushCountingHarness, UrlHarness, conformance_tests, run, select
from strongroom.conformance.runner import introduce

# A shorter WAL than usual, so that the case that fills it has less to write.
test_conformance = conformance_tests(lambda folder: UrlHarness(f"sqlite:///{folder}/store.db?wal_limit_mib=4"))


FLUSHES = (
    "an_engine_that_flushes_says_so",
    "what_is_acknowledged_was_flushed_before",
    "what_is_abandoned_or_only_read_costs_no_flush",
    "many_callers_share_a_flush",
)

test_flushes = conformance_tests(lambda folder: FlushCountingHarness(f"sqlite:///{folder}/store.db"), cases=FLUSHES)


def test_a_weaker_setting_claims_less_and_is_not_held_to_more(tmp_path: Path) -> None:
    with FlushCountingHarness(f"sqlite:///{tmp_path}/store.db?synchronous=normal") as harness:
        assert run(harness, cases=FLUSHES).cases == 0
        assert {one.beyond(introduce(harness)[1]) for one in select(cases=FLUSHES)} == {
            "the engine claims durability process only"
        }


@pytest.mark.slow
def test_the_whole_contract_holds_in_memory_too() -> None:
    report = run(UrlHarness("sqlite://:memory:"))
    assert report.failed == ()
    assert report.passed > 100


@pytest.mark.slow
def test_the_whole_contract_holds_under_a_seal_key(tmp_path: Path) -> None:
    with UrlHarness(f"sqlite:///{tmp_path}/sealed.db", seal_key=bytes(range(32))) as harness:
        report = run(harness)
    assert report.failed == ()
    assert report.passed > 100
