"""One transaction's request: the rows it writes, what it checks, and the guards of the partitions it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from strongroom.engines.dynamodb.guards import Known
from strongroom.engines.dynamodb.items import WRITTEN
from strongroom.engines.dynamodb.places import (
    PARTITION,
    REST,
    Place,
    directory_of,
    is_cut,
    key_of,
    place_of,
    sort_key,
)
from strongroom.engines.dynamodb.reading import Store
from strongroom.engines.dynamodb.service import Item
from strongroom.engines.dynamodb.transactions import Refused, new_token
from strongroom.errors import CommitUnknown, StrongroomError
from strongroom.records import AnyTable, Key, Row, encode_key

Condition = Mapping[str, Any]

ANY: Final[Condition] = {}
"""No condition."""
ABSENT: Final[Condition] = {
    "ConditionExpression": "attribute_not_exists(#p)",
    "ExpressionAttributeNames": {"#p": PARTITION},
}
PRESENT: Final[Condition] = {
    "ConditionExpression": "attribute_exists(#p)",
    "ExpressionAttributeNames": {"#p": PARTITION},
}


def has(attribute: str, value: Item) -> Condition:
    """The condition that an item is there with this value of an attribute."""
    return {
        "ConditionExpression": "#a = :a",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":a": value},
    }


def written_by(token: str) -> Condition:
    """The condition that a row is as the transaction `token` left it; absent, if that is empty."""
    return has(WRITTEN, {"S": token}) if token else ABSENT


class Request:
    """One transaction's request, put together part by part, and sent once.

    Arguments:
        store: the engine's way to the store.
        relied: the partitions that were walked over, and their guards before that.
    """

    def __init__(self, store: Store, relied: Mapping[bytes, Known] | None = None) -> None:
        self.token = new_token()
        self._store = store
        self._table = store.service.table
        self._guards = store.guards
        self._relied = relied or {}
        self._parts: list[Item] = []
        self._changed: dict[bytes, list[bytes]] = {}
        """The sort keys that are changed in each partition whose guard is to count that."""
        self._new: dict[bytes, tuple[AnyTable, bytes]] = {}
        """The table and scope of each of these partitions, which may be new."""
        self._of_guards: dict[int, bytes] = {}
        """The parts that are guards, and of which partition."""

    def write(self, table: AnyTable, key: Key, row: Row, condition: Condition, *, in_place: bool) -> int:
        """Keep a row; answers the part's number. `in_place`: over one that is there, in a versioned table."""
        place = place_of(table, key)
        if not in_place:
            self._count(table, key, place)
        return self._add("Put", {"Item": self._store.items[table].item(place, row, self.token), **condition})

    def remove(self, table: AnyTable, key: Key, condition: Condition) -> int:
        """Remove a row; answers the part's number."""
        place = place_of(table, key)
        self._count(table, key, place)
        return self._add("Delete", {"Key": key_of(place), **condition})

    def check(self, place: Place, condition: Condition) -> int:
        """Check a row that is left as it is; answers the part's number."""
        return self._add("ConditionCheck", {"Key": key_of(place), **condition})

    def send(self, kept: Callable[[], None] = lambda: None) -> None:
        """Send it; raises as `Transactions.send`. Guards that were not as known are read again next time."""
        before = self._add_guards()
        try:
            self._store.transactions.send(self._parts, self.token, kept)
        except Refused as refused:
            for part in refused.parts:
                if part in self._of_guards:
                    self._guards.forget(self._of_guards[part])
            raise
        except BaseException as fault:
            if isinstance(fault, CommitUnknown) or not isinstance(fault, StrongroomError):
                self._guards.in_doubt()
            raise
        for partition, known in before.items():
            self._guards.changed(partition, known, self.token, relied_on=partition in self._relied)

    def _add(self, action: str, part: Item) -> int:
        self._parts.append({action: {"TableName": self._table, **part}})
        return len(self._parts) - 1

    def _count(self, table: AnyTable, key: Key, place: Place) -> None:
        if place[0] not in self._changed:
            self._new[place[0]] = table, encode_key(table, key[: table.scope])
        self._changed.setdefault(place[0], []).append(place[1])

    def _add_guards(self) -> dict[bytes, Known]:
        """Add the guards; answers those that are changed, as they are known."""
        known: dict[bytes, Known] = {}
        for partition, (table, scope) in self._new.items():
            known[partition] = self._guard(partition)
            if not known[partition].count and table.scope:
                self._list(table, scope)
        for partition, sorts in self._changed.items():
            if partition not in known:
                known[partition] = self._guard(partition)
            relied = partition in self._relied
            part = self._guards.change(self._table, partition, sorts, self.token, known[partition], relied_on=relied)
            self._of_guards[len(self._parts)] = partition
            self._parts.append(part)
        for partition, seen in self._relied.items():
            if partition not in self._changed:
                self._of_guards[len(self._parts)] = partition
                self._parts.append(self._guards.check(self._table, partition, seen))
        return known

    def _guard(self, partition: bytes) -> Known:
        return self._relied.get(partition) or self._guards.of(partition)

    def _list(self, table: AnyTable, scope: bytes) -> None:
        """Enter a new partition into its table's directory."""
        directory = directory_of(table)
        sort = sort_key(scope)
        entry: Item = {**key_of((directory, sort)), **({REST: {"B": scope}} if is_cut(sort) else {})}
        self._add("Put", {"Item": entry})
        self._changed.setdefault(directory, []).append(sort)
