"""Whether all that was read was so at one moment: when each place was seen as it is, by the calls that saw it.

Calls are numbered. A place that two calls saw alike was like that at every moment between them, as no two writes leave
the same token. So each place has a span of calls, and what was read held together if there is a moment in all the
spans. What was read long before the rest has to be looked at once more, and the rest has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strongroom.engines.dynamodb.places import Place


@dataclass(slots=True)
class _Span:
    token: str
    first: int
    """It was like that at every moment from this call on,"""
    last: int
    """to this one."""


class Observations:
    """What one function read, in all of its runs. One thread uses it."""

    def __init__(self) -> None:
        self._now = 0
        self._spans: dict[Place, _Span] = {}
        self._used: dict[Place, str] = {}
        self._until: dict[Place, int] = {}
        """By which call, or later, a place has to be seen unchanged, as something was read on the strength of it."""
        self._restless: dict[Place, None] = {}
        """The places that changed while they were looked at, in the order in which that was noticed."""

    @property
    def used(self) -> Mapping[Place, str]:
        """What this run of the function relies on: the token of each place; empty where nothing was."""
        return self._used

    def begin(self) -> None:
        """Begin another run: it relies on nothing yet, but what was seen is remembered."""
        self._used = {}
        self._until = {}

    def likely_to_change(self) -> Iterator[Place]:
        """The places that were seen to change, the last first; then those where anything was."""
        yield from reversed(self._restless)
        yield from (p for p, span in self._spans.items() if span.token and p not in self._restless)

    def saw_together(self, tokens: Mapping[Place, str]) -> None:
        """A call saw these places, all at one moment."""
        self._now += 1
        for place, token in tokens.items():
            self._saw(place, token, self._now, self._now)

    def saw(self, tokens: Mapping[Place, str]) -> None:
        """A call saw these places, each at some moment of its own."""
        self._now += 2
        for place, token in tokens.items():
            self._saw(place, token, self._now, self._now - 1)

    def remembers(self, place: Place, token: str) -> None:
        """A place was so at a time before this one; whether it still is has to be seen."""
        self._saw(place, token, self._now + 1, 0)

    def rely(self, place: Place, token: str) -> None:
        """What was seen at a place, or remembered of it, is what the function goes on."""
        if self._used.setdefault(place, token) != token:
            self._used[place] = _TORN

    def must_last(self, place: Place) -> None:
        """A place has to be seen unchanged by a call behind this one."""
        self._until[place] = self._now + 1

    @property
    def torn(self) -> bool:
        """Whether the run saw a place in two states."""
        return _TORN in self._used.values()

    def hold(self, look: Callable[[Sequence[Place]], None]) -> bool:
        """Whether all that the run relies on was so at one moment.

        `look` is called with the places that have to be looked at again, and says what it sees of them.
        """
        if self.torn:
            return False
        latest = max((self._spans[place].first for place in self._used), default=0)
        stale = [p for p in self._used if self._spans[p].last < max(latest, self._until.get(p, 0))]
        if stale:
            look(stale)
        spans = [(self._spans[place], token) for place, token in self._used.items()]
        return all(span.token == token and span.first <= latest for span, token in spans)

    def _saw(self, place: Place, token: str, first: int, last: int) -> None:
        span = self._spans.get(place)
        if span is None:
            self._spans[place] = _Span(token, first, last)
        elif span.token == token:
            span.last = max(span.last, last)
        else:
            self._spans[place] = _Span(token, first, last)
            self._restless[place] = None


_TORN = "changed while it was read"
"""Stands for the token of a place that the run saw in two states."""
