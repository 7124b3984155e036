"""Guards: one item beside the rows of each partition, by which it is known that the partition is as it was.

A guard counts the transactions that changed which rows its partition has, or put one over another. Whoever relies on a
walk reads the guard first, and has its count checked again: with the commit, or by a transactional read behind the
walk. Rows that are updated in place (those of versioned tables) do not count: who walked over them has each one checked
by itself.

DynamoDB carries a transaction out item by item: a reader who sees the guard's new count may still miss the new row, for
some milliseconds. So a guard also names the sort keys that were changed last, in a slot for each engine object. Whoever
meets a slot that he does not know reads those very items in a transaction: DynamoDB refuses that for as long as an item
has something to come. From then on the count is *settled*, and all that it counts is seen by every read.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from strongroom.engines.dynamodb.places import GUARD_SORT, Place, key_of
from strongroom.engines.dynamodb.service import Item, Service

COUNT: Final = "_n"
_SLOT: Final = "_s"
"""What the names of slots begin with; a slot is a list: the token of a transaction, and the sort keys it changed."""

_MANY_SLOTS: Final = 8
"""So many slots of others', settled long ago for all one knows, and a change takes them away."""
_MOST_KNOWN: Final = 10_000
"""Of so many partitions the guards are remembered."""


@dataclass(frozen=True, slots=True)
class Known:
    """A guard's count, settled: all that it counts is seen by every read. 0: there is no guard yet."""

    count: int
    others: tuple[str, ...] = ()
    """The slots of other engine objects that it had."""


class Guards:
    """What one engine object knows of the partitions' guards. Threads may share it; one at a time changes guards."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._slot = _new_slot()
        self._known: dict[bytes, Known] = {}
        self._settled: dict[tuple[bytes, str], str] = {}
        """By partition and slot: the token of the last transaction that is known to be carried out."""
        self._lock = threading.Lock()

    def of(self, partition: bytes) -> Known:
        """The guard as it is remembered; read, and settled, where it is not. It may be older than this call."""
        known = self._known.get(partition)
        return self.learn(partition, self._service.get((partition, GUARD_SORT))) if known is None else known

    def learn(self, partition: bytes, guard: Item | None) -> Known:
        """Remember a guard that was just read, and settle it."""
        slots = _slots_of(guard)
        for _settled in self._service.get_together([(partition, sort) for sort in self.unsettled(partition, guard)]):
            pass  # that it answers is what counts
        known = Known(count_of(guard), tuple(sorted(name for name in slots if name != self._slot)))
        with self._lock:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
                self._settled.clear()
            self._known[partition] = known
            self._settled.update(((partition, name), token) for name, (token, _) in slots.items())
        return known

    def unsettled(self, partition: bytes, guard: Item | None) -> list[bytes]:
        """The sort keys of rows that a guard counts, and that a read may miss for all that is known."""
        slots = _slots_of(guard).items()
        unsettled = (sorts for name, (token, sorts) in slots if self._settled.get((partition, name)) != token)
        return [*dict.fromkeys(chain.from_iterable(unsettled))]

    def forget(self, partition: bytes) -> None:
        """Read the guard again before it is relied on."""
        with self._lock:
            self._known.pop(partition, None)

    def has(self, partition: bytes) -> bool:
        """Whether the guard is remembered."""
        return partition in self._known

    def check(self, table: str, partition: bytes, seen: Known) -> Item:
        """The part of a transaction that checks that the guard is as it was seen."""
        return {
            "ConditionCheck": {"TableName": table, "Key": key_of((partition, GUARD_SORT)), **_condition(seen.count)}
        }

    def change(
        self, table: str, partition: bytes, sorts: Sequence[bytes], token: str, known: Known, *, relied_on: bool
    ) -> Item:
        """The part of a transaction that counts one more change, of the rows with these sort keys.

        It checks that the guard is as known where a walk relied on that, where there is none, and where it takes
        slots away.
        """
        checked = is_checked(known, relied_on=relied_on)
        names = {"#n": COUNT, "#s": self._slot}
        values = {":one": {"N": "1"}, ":s": {"L": [{"S": token}, *({"B": sort} for sort in sorts)]}}
        change = "ADD #n :one SET #s = :s"
        part: Item = {"TableName": table, "Key": key_of((partition, GUARD_SORT))}
        if checked:
            condition = _condition(known.count)
            names |= {f"#o{i}": name for i, name in enumerate(known.others)}
            if known.others:
                change += " REMOVE " + ", ".join(f"#o{i}" for i in range(len(known.others)))
            values |= condition.get("ExpressionAttributeValues", {})
            part["ConditionExpression"] = condition["ConditionExpression"]
        part |= {
            "UpdateExpression": change,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        return {"Update": part}

    def changed(self, partition: bytes, known: Known, token: str, *, relied_on: bool) -> None:
        """Take in that a change was carried out and acknowledged; `known` is what it was made from.

        If nobody else changed the guard meanwhile its count is one more now, and settled; if somebody did, it is
        greater than that, and whoever relies on it finds out.
        """
        with self._lock:
            self._settled[partition, self._slot] = token
            if self._known.get(partition) is known:
                self._known[partition] = Known(
                    known.count + 1, () if is_checked(known, relied_on=relied_on) else known.others
                )

    def in_doubt(self) -> None:
        """Leave the slot as it is, and take another: it may be that its last transaction is yet to be carried out."""
        self._slot = _new_slot()


def is_checked(known: Known, *, relied_on: bool) -> bool:
    """Whether a change of a guard demands that it is as known; it takes the slots of others away then."""
    return relied_on or not known.count or len(known.others) > _MANY_SLOTS


def count_of(guard: Item | None) -> int:
    """How many changes a guard counts; 0 where there is none."""
    return int(guard[COUNT]["N"]) if guard else 0


def changed_between(before: Item | None, after: Item | None) -> set[bytes] | None:
    """The sort keys of all rows that were changed between two looks at a guard; None where it does not name them all.

    Each change leaves one slot new: there are as many new ones as changes only if none was written over, or taken away.
    """
    old = _slots_of(before)
    new = [sorts for name, (token, sorts) in _slots_of(after).items() if name not in old or old[name][0] != token]
    return set(chain.from_iterable(new)) if count_of(after) - count_of(before) == len(new) else None


def _slots_of(guard: Item | None) -> dict[str, tuple[str, list[bytes]]]:
    """Each slot's transaction, by its token, and the sort keys that it changed."""
    slots = {name: value["L"] for name, value in (guard or {}).items() if name.startswith(_SLOT)}
    return {name: (str(token["S"]), [bytes(sort["B"]) for sort in sorts]) for name, (token, *sorts) in slots.items()}


def _new_slot() -> str:
    return _SLOT + secrets.token_hex(6)


def _condition(count: int) -> dict[str, Any]:
    if not count:
        return {"ConditionExpression": "attribute_not_exists(#n)", "ExpressionAttributeNames": {"#n": COUNT}}
    return {
        "ConditionExpression": "#n = :n",
        "ExpressionAttributeNames": {"#n": COUNT},
        "ExpressionAttributeValues": {":n": {"N": str(count)}},
    }


def guard_place(partition: bytes) -> Place:
    """Where a partition's guard stands."""
    return partition, GUARD_SORT


def is_guard(place: Place) -> bool:
    """Whether a guard stands at a place."""
    return place[1] == GUARD_SORT
