"""DynamoDB, as far as this engine asks it: one table, one call at a time, tried again while that can help."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import boto3
from botocore.config import Config

from strongroom.engine import Backoff
from strongroom.engines.dynamodb.clock import clock_of
from strongroom.engines.dynamodb.faults import FAULTS, is_conflict, is_passing, translate, translated
from strongroom.engines.dynamodb.places import PARTITION, SORT, Place, key_of, place_in
from strongroom.errors import Conflict, StrongroomError, TooLarge

Item = dict[str, Any]
"""An item's attributes, as DynamoDB writes them: ``{"name": {"S": "text"}}``."""

PAUSES: Final = Backoff(attempts=64, first_ms=10, cap_ms=500)
"""How long to wait before a call is tried again: throttling and running transactions pass within moments."""

MOST_AT_ONCE: Final = 100
"""The most items that DynamoDB takes in one transaction, and gives in one read of many."""

_ANSWER_SECONDS: Final = 10.0
"""How long to wait for one answer; a deadline may be nearer."""


def connect(region: str | None, endpoint: str | None, *, connections: int, timeout_ms: int) -> Any:
    """A client of boto3's that tries nothing again by itself; credentials come from boto3's own chain."""
    config = Config(
        connect_timeout=min(_ANSWER_SECONDS, timeout_ms / 1000),
        read_timeout=min(_ANSWER_SECONDS, timeout_ms / 1000),
        max_pool_connections=connections,
        parameter_validation=False,
        retries={"total_max_attempts": 1},
        user_agent_extra="strongroom",
    )
    session, making = _session(os.getpid())
    with making, translated():
        return session.client("dynamodb", region_name=region, endpoint_url=endpoint, config=config)


@functools.cache
def _session(_process: int) -> tuple[Any, threading.Lock]:
    """This process's session, and a lock, as sessions are for one thread. The first client reads megabytes."""
    return boto3.session.Session(), threading.Lock()


class Service:
    """One table of DynamoDB's. Threads may share it.

    Arguments:
        client: boto3's, see `connect`.
        table: the table's name.
        timeout_ms: for how long a call is tried again that met a passing fault.
    """

    def __init__(self, client: Any, table: str, timeout_ms: int) -> None:
        self.client = client
        self.table = table
        self.timeout = timeout_ms / 1000
        self.clock = clock_of(client.meta.endpoint_url, os.getpid())

    def call(self, operation: str, **arguments: Any) -> Item:
        """What the service answers to a call that may be made more than once.

        Raises `Unavailable` where it gives none within the timeout, `Conflict` where that is because transactions
        were always under way on what was asked for, and the translated fault where another try can't help.
        """
        deadline = time.monotonic() + self.timeout
        attempt = 0
        while True:
            try:
                return self.once(operation, **arguments)
            except FAULTS as fault:
                pause = PAUSES.pause(attempt)
                if not is_passing(fault) or time.monotonic() + pause > deadline:
                    raise given_up(fault) from fault
            time.sleep(pause)
            attempt += 1

    def once(self, operation: str, **arguments: Any) -> Item:
        """As `call`, but once, and with the driver's own faults."""
        sent = time.monotonic()
        method: Callable[..., Item] = getattr(self.client, operation)
        answer = method(**arguments)
        headers = answer["ResponseMetadata"].get("HTTPHeaders", {})
        self.clock.learn(headers.get("date"), sent)
        return answer

    def get(self, place: Place) -> Item | None:
        """The item at a place, as the last write left it."""
        answer = self.call("get_item", TableName=self.table, Key=key_of(place), ConsistentRead=True)
        return answer.get("Item")

    def get_many(self, places: Sequence[Place]) -> dict[Place, Item]:
        """The items at many places, as the last write left each; those that are not there are left out."""
        found: dict[Place, Item] = {}
        if len(places) == 1:
            item = self.get(places[0])
            return {} if item is None else {places[0]: item}
        for some in in_lots(places):
            asked: list[Item] = [key_of(place) for place in some]
            while asked:
                answer = self.call("batch_get_item", RequestItems={self.table: {"Keys": asked, "ConsistentRead": True}})
                found.update((place_in(item), item) for item in answer["Responses"].get(self.table, ()))
                asked = answer.get("UnprocessedKeys", {}).get(self.table, {}).get("Keys", [])
        return found

    def get_together(self, places: Sequence[Place]) -> Iterator[dict[Place, Item | None]]:
        """The items at places, None for each that is not there, by as few transactions as hold them.

        What one answers is from one moment, when nothing was under way at any of its places.
        """
        for some in in_lots(places):
            yield from self._get_lot(some)

    def _get_lot(self, places: Sequence[Place]) -> Iterator[dict[Place, Item | None]]:
        gets = [{"Get": {"TableName": self.table, "Key": key_of(place)}} for place in places]
        try:
            answer = self.call("transact_get_items", TransactItems=gets)
        except TooLarge:
            if len(places) == 1:
                raise
            half = len(places) // 2  # 4 MiB are the most
            yield from self._get_lot(places[:half])
            yield from self._get_lot(places[half:])
        else:
            yield {place: each.get("Item") for place, each in zip(places, answer["Responses"], strict=True)}

    def query(self, partition: bytes, low: bytes, high: bytes, *, limit: int, reverse: bool) -> Iterator[Item]:
        """The items of a partition with sort keys from `low` to `high`, both included, asked for `limit` at a time."""
        condition = {
            "KeyConditionExpression": "#p = :p AND #k BETWEEN :low AND :high",
            "ExpressionAttributeNames": {"#p": PARTITION, "#k": SORT},
            "ExpressionAttributeValues": {":p": {"B": partition}, ":low": {"B": low}, ":high": {"B": high}},
            "ScanIndexForward": not reverse,
        }
        for answer in self._pages(condition, limit):
            yield from answer["Items"]

    def count(self, partition: bytes, beginning: bytes, limit: int) -> int:
        """How many items of a partition have sort keys that begin so, counted no further than `limit`."""
        condition = {
            "KeyConditionExpression": "#p = :p AND begins_with(#k, :k)",
            "ExpressionAttributeNames": {"#p": PARTITION, "#k": SORT},
            "ExpressionAttributeValues": {":p": {"B": partition}, ":k": {"B": beginning}},
            "Select": "COUNT",
        }
        count = 0
        for answer in self._pages(condition, limit):
            count += answer["Count"]
            if count >= limit:
                return limit
        return count

    def _pages(self, condition: Item, limit: int) -> Iterator[Item]:
        begin: Item = {}
        while True:
            answer = self.call("query", TableName=self.table, ConsistentRead=True, Limit=limit, **condition, **begin)
            yield answer
            if not answer.get("LastEvaluatedKey"):
                return
            begin = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def given_up(fault: Exception) -> StrongroomError:
    """The fault of a call that was tried for as long as it may be, or can't be helped."""
    if is_conflict(fault):
        return Conflict("DynamoDB: other transactions always had what this one reads")
    return translate(fault)


def in_lots(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    """The places, as many at a time as one call takes."""
    for start in range(0, len(places), MOST_AT_ONCE):
        yield places[start : start + MOST_AT_ONCE]
