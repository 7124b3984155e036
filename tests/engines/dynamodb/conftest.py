"""Stores in the run's DynamoDB, each a table of its own that goes with its test."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

import strongroom
from servers.dynamodb import DynamoAddress
from strongroom.engines.dynamodb import DynamoEngine
from strongroom.records import Schema
from tests.engines.shelf import SHELF

Open = Callable[..., DynamoEngine]


@pytest.fixture
def open_store(dynamodb: DynamoAddress) -> Iterator[Open]:
    """Opens one engine object more on the test's store, prepared for a schema."""
    name = f"test-{secrets.token_hex(6)}"
    opened: list[DynamoEngine] = []

    def open_one(schema: Schema = SHELF, **options: str) -> DynamoEngine:
        engine = strongroom.open(dynamodb.url(name, **options))
        assert isinstance(engine, DynamoEngine)
        opened.append(engine)
        engine.prepare(schema)
        return engine

    yield open_one
    for engine in opened[1:]:
        engine.close()
    opened[0]._store.service.client.delete_table(TableName=name)
    opened[0].close()


@pytest.fixture
def store(open_store: Open) -> DynamoEngine:
    """One engine object on the test's store."""
    return open_store()
