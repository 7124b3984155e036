"""Routers, held to the contract: over rooms of different engines, and over rooms that other processes open too."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.etcd import store_url
from servers.server import Address
from strongroom.conformance import Harness, SingleRecordEngine, UrlHarness, WrappedHarness, conformance_tests, run
from strongroom.conformance.harnesses.router import RouterHarness
from strongroom.routing import Placement

HASHED = Placement("home", hashed=("home", "east", "west"))


def sqlite(folder: Path, name: str) -> Harness:
    # A shorter WAL than usual, so that the case that fills it has less to write.
    return UrlHarness(f"sqlite:///{folder}/{name}.db?wal_limit_mib=4")


def two_engines(folder: Path) -> RouterHarness:
    """SQLite at home, so that its rows outlive the process; memory beside it."""
    rooms = {"home": sqlite(folder, "home"), "east": UrlHarness("memory://router-east"), "west": sqlite(folder, "west")}
    return RouterHarness(rooms, HASHED)


test_conformance_of_files = conformance_tests(
    lambda folder: RouterHarness({name: sqlite(folder, name) for name in HASHED.hashed}, HASHED)
)

test_conformance_of_two_engines = conformance_tests(
    two_engines, clauses=("K3", "W2", "T1", "T2", "R4", "R5", "S1", "M2")
)


def test_what_the_weakest_room_can_t_do_is_not_claimed(tmp_path: Path) -> None:
    weak = WrappedHarness(UrlHarness("memory://router-weak"), SingleRecordEngine)
    with RouterHarness({"home": sqlite(tmp_path, "home"), "east": weak}, Placement("home", default="east")) as harness:
        report = run(harness, clauses=("W1", "W2", "W3", "T7", "S1", "L1"))
    assert report.failed == ()
    assert report.strength == "single-record"
    assert report.passed > 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_contract_holds_over_postgresql_etcd_and_a_file(tmp_path: Path, postgres: Address, etcd: Address) -> None:
    rooms: dict[str, Harness] = {
        "home": UrlHarness(postgres.url(schema="router_kit")),
        "east": UrlHarness(store_url([etcd], "router-kit")),
        "west": sqlite(tmp_path, "west"),
    }
    with RouterHarness(rooms, HASHED) as harness:
        report = run(harness, slow=False)
    assert report.failed == ()
    assert report.passed > 100
