"""Into a store in DynamoDB, through boto3's own resources: it shares no code with the engine."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from typing import Any, Final

from strongroom.conformance.backdoors.door import UnguardedBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.wires.dynamodb import Traffic
from strongroom.errors import Unavailable, Unsupported
from strongroom.records import SEAL, AnyTable, Key, Stored, encode_key

_LONG: Final = 991
"""Of the rest of a key so many bytes are kept in the sort key, before a digest, if it is longer."""


class DynamoBackDoor(UnguardedBackDoor):
    """Into the table `name`. `traffic` is what the proxy looks at."""

    def __init__(self, region: str | None, endpoint: str | None, name: str, traffic: Traffic) -> None:
        self._client = _session().client("dynamodb", region_name=region, endpoint_url=endpoint)
        self._name = name
        self._traffic = traffic

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        item = self._client.get_item(TableName=self._name, Key=self._place(table, key), ConsistentRead=True).get("Item")
        if item is None:
            return None
        # A row from before a column was added has none of it.
        row: dict[str, Stored] = {
            column.name: column.stored_default() for column in table.columns if column.since > table.since
        }
        row |= {name: _plain(name, table, item[name]) for name in [*table.index, SEAL] if name in item}
        return row

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        self._client.update_item(
            TableName=self._name,
            Key=self._place(table, key),
            UpdateExpression="SET #c = :v",
            ExpressionAttributeNames={"#c": column},
            ExpressionAttributeValues={":v": _attribute(value)},
        )
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        self._client.delete_item(TableName=self._name, Key=self._place(table, key))

    def exists(self) -> bool:
        try:
            self._client.describe_table(TableName=self._name)
        except self._client.exceptions.ResourceNotFoundException:
            return False
        except _unanswered() as fault:
            raise Unavailable(f"DynamoDB does not answer: {fault}") from fault
        return True

    def drop(self) -> None:
        with contextlib.suppress(self._client.exceptions.ResourceNotFoundException):
            self._client.delete_table(TableName=self._name)

    def image(self) -> bytes:
        try:
            pages = self._client.get_paginator("scan").paginate(TableName=self._name, ConsistentRead=True)
            items = [repr(sorted(item.items())) for page in pages for item in page["Items"]]
        except self._client.exceptions.ResourceNotFoundException:
            return b""
        return "\n".join(sorted(items)).encode()

    def flushes(self) -> int:
        return self._traffic.acknowledged

    @contextlib.contextmanager
    def failing(self, fault: Ability) -> Iterator[None]:
        self._traffic.fault = fault
        try:
            yield
        finally:
            self._traffic.fault = None

    def close(self) -> None:
        self._client.close()

    def _place(self, table: AnyTable, key: Key) -> dict[str, Any]:
        scope = encode_key(table, key[: table.scope])
        rest = encode_key(table, key)[len(scope) :]
        if len(rest) > _LONG:
            rest = rest[:_LONG] + hashlib.blake2b(rest, digest_size=32).digest()
        return {"_p": {"B": table.name.encode() + b"\0" + scope}, "_k": {"B": b"\1" + rest}}


@functools.cache
def _session() -> Any:
    """What makes clients; it takes a while to be made itself."""
    try:
        import boto3
    except ImportError as missing:
        raise Unsupported(f"{missing}: pip install 'strongroom[dynamodb]' brings the driver") from missing
    return boto3.session.Session()


def _unanswered() -> type[Exception]:
    from botocore.exceptions import BotoCoreError

    unanswered: type[Exception] = BotoCoreError
    return unanswered


def _plain(name: str, table: AnyTable, attribute: dict[str, Any]) -> Stored:
    ((tag, value),) = attribute.items()
    match tag:
        case "NULL":
            return None
        case "N":
            return int(value)
        case "S" if name in table.index and table.columns[table.index[name]].storage == "real":
            with contextlib.suppress(ValueError):  # it was tampered with
                return float(value)
            return str(value)
        case _:
            plain: Stored = value
            return plain


def _attribute(value: Stored) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case str():
            return {"S": value}
        case float():
            return {"S": repr(value)}
        case int():
            return {"N": str(value)}
        case _:
            return {"B": value}
