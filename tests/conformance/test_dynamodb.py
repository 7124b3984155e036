"""The DynamoDB engine, against the contract, on Amazon's DynamoDB Local (or moto: the run's header says which)."""

from __future__ import annotations

import pytest

from strongroom.conformance import UrlHarness, conformance_tests

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of tables, each call over HTTP to a Java program

test_conformance = conformance_tests(lambda _folder, dynamodb: UrlHarness(dynamodb.url("conformance")))
