"""Walks over a partition's rows in the order of their whole keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from strongroom.engines.dynamodb.places import SORT, Span, crowd, is_cut, rest_of, sort_key
from strongroom.engines.dynamodb.service import Item, Service

_MOST_ASKED: Final = 1000
"""Items that one query asks for; DynamoDB ends a page at 1 MB anyway."""


def walk(service: Service, partition: bytes, span: Span, *, limit: int, reverse: bool) -> Iterator[Item]:
    """The items of the rows in a span, in their order or against it, read in pages that fit `limit`."""
    low, high = span.sorts()
    if low > high:
        return  # there is nothing in it, and DynamoDB refuses to be asked
    # One more than is wanted: the span's end may be a row of its own, which is not in it.
    asked = min(limit + (span.high is not None), _MOST_ASKED)
    found = service.query(partition, low, high, limit=asked, reverse=reverse)
    inside = (item for item in found if span.holds(rest_of(item)))
    crowded: list[Item] = []
    for item in inside:
        sort = item[SORT]["B"]
        if crowded and crowd(crowded[0][SORT]["B"]) != crowd(sort):
            yield from sorted(crowded, key=rest_of, reverse=reverse)
            crowded = []
        if is_cut(sort):
            crowded.append(item)
        else:
            yield item
    yield from sorted(crowded, key=rest_of, reverse=reverse)


def count(service: Service, partition: bytes, prefix: bytes, limit: int) -> int:
    """How many rows of a partition have rests of keys that begin with `prefix`, counted no further than `limit`."""
    beginning = sort_key(prefix)
    if is_cut(beginning):
        rows = walk(service, partition, Span.of_prefix(prefix), limit=limit, reverse=False)
        return sum(1 for _, _ in zip(range(limit), rows, strict=False))
    return service.count(partition, beginning, limit)
