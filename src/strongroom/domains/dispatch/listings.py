"""Listings: pages of what there is, newest first, with filters that are looked at row by row.

A page is one moment (R2); pages are none across calls. A page looks at a bounded number of rows: one of something rare
may be short, or empty, and still have a `next`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from strongroom.errors import InvalidArgument
from strongroom.records import MAX_INTEGER, MAX_LIMIT

S = TypeVar("S", bound=StrEnum)
T = TypeVar("T")

QUERY_BYTES: Final = 200
"""The most bytes of a text that a listing is searched for."""
_CHUNK: Final = 200


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Some of the items, newest first."""

    items: list[T]
    next: int
    """What to give as `after` for older ones; 0 at the end."""


def check_page(after: int, limit: int, q: str = "") -> None:
    """Raises `InvalidArgument` for a cursor, a limit or a search text that is out of range."""
    if type(after) is not int or not 0 <= after <= MAX_INTEGER:
        raise InvalidArgument("after is the number that the last page gave as next, or 0")
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument(f"a limit is an integer from 1 to {MAX_LIMIT}")
    if len(q.encode(errors="surrogatepass")) > QUERY_BYTES:
        raise InvalidArgument(f"a text to search for has at most {QUERY_BYTES} bytes")


def one_of(states: type[S], state: S | None) -> S | None:
    """The state that a listing is to show, None for all; `InvalidArgument` for a text that is no state."""
    try:
        return None if state is None else states(state)
    except ValueError:
        raise InvalidArgument("a state is one of " + ", ".join(member.value for member in states)) from None


def walk(
    chunk: Callable[[int, int], list[T]],
    number: Callable[[T], int],
    fits: Callable[[T], bool],
    *,
    after: int,
    limit: int,
    most: int,
) -> Listing[T]:
    """The page of what fits.

    Arguments:
        chunk: the items with a number below the first argument (0: all), newest first, as many as the second says.
        number: an item's number.
        fits: whether the listing is to have it.
        after: where the page begins: below this number, or at the newest for 0.
        limit: the most items of the page.
        most: the most items to look at, and a few.
    """
    items: list[T] = []
    before, examined = after, 0
    while examined < most:
        size = min(max(_CHUNK, limit + 1), MAX_LIMIT)
        found = chunk(before, size)
        for item in found:
            if fits(item):
                if len(items) == limit:
                    return Listing(items, before)
                items.append(item)
            before = number(item)
        examined += len(found)
        if len(found) < size:
            return Listing(items, 0)
    return Listing(items, before)
