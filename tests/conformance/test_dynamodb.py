"""The DynamoDB engine, against the contract, on Amazon's DynamoDB Local (or moto: the run's header says which)."""

from __future__ import annotations

import pytest

from servers.server import Address
from strongroom.conformance import Harness, UrlHarness, conformance_tests, select

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of tables, each call over HTTP to a Java program


def store(_folder: object, dynamodb: Address) -> Harness:
    return UrlHarness(dynamodb.url("conformance"))


test_conformance = conformance_tests(store, cases=[one.name for one in select()])

test_slow_cases = pytest.mark.long(conformance_tests(store, cases=[one.name for one in select(slow=True) if one.slow]))
