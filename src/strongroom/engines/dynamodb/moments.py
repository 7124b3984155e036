"""Walks over a partition whose writers never rest: as its rows were at one moment, which need not be a quiet one.

An ordinary walk is proved by a guard that is behind it as it was before. Where writers never rest that may never be.
But a guard names what each engine object changed last. As long as it names every change between two looks at it, all
rows that changed meanwhile are known, and need only be read again:

1. The guard is read, the rows are walked over, and the guard is read by a transaction: the walk is to be as it was at
   that *moment*. The walk may have missed, or have seen, what the guard counts by then and did not before, and what was
   not settled before: those rows are doubtful. Of what is counted later it has seen nothing: a transaction lets its
   rows be seen when it has all of its items, and from then on until it is counted a transactional read of the guard is
   refused.
2. The doubtful rows are read by one transaction, together with the guard. If nothing that was counted since the moment
   is among them, they are as they were at the moment. All others are as the walk saw them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from strongroom.engines.dynamodb.guards import Guards, changed_between, count_of, guard_place
from strongroom.engines.dynamodb.places import Place, Span, is_cut, place_in
from strongroom.engines.dynamodb.service import MOST_AT_ONCE, Item, Service
from strongroom.engines.dynamodb.walks import walk

_TRIES: Final = 8
"""How often the guard is looked at for a moment; each time costs a walk and two transactional reads."""


def walk_at_a_moment(
    service: Service, guards: Guards, partition: bytes, span: Span, *, limit: int, reverse: bool
) -> tuple[int, list[Item]] | None:
    """The items of the rows in a span as they were at one moment, and what the partition's guard counted then.

    None where no moment was found: the guard named too few of the changes, or these were too many, or of rows whose
    sort keys are cut.
    """
    place = guard_place(partition)
    before = service.get(place)
    for _ in range(_TRIES):
        unsettled = {*guards.unsettled(partition, before)}
        found = [*islice(walk(service, partition, span, limit=limit, reverse=reverse), limit)]
        [seen] = service.get_together([place])
        moment = seen[place]
        changed = changed_between(before, moment)
        before = moment
        if changed is None:
            continue
        page = _Page(partition, span, found, limit=limit, reverse=reverse)
        doubtful = [(partition, sort) for sort in sorted(unsettled | changed) if page.reaches(sort)]
        if any(is_cut(sort) for sort in (*unsettled, *changed, *page.items)) or len(doubtful) >= MOST_AT_ONCE:
            return None
        if doubtful:
            seen, *more = service.get_together([place, *doubtful])
            if more:
                return None  # too large for one transaction
            before = seen.pop(place)
            later = changed_between(moment, before)
            if later is None or any(sort in later for _, sort in doubtful):
                continue
            page.correct(seen)
        if page.is_whole:
            return count_of(moment), page.rows()
    return None


class _Page:
    """What a walk saw: the whole span, or as much of it as `limit` rows take."""

    def __init__(self, partition: bytes, span: Span, found: list[Item], *, limit: int, reverse: bool) -> None:
        self._span = span
        self._limit = limit
        self._reverse = reverse
        self._last = place_in(found[-1])[1] if len(found) == limit else None
        """The sort key behind which nothing is known; None where the walk went to the span's end."""
        self.items = {place_in(item)[1]: item for item in found}
        """The rows by their sort keys."""

    @property
    def is_whole(self) -> bool:
        """Whether the rows that are known are all that are wanted."""
        return self._last is None or len(self.items) >= self._limit

    def reaches(self, sort: bytes) -> bool:
        """Whether a row with this sort key would be on the page."""
        if not self._span.holds(sort[1:]):
            return False
        return self._last is None or (sort >= self._last if self._reverse else sort <= self._last)

    def correct(self, seen: Mapping[Place, Item | None]) -> None:
        """Take rows as they were seen later, and away where none was."""
        for (_, sort), item in seen.items():
            if item is None:
                self.items.pop(sort, None)
            else:
                self.items[sort] = item

    def rows(self) -> list[Item]:
        """The items in the walk's order, no more than are wanted."""
        return [self.items[sort] for sort in sorted(self.items, reverse=self._reverse)][: self._limit]
