"""No read is older than what was acknowledged before it (R1), also where no server for tests is ever behind.

What can't be brought about is seen in the requests: etcd is to agree upon every read that names no revision, and
DynamoDB to read consistently.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from servers.dynamodb import DynamoAddress
from servers.etcd import store_url
from servers.server import Address
from strongroom.conformance.mutants.registry import find
from strongroom.engine import Engine
from strongroom.engines.dynamodb import DynamoEngine
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import RangeRequest, TxnRequest
from tests.engines.shelf import BOOKS, LOANS, SHELF, Book, Loan


def use(engine: Engine) -> None:
    """Every way to read, and to read in a transaction."""
    engine.prepare(SHELF)
    name = secrets.token_hex(4)
    engine.insert(BOOKS, Book("maps", name))
    engine.insert(LOANS, Loan("maps", name))
    engine.get(BOOKS, "maps", name)
    engine.get_many(BOOKS, [("maps", name), ("maps", "globe")])
    engine.scan(BOOKS, "maps", limit=5)
    engine.scan(LOANS, "maps", limit=5, reverse=True)
    engine.count(BOOKS, limit=5)
    engine.update(BOOKS, Book("maps", name, version=2), expect=1)
    engine.update(BOOKS, Book("maps", name, version=3), expect=2)
    engine.read(lambda reader: (reader.get(BOOKS, "maps", name), reader.scan(LOANS, "maps", limit=5)))
    engine.write(lambda tx: (tx.get_many(BOOKS, [("maps", name), ("maps", "globe")]), tx.delete(LOANS, "maps", name)))


def check_etcd(url: str) -> None:
    asked: list[RangeRequest] = []
    ask = Members._ask

    def watched(members: Members, path: str, request: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(request, RangeRequest):
            asked.append(request)
        elif isinstance(request, TxnRequest):
            asked.extend(one.request_range for one in [*request.success, *request.failure] if one.request_range.key)
        return ask(members, path, request, *rest, **options)

    with pytest.MonkeyPatch.context() as patch, strongroom.open(url) as engine:
        patch.setattr(Members, "_ask", watched)
        use(engine)
    newest = [request for request in asked if not request.revision]
    assert len(newest) > 8
    assert not any(request.serializable for request in newest)


def check_dynamodb(url: str) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []
    with strongroom.open(url) as engine:
        assert isinstance(engine, DynamoEngine)
        service = engine._store.service
        service.client.meta.events.register(
            "provide-client-params.dynamodb", lambda params, model, **_: sent.append((model.name, params))
        )
        use(engine)
    single = [params for name, params in sent if name in ("GetItem", "Query")]
    many = [asked for name, params in sent if name == "BatchGetItem" for asked in params["RequestItems"].values()]
    many = [asked for asked in many if isinstance(asked, dict)]
    assert len(single) > 5
    assert many
    assert all(params.get("ConsistentRead") for params in [*single, *many])


def noticed(mutant: str, check: Callable[[], None]) -> None:
    check()
    with pytest.raises(AssertionError), find(mutant).loose() as patches:
        check()
    assert patches.ran


def test_etcd_agrees_upon_every_read_of_what_is_newest(etcd: Address) -> None:
    noticed("etcd-reads-are-serializable", lambda: check_etcd(store_url([etcd], f"newest-{secrets.token_hex(6)}")))


def test_dynamodb_reads_consistently(dynamodb: DynamoAddress) -> None:
    url = dynamodb.url(f"newest-{secrets.token_hex(6)}")
    noticed("dynamodb-reads-are-eventually-consistent", lambda: check_dynamodb(url))
