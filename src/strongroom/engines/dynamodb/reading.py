"""Reading the store, and noting what was read, so that it can be shown to have been so at one moment (R2, T2).

DynamoDB has no snapshots. What a function reads is read piece by piece: each row with the token of the write that left
it, and for each walk the guards of its partitions, which were read before. `Observations` then tell whether there was
a moment at which all of that was so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from strongroom.engine import Rows
from strongroom.engines.dynamodb.guards import COUNT, Guards, Known, guard_place, is_guard
from strongroom.engines.dynamodb.items import WRITTEN, Items
from strongroom.engines.dynamodb.moments import walk_at_a_moment
from strongroom.engines.dynamodb.observations import Observations
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
from strongroom.engines.dynamodb.tables import Tables
from strongroom.engines.dynamodb.transactions import Transactions
from strongroom.engines.dynamodb.walks import count, walk
from strongroom.records import NEVER, AnyTable, Key, KeyRange, Row, encode_key

MOST_LISTED: Final = 1000
"""So many of a table's partitions are listed at a time."""


def written(item: Item | None) -> str:
    """The token of the write that left a row's item; empty where there is none."""
    return "" if item is None else str(item.get(WRITTEN, {}).get("S", ""))


def state_at(place: Place, item: Item | None) -> str:
    """What tells the states of a place apart: of a row the token, of a guard the count."""
    if not is_guard(place):
        return written(item)
    return item[COUNT]["N"] if item else "0"


@dataclass(frozen=True, slots=True)
class Store:
    """An engine's way to its store."""

    service: Service
    guards: Guards
    items: Items
    tables: Tables
    transactions: Transactions


