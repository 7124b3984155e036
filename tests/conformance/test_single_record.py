"""The test engine of single-record strength, held to what is left of the contract for it."""

from __future__ import annotations

from pathlib import Path

from strongroom.conformance import SingleRecordEngine, UrlHarness, WrappedHarness, conformance_tests


def harness(folder: Path) -> WrappedHarness:
    return WrappedHarness(UrlHarness(f"sqlite:///{folder}/store.db"), SingleRecordEngine, name="single-record")


test_conformance = conformance_tests(harness)
