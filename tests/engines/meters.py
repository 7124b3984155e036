"""What an engine is seen to ask of its database: each request, round trip or statement, by name.

Each meter sits where a call leaves the engine, so that what it counts is what a network, or SQLite, has to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import apsw
import pytest

from strongroom.engine import Engine
from strongroom.engines.dynamodb import DynamoEngine
from strongroom.engines.dynamodb.items import size_of
from strongroom.engines.etcd.engine import EtcdEngine
from strongroom.engines.etcd.members import Members
from strongroom.engines.mysql.link import Link as MysqlLink
from strongroom.engines.postgres.link import Link as PostgresLink

Asked = list[str]
"""The names of what was asked, in order. Whoever counts clears it before."""


def of_memory(engine: Engine, patch: pytest.MonkeyPatch) -> Asked:
    """Transactions of the memory engine: snapshots, and commits."""
    asked: Asked = []
    for name in ("_read", "_write"):
        patch.setattr(engine, name, _noting(asked, name[1:], getattr(engine, name)))
    return asked


@contextmanager
def of_sqlite() -> Iterator[Asked]:
    """Statements on every connection that is opened within, each by its first word."""
    asked: Asked = []

    def note(event: dict[str, Any]) -> None:
        if not event["trigger"]:
            asked.append(_word(event["sql"]))

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    apsw.connection_hooks.append(watch)
    try:
        yield asked
    finally:
        apsw.connection_hooks.remove(watch)


def of_postgres(patch: pytest.MonkeyPatch) -> Asked:
    """Round trips, each by the first words of the statements that it carries."""
    asked: Asked = []
    trip = PostgresLink.trip

    def watched(link: PostgresLink, *calls: Any) -> Any:
        asked.append(_trip([statement.text.decode() for statement, _ in calls]))
        return trip(link, *calls)

    patch.setattr(PostgresLink, "trip", watched)
    return asked


def of_mysql(patch: pytest.MonkeyPatch) -> Asked:
    """Round trips, each by the first words of the statements that it carries."""
    asked: Asked = []
    trip = MysqlLink.trip

    def watched(link: MysqlLink, statements: Sequence[str]) -> Any:
        asked.append(_trip(statements))
        return trip(link, statements)

    patch.setattr(MysqlLink, "trip", watched)
    return asked


def of_etcd(engine: Engine, patch: pytest.MonkeyPatch) -> Asked:
    """Calls of the members of a cluster, by their names in etcd's API."""
    assert isinstance(engine, EtcdEngine)
    asked: Asked = []
    ask, ours = Members._ask, engine._members

    def watched(members: Members, path: str, *arguments: Any, **options: Any) -> Any:
        if members is ours:
            asked.append(path.rpartition("/")[2])
        return ask(members, path, *arguments, **options)

    patch.setattr(Members, "_ask", watched)
    return asked


@dataclass(slots=True)
class Units:
    """What DynamoDB charges for calls, in units of reading and of writing."""

    read: float = 0
    written: float = 0


def of_dynamodb(engine: Engine) -> tuple[Asked, Units]:
    """Requests, by the names of DynamoDB's operations, and what is charged for them.

    Units of reading are what the service says. DynamoDB Local counts a transaction's writes as if they were none, so
    these are counted as the service charges them: two for each item, which has to be of one kilobyte at most.
    """
    assert isinstance(engine, DynamoEngine)
    asked: Asked = []
    units = Units()

    def ask(params: dict[str, Any], model: Any, **_: Any) -> None:
        asked.append(model.name)
        if model.name == "TransactWriteItems":
            assert all(size_of(part["Put"]["Item"]) <= 1000 for part in params["TransactItems"] if "Put" in part)
            units.written += 2 * len(params["TransactItems"])
        elif "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def learn(parsed: dict[str, Any], **_: Any) -> None:
        said = parsed.get("ConsumedCapacity", [])
        units.read += sum(one["CapacityUnits"] for one in (said if isinstance(said, list) else [said]))

    events = engine._store.service.client.meta.events
    events.register("provide-client-params.dynamodb", ask)
    events.register("after-call.dynamodb", learn)
    return asked, units


def _noting(asked: Asked, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        asked.append(name)
        return call(*arguments)

    return noted


def _word(statement: str) -> str:
    return statement.split(None, 1)[0].rstrip(";").upper()


def _trip(statements: Sequence[str]) -> str:
    return " ".join(_word(statement) for statement in statements)
