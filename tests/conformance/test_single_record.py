"""The test engine of single-record strength, held to what is left of the contract for it."""

from __future__ import annotations

from strongroom.conformance import SingleRecordEngine, UrlHarness, WrappedHarness, conformance_tests

test_conformance = conformance_tests(
    lambda _folder: WrappedHarness(UrlHarness("memory://single-record"), SingleRecordEngine, name="single-record")
)
