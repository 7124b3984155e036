"""The one DynamoDB table of a store, and the list of Strongroom's tables in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.engines.dynamodb.faults import FAULTS, code_of, translate
from strongroom.engines.dynamodb.places import PARTITION, SORT, TABLES, key_of, sort_key
from strongroom.engines.dynamodb.service import Item, Service
from strongroom.engines.dynamodb.transactions import EXPIRES
from strongroom.errors import InvalidArgument, StrongroomError, Unavailable
from strongroom.records import AnyTable, Column

_NOT_THERE: Final = "ResourceNotFoundException"
_OTHER_KEY: Final = "ValidationException"
"""What a query by our key is told of a table that has another one."""
_MOST: Final = 1000
_MOST_WRITTEN: Final = 25
"""The most items that DynamoDB takes in one write of many."""
_PAUSE: Final = 0.2
"""Seconds between two looks at a table that is being made."""


class Tables:
    """Which tables the store has. They are never taken away, so that those once seen are remembered."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: frozenset[str] = frozenset()

    def names(self) -> set[str]:
        """The names of the tables that the store has now; none where there is no store."""
        try:
            found = self._service.query(TABLES, sort_key(b""), b"\xff", limit=_MOST, reverse=False)
            names = {item["name"]["S"] for item in found}
        except StrongroomError as fault:
            if code_of_cause(fault) == _NOT_THERE:
                return set()
            if code_of_cause(fault) == _OTHER_KEY:
                raise self._foreign() from fault
            raise
        self._known |= names
        return names

    def know(self, table: AnyTable) -> None:
        """Raises `InvalidArgument` for a table that the store has not."""
        if table.name not in self._known and table.name not in self.names():
            raise InvalidArgument(f"{table.name}: no such table; prepare its schema first")

    def expect(self, table: AnyTable) -> None:
        """Take a table for one that the store has: it is being made."""
        self._known |= {table.name}

    def forget(self) -> None:
        """Look again which tables there are, before any of them is used."""
        self._known = frozenset()

    def note(self, notes: Sequence[Note]) -> None:
        """Write tables down with their columns, or find them written down: the same once more does no harm (M3)."""
        for start in range(0, len(notes), _MOST_WRITTEN):
            items = [{"PutRequest": {"Item": note.item}} for note in notes[start : start + _MOST_WRITTEN]]
            asked = {self._service.table: items}
            while asked:
                asked = self._service.call("batch_write_item", RequestItems=asked).get("UnprocessedItems", {})

    def make_store(self) -> None:
        """Make the DynamoDB table, or find it made, and wait until it can be used.

        It is paid by request, and removes what has expired. Raises `InvalidArgument` for a table of another make.
        """
        service = self._service
        deadline = time.monotonic() + service.timeout
        while (found := self.describe()) is None or found.get("TableStatus") != "ACTIVE":
            if found is None:
                self._create_store()
            if time.monotonic() > deadline:
                raise Unavailable(f"DynamoDB: the table {service.table} is not ready; try again in a minute")
            time.sleep(_PAUSE if found is not None else 0)
        keys = [(key["AttributeName"], key["KeyType"]) for key in found["KeySchema"]]
        if keys != [(PARTITION, "HASH"), (SORT, "RANGE")]:
            raise self._foreign()
        if not self._removes_expired():
            try:
                service.once(
                    "update_time_to_live",
                    TableName=service.table,
                    TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES},
                )
            except FAULTS as fault:
                if not self._removes_expired():  # else another engine was first
                    raise translate(fault) from fault

    def describe(self) -> Item | None:
        """What the service says of the DynamoDB table; None where there is none."""
        try:
            described: Item = self._service.call("describe_table", TableName=self._service.table)["Table"]
        except InvalidArgument as fault:
            if code_of_cause(fault) != _NOT_THERE:
                raise
            return None
        return described

    def _foreign(self) -> InvalidArgument:
        return InvalidArgument(f"DynamoDB: the table {self._service.table} is another program's; nothing was changed")

    def _removes_expired(self) -> bool:
        told = self._service.call("describe_time_to_live", TableName=self._service.table)["TimeToLiveDescription"]
        return told.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")

    def _create_store(self) -> None:
        try:
            self._service.once(
                "create_table",
                TableName=self._service.table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "B"} for name in (PARTITION, SORT)],
                KeySchema=[
                    {"AttributeName": PARTITION, "KeyType": "HASH"},
                    {"AttributeName": SORT, "KeyType": "RANGE"},
                ],
            )
        except FAULTS as fault:
            if code_of(fault) != "ResourceInUseException":  # another engine makes it at this moment
                raise translate(fault) from fault


@dataclass(frozen=True, slots=True)
class Note:
    """What is written down of a table: its key and columns, for whoever looks."""

    table: AnyTable
    columns: Sequence[Column]

    @property
    def item(self) -> Item:
        """The table's item in the list of tables."""
        key = [("-" if part.descending else "") + part.column.name for part in self.table.key]
        return {
            **key_of((TABLES, sort_key(self.table.name.encode()))),
            "name": {"S": self.table.name},
            "key": {"L": [{"S": name} for name in key]},
            "columns": {"L": [{"S": f"{column.name} {column.storage}"} for column in self.columns]},
        }


def code_of_cause(fault: Exception) -> str:
    """The service's code for what a translated fault came from."""
    cause = fault.__cause__
    return code_of(cause) if isinstance(cause, Exception) else ""