class Reading(Rows):
    """What one run of a function, or of a group of them, reads.

    Arguments:
        store: the engine's way to the store.
        observations: what the function's runs have seen.
        together: whether many rows are read from one moment, which costs twice as much. Nothing else checks the reads
            of who does not write.
        restless: whether the function does nothing but walk over one partition, and did so before, which changed
            meanwhile: it is walked over as it was at one moment.
    """

    def __init__(self, store: Store, observations: Observations, *, together: bool, restless: bool = False) -> None:
        self._store = store
        self._service = store.service
        self._seen = observations
        self._together = together
        self._restless = restless
        self._walks = 0
        self.relied: dict[bytes, Known] = {}
        """The partitions that were walked over or counted, and their guards as they were before."""
        self._held: dict[Place, Item | None] = {}
        """Rows that were read beforehand."""

    @property
    def walked_once(self) -> bool:
        """Whether all that was done is to walk once over one partition whose guard tells of all changes."""
        return self._walks == 1 and len(self._seen.changeable) == 1

    def read_ahead(self) -> None:
        """Read the rows that are likely to change from one moment: the others then need only be as they were."""
        rows = (place for place in self._seen.likely_to_change() if not is_guard(place))
        places = [*islice(rows, MOST_AT_ONCE)]
        if not places:
            return
        for found in self._service.get_together(places):
            self._saw_together(found)
            self._held |= found

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        [row] = self.fetch_many(table, [key])
        return row

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        self._store.tables.know(table)
        places = [place_of(table, key) for key in keys]
        found = {place: self._held[place] for place in places if place in self._held}
        found |= self._look([place for place in dict.fromkeys(places) if place not in found])
        for place, item in found.items():
            self._rely_on_row(table, place, item)
        rows = self._store.items[table]
        items = [found[place] for place in places]
        return [None if item is None else rows.row(item, key) for item, key in zip(items, keys, strict=True)]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        self._store.tables.know(table)
        self._walks += 1
        found = self._at_a_moment(table, wanted) if self._restless and not table.changes.update else None
        if found is None:
            found = [*islice(self._walk(table, wanted), wanted.limit)]
        if table.changes.update:  # in place, which no guard counts
            self._seen.saw({place_in(item): written(item) for item in found})
            for item in found:
                self._rely_on_row(table, place_in(item), item)
        return [*map(self._store.items[table].row, found)]

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._store.tables.know(table)
        self._walks += 1
        wanted = KeyRange(prefix, None, False, None, False, limit)
        if self._restless:
            found = self._at_a_moment(table, wanted)
            if found is not None:
                return len(found)
        whole = encode_key(table, prefix)
        total = 0
        for partition, scope, _ in self._partitions(table, wanted):
            rest = whole[len(scope) :] if len(prefix) >= table.scope else b""
            total += count(self._service, partition, rest, limit - total)
            if total >= limit:
                break
        return total

    def holds(self) -> bool:
        """Whether there was a moment at which all that was read was so; what was read long before is read again."""
        return self._seen.hold(self._look_again)

    def _look(self, places: Sequence[Place]) -> dict[Place, Item | None]:
        """The items at some places."""
        items: dict[Place, Item | None] = {}
        if self._together:
            for found in self._service.get_together(places):
                self._saw_together(found)
                items |= found
        elif places:
            read = self._service.get_many(places)
            items = {place: read.get(place) for place in places}
            self._seen.saw({place: written(item) for place, item in items.items()})
        return items

    def _look_again(self, places: Sequence[Place]) -> None:
        relied_on = self._seen.changeable
        for found in self._service.get_together(places):
            self._saw_together(found)
            changed = [place for place, item in found.items() if state_at(place, item) != relied_on[place]]
            for place in filter(is_guard, changed):
                self._store.guards.learn(place[0], found[place])
            if changed:
                return  # the rest can't help any more

    def _saw_together(self, found: Mapping[Place, Item | None]) -> None:
        self._seen.saw_together({place: state_at(place, item) for place, item in found.items()})

    def _rely_on_row(self, table: AnyTable, place: Place, item: Item | None) -> None:
        self._seen.rely(place, written(item), constant=item is not None and table.changes == NEVER)

    def _rely_on_guard(self, partition: bytes) -> None:
        """Note a partition's guard, as it is known, before the partition is walked over."""
        place = guard_place(partition)
        if partition not in self.relied:
            known = self.relied[partition] = self._store.guards.of(partition)
            self._seen.remembers(place, str(known.count))
            self._seen.rely(place, str(known.count))
        self._seen.must_last(place)

    def _walk(self, table: AnyTable, wanted: KeyRange) -> Iterator[Item]:
        left = wanted.limit
        for partition, _, span in self._partitions(table, wanted):
            for item in walk(self._service, partition, span, limit=left, reverse=wanted.reverse):
                left -= 1
                yield item

    def _at_a_moment(self, table: AnyTable, wanted: KeyRange) -> list[Item] | None:
        """The items of a range within one scope, as they were at a moment; None where none was found."""
        self._restless = False  # a second moment would be another
        scope = encode_key(table, wanted.prefix[: table.scope])
        span = span_within(scope, *wanted.bounds(table)) if len(wanted.prefix) >= table.scope else None
        if span is None:
            return None
        partition = partition_of(table, scope)
        found = walk_at_a_moment(
            self._service, self._store.guards, partition, span, limit=wanted.limit, reverse=wanted.reverse
        )
        if found is None:
            return None
        count, items = found
        place = guard_place(partition)
        self._seen.saw_together({place: str(count)})
        self._seen.rely(place, str(count))
        return items

    def _partitions(self, table: AnyTable, wanted: KeyRange) -> Iterator[tuple[bytes, bytes, Span]]:
        """The partitions that a range reaches into, in its direction: key, scope, and the part of it in there."""
        low, high = wanted.bounds(table)
        for scope in self._scopes(table, wanted):
            span = span_within(scope, low, high)
            if span is not None:
                partition = partition_of(table, scope)
                self._rely_on_guard(partition)
                yield partition, scope, span

    def _scopes(self, table: AnyTable, wanted: KeyRange) -> Iterator[bytes]:
        if len(wanted.prefix) >= table.scope:
            yield encode_key(table, wanted.prefix[: table.scope])
            return
        directory = directory_of(table)
        self._rely_on_guard(directory)
        listed = walk(self._service, directory, scopes_within(table, wanted), limit=MOST_LISTED, reverse=wanted.reverse)
        for entry in listed:
            yield rest_of(entry)
