"""The SQLite engine, held to the contract: as a file, in memory, sealed with a key, and with its flushes counted."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from strongroom.conformance import Ability, UrlHarness, conformance_tests, run
from strongroom.engine import Engine, StoreUrl
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions

# A shorter WAL than usual, so that the case that fills it has less to write.
test_conformance = conformance_tests(lambda folder: UrlHarness(f"sqlite:///{folder}/store.db?wal_limit_mib=4"))


class CountingFiles(apsw.VFS):
    """The system's files, with their flushes counted."""

    NAME = "strongroom-counting"
    flushes = 0

    def __init__(self) -> None:
        super().__init__(self.NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return CountingFile("", name, flags)


class CountingFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802
        CountingFiles.flushes += 1
        super().xSync(flags)


class CountingHarness(UrlHarness):
    """A SQLite file whose flushes go through `CountingFiles`."""

    def __init__(self, template: str, *, synchronous: str = "full") -> None:
        self._files_system = CountingFiles()
        self._synchronous = synchronous
        super().__init__(template)

    def open(self) -> Engine:
        options = SqliteOptions(vfs=CountingFiles.NAME, synchronous=self._synchronous)
        return SqliteEngine(StoreUrl.parse(self.url).path, options)

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset({Ability.FLUSHES})

    def flushes(self) -> int:
        return CountingFiles.flushes


FLUSHES = (
    "an_engine_that_flushes_says_so",
    "what_is_acknowledged_was_flushed_before",
    "what_is_abandoned_or_only_read_costs_no_flush",
    "many_callers_share_a_flush",
)

test_flushes = conformance_tests(lambda folder: CountingHarness(f"sqlite:///{folder}/store.db"), cases=FLUSHES)


def test_a_weaker_setting_claims_less_and_is_not_held_to_more(tmp_path: Path) -> None:
    with CountingHarness(f"sqlite:///{tmp_path}/store.db", synchronous="normal") as harness:
        report = run(harness, cases=FLUSHES)
    assert report.passed == 0
    assert {unproved.reason for unproved in report.unsupported} == {"the engine claims durability process only"}


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
