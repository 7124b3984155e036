"""DynamoDB Local, and boto3 as its raw driver: one client, one call at a time, on the tables that Strongroom made.

DynamoDB Local keeps its tables in memory here and flushes nothing: what is compared is the work of both sides. The raw
side writes bare items by conditional puts, and in its write transaction by the same `TransactWriteItems` that ours
needs; it keeps no guards and no marks.
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from bench.measure import at_least, at_most
from bench.remote.raw import ENTRY, JOB, Admin, Kind, Raw, started
from bench.tables import ENTRIES, JOBS, QUEUE
from servers.dynamodb import CREDENTIALS, any_dynamodb
from servers.server import Server
from strongroom.engine import Engine
from strongroom.engines.dynamodb.changes import ABSENT, has
from strongroom.engines.dynamodb.items import TableItems
from strongroom.engines.dynamodb.places import PARTITION, SORT, Place, key_of, place_of
from strongroom.engines.dynamodb.service import Item, connect

_jobs: Final = TableItems(JOBS)
_entries: Final = TableItems(ENTRIES)
_COLUMNS: Final = [column.name for column in JOBS.columns]
_BEHIND_ROWS: Final = b"\x02"


class RawDynamo(Raw):
    """One client of boto3's."""

    def __init__(self, address: str, table: str) -> None:
        said = parse_qs(urlsplit(address).query)
        self._client = connect(said["region"][0], said["endpoint"][0], connections=1, timeout_ms=30_000)
        self._table = table
        self._stream = f"plain {secrets.token_hex(8)}"
        self._numbers = itertools.count(1)

    def read(self, id: str) -> Any:
        item = self._get(_place(id))
        return None if item is None else _values(item)

    def page(self, after: str, limit: int) -> Any:
        partition, sort = _place(after)
        answer = self._client.query(
            TableName=self._table,
            ConsistentRead=True,
            Limit=limit,
            KeyConditionExpression="#p = :p AND #k BETWEEN :low AND :high",
            ExpressionAttributeNames={"#p": PARTITION, "#k": SORT},
            ExpressionAttributeValues={
                ":p": {"B": partition},
                ":low": {"B": sort + b"\0"},
                ":high": {"B": _BEHIND_ROWS},
            },
        )
        return [_values(item) for item in answer["Items"]]

    def insert(self, id: str) -> None:
        item = _jobs.item(_place(id), (QUEUE, id, *JOB[2:]), "")
        self._client.put_item(TableName=self._table, Item=item, **ABSENT)

    def change(self, id: str) -> None:
        item = self._get(_place(id))
        assert item is not None
        version = item["version"]
        changed = {**item, "version": {"N": str(int(version["N"]) + 1)}}
        put = {"Put": {"TableName": self._table, "Item": changed, **has("version", version)}}
        self._client.transact_write_items(TransactItems=[put])

    def append(self) -> None:
        position = next(self._numbers)
        item = _entries.item(place_of(ENTRIES, (self._stream, position)), (self._stream, position, *ENTRY[2:]), "")
        self._client.put_item(TableName=self._table, Item=item, **ABSENT)

    def close(self) -> None:
        self._client.close()

    def _get(self, place: Place) -> Item | None:
        answer = self._client.get_item(TableName=self._table, Key=key_of(place), ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item


def _place(id: str) -> Place:
    return place_of(JOBS, (QUEUE, id))


def _values(item: Item) -> tuple[Any, ...]:
    return tuple(next(iter(item[name].values())) for name in _COLUMNS)


class DynamoAdmin(Admin):
    """What is known of the server of this run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def flush(self, ask: Callable[[str], Any]) -> str:
        return "in memory, nothing is flushed"

    def database(self, name: str) -> None:
        """A store makes its own table."""

    def tidy(self, store: str) -> None:
        """There is nothing to look at."""

    def plain_log(self, store: str) -> None:
        """It is a stream of its own in the table of entries."""

    def about(self) -> str:
        return f"{self._name}: {self.flush(str)}"

    def close(self) -> None:
        """Nothing is open."""


class DynamoKind(Kind):
    """DynamoDB: a store is a table of its."""

    group = "dynamodb"
    batch = 90
    read_goal = at_most(1.3)
    transaction_goal = at_most(1.4)
    writers_goal = at_least(2)

    def start(self) -> Server:
        os.environ.update(CREDENTIALS)  # nobody's own may be sent there
        return started(any_dynamodb)

    def store_url(self, address: str, store: str) -> str:
        return f"dynamodb://{store}?{urlsplit(address).query}"

    def connect(self, address: str, store: str) -> Raw:
        return RawDynamo(address, store)

    def administer(self, address: str) -> Admin:
        return DynamoAdmin("DynamoDB Local")

    def connections(self, room: Engine) -> int:
        return 1  # its inserts take turns


DYNAMODB: Final = DynamoKind()
