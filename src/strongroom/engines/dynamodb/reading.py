"""Reading the store, and remembering what was read, so that it can be checked to have been so at one moment (R2, T2).

DynamoDB has no snapshots. What a function reads is read piece by piece and noted: each row by the token of the write
that left it, each absent row, and for each walk the guards of its partitions, which were read before. If all of that is
unchanged when everything has been read, all of it was so at the moment between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from strongroom.engine import Rows
from strongroom.engines.dynamodb.guards import COUNT, Guards, Known, guard_place
from strongroom.engines.dynamodb.items import WRITTEN, Items
from strongroom.engines.dynamodb.places import (
    Place,
    Span,
    directory_of,
    partition_of,
    place_in,
    place_of,
    rest_of,
    scopes_within,
    span_within,
)
from strongroom.engines.dynamodb.service import MOST_AT_ONCE, Item, Service
from strongroom.engines.dynamodb.walks import count, walk
from strongroom.records import NEVER, AnyTable, Key, KeyRange, Row, encode_key

MOST_LISTED: Final = 1000
"""So many of a table's partitions are listed at a time."""


def written(item: Item | None) -> str:
    """The token of the write that left an item; empty where there is none."""
    return "" if item is None else str(item.get(WRITTEN, {}).get("S", ""))


class Reading(Rows):
    """What one function, or one group of them, reads.

    Arguments:
        service, guards, items: the engine's.
        know: raises `InvalidArgument` for a table that the store has not.
        together: whether many rows are read from one moment, as what nothing is written with must be.
    """

    def __init__(
        self,
        service: Service,
        guards: Guards,
        items: Items,
        know: Callable[[AnyTable], None],
        *,
        together: bool,
    ) -> None:
        self._service = service
        self._guards = guards
        self._items = items
        self._know = know
        self._together = together
        self.seen: dict[Place, str] = {}
        """What wrote each row that has to be checked: those that were read by their keys or can be updated in place.
        Empty for a row that was not there."""
        self.relied: dict[bytes, Known] = {}
        """The partitions that were walked over or counted, and their guards as they were before."""
        self.torn = False
        """Whether a row was seen to change."""
        self._moments = 0
        """From how many moments things were read."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._know(table)
        place = place_of(table, key)
        item = self._service.get(place)
        self._moments += 1
        self._note(table, place, item)
        return None if item is None else self._items[table].row(item, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        self._know(table)
        places = [place_of(table, key) for key in keys]
        wanted = list(dict.fromkeys(places))
        if not wanted:
            return []
        found = self._service.get_together(wanted) if self._together else self._service.get_many(wanted)
        self._moments += 1 if self._together and len(wanted) <= MOST_AT_ONCE else 2
        for place in wanted:
            self._note(table, place, found.get(place))
        rows = self._items[table]
        return [rows.row(found[p], k) if p in found else None for p, k in zip(places, keys, strict=True)]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        self._know(table)
        rows: list[Row] = []
        for item in islice(self._walk(table, wanted), wanted.limit):
            if table.changes.update:
                self._note(table, place_in(item), item)
            rows.append(self._items[table].row(item))
        return rows

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._know(table)
        wanted = KeyRange(prefix, None, False, None, False, limit)
        whole = encode_key(table, prefix)
        total = 0
        for partition, scope, _ in self._partitions(table, wanted):
            rest = whole[len(scope) :] if len(prefix) >= table.scope else b""
            total += count(self._service, partition, rest, limit - total)
            if total >= limit:
                break
        return total

    def holds(self) -> bool:
        """Whether all that was read was so at one moment: that when the last of it had been read."""
        if self.torn:
            return False
        if self._moments < 2 and not self.relied:
            return True
        places = [*self.seen, *map(guard_place, self.relied)]
        found = self._service.get_together(places)
        holds = all(written(found.get(place)) == token for place, token in self.seen.items())
        for partition, known in self.relied.items():
            guard = found.get(guard_place(partition))
            if (int(guard[COUNT]["N"]) if guard else 0) != known.count:
                self._guards.learn(partition, guard)
                holds = False
        return holds

    def _note(self, table: AnyTable, place: Place, item: Item | None) -> None:
        if item is not None and table.changes == NEVER:
            return  # it stays as it is for ever
        token = written(item)
        self.torn = self.torn or self.seen.get(place, token) != token
        self.seen[place] = token

    def _rely(self, partition: bytes) -> None:
        """Note a partition's guard before it is walked over."""
        self._moments += 1
        if partition not in self.relied:
            self.relied[partition] = self._guards.of(partition)

    def _walk(self, table: AnyTable, wanted: KeyRange) -> Iterator[Item]:
        left = wanted.limit
        for partition, _, span in self._partitions(table, wanted):
            for item in walk(self._service, partition, span, limit=left, reverse=wanted.reverse):
                left -= 1
                yield item

    def _partitions(self, table: AnyTable, wanted: KeyRange) -> Iterator[tuple[bytes, bytes, Span]]:
        """The partitions that a range reaches into, in its direction: key, scope, and the part of it in there."""
        low, high = wanted.bounds(table)
        for scope in self._scopes(table, wanted):
            span = span_within(scope, low, high)
            if span is not None:
                partition = partition_of(table, scope)
                self._rely(partition)
                yield partition, scope, span

    def _scopes(self, table: AnyTable, wanted: KeyRange) -> Iterator[bytes]:
        if len(wanted.prefix) >= table.scope:
            yield encode_key(table, wanted.prefix[: table.scope])
            return
        directory = directory_of(table)
        self._rely(directory)
        listed = walk(self._service, directory, scopes_within(table, wanted), limit=MOST_LISTED, reverse=wanted.reverse)
        for entry in listed:
            yield rest_of(entry)
