"""The memory engine, held to the contract."""

from __future__ import annotations

from strongroom.conformance import UrlHarness, conformance_tests

test_conformance = conformance_tests(lambda _folder: UrlHarness("memory://conformance"))
