"""The last keys of a span: what a walk from the end, and every append to a log, begins with.

etcd reads in ascending order; asked for the other one, it reads the whole span and sorts it. So the place to begin
from is found first: where the last walk of this span ended, or else by counting the keys in parts of the span, and in
parts of the part where as many as wanted are reached. Counting reads no values.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from strongroom.engines.etcd.layout import Span
from strongroom.engines.etcd.messages import KeyValue, RangeRequest
from strongroom.engines.etcd.view import View

SPARE: Final = 256
"""How many keys may be read beyond those that are wanted."""
_PARTS: Final = 32
"""Into how many parts a span is split at once."""
_REMEMBERED: Final = 1024
"""Of how many spans it is remembered where their last keys were."""


class Tails:
    """Walks from the ends of spans. Threads may share it: what it remembers is only where to look first."""

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[Span, int], bytes] = OrderedDict()

    def last(self, view: View, span: Span, wanted: int) -> list[KeyValue]:
        """The last keys of a span, at most so many, the very last one first."""
        low, high = span
        start = self._places.get((span, wanted), low)
        found = view.walk((start, high), wanted + SPARE)
        if start > low and not found.more and len(found.pairs) < wanted:
            start = low  # some of those that were there are gone
            found = view.walk((low, high), wanted + SPARE)
        if found.more:
            found = view.walk((_near_end(view, (start, high), wanted), high), wanted + SPARE)
        pairs = found.pairs[: -wanted - 1 : -1]
        if len(pairs) == wanted:
            self._remember((span, wanted), pairs[-1].key)
        return pairs

    def _remember(self, walk: tuple[Span, int], place: bytes) -> None:
        self._places[walk] = place
        while len(self._places) > _REMEMBERED:
            try:
                self._places.popitem(last=False)
            except KeyError:
                return  # another thread has made the room


def _near_end(view: View, span: Span, wanted: int) -> bytes:
    """A place in a span with at least so many keys from there to its end, and not many more."""
    low, high = span
    behind = 0
    while True:
        starts = [low, *_split(low, high)]
        parts = zip(starts, [*starts[1:], high], strict=True)
        counted = view.ranges([RangeRequest(key=a, range_end=b, count_only=True) for a, b in parts])
        place = len(starts) - 1
        while place and behind + counted[place].count < wanted:
            behind += counted[place].count
            place -= 1
        if behind + counted[place].count <= wanted + SPARE or len(starts) == 1:
            return starts[place]
        low, high = starts[place], starts[place + 1] if place + 1 < len(starts) else high


def _split(low: bytes, high: bytes) -> list[bytes]:
    """Places that split the bytes between two into equal parts; none where there is nothing between them."""
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    for width in range(8, max(len(low), len(high)) + 9, 8):
        first = int.from_bytes(low[same : same + width].ljust(width, b"\0"))
        last = int.from_bytes(high[same : same + width].ljust(width, b"\0"))
        if last - first >= _PARTS:
            step = (last - first) // _PARTS
            return [low[:same] + (first + step * part).to_bytes(width) for part in range(1, _PARTS)]
    return []
