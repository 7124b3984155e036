"""Whether all that was read was so at one moment: by which calls each place was seen as it is.

Calls are numbered. What one call shows of a transaction was decided before it; so each place that the function relies
on must have been seen, as it is, by a call no earlier than any that showed the function something new. And that must be
a transactional call: DynamoDB carries a transaction out item by item, and only a transactional read of an item that has
something to come is refused. What was read last is therefore not read again, and what was read before it is, once.

A place that was seen alike by two calls was so in between, as no two writes leave the same token. That holds from one
run of a function to the next: where rows never rest it is enough to read just those first, from one moment, and to find
all others as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strongroom.engines.dynamodb.places import Place


@dataclass(slots=True)
class _Span:
    token: str
    first: int
    """It has been like that from this call on;"""
    last: int
    """and this is the last transactional call that saw it so."""


class Observations:
    """What one function read, in all of its runs. One thread uses it."""

    def __init__(self) -> None:
        self._now = 0
        self._spans: dict[Place, _Span] = {}
        self._used: dict[Place, str] = {}
        self._constant: set[Place] = set()
        self._until: dict[Place, int] = {}
        """By which call, or later, a place has to be seen unchanged, as something was read on the strength of it."""
        self._restless: dict[Place, None] = {}
        """The places that changed while they were looked at, in the order in which that was noticed."""

    @property
    def changeable(self) -> Mapping[Place, str]:
        """What this run of the function relies on and can change: each place's token; empty where nothing was."""
        return {place: token for place, token in self._used.items() if place not in self._constant}

    @property
    def torn(self) -> bool:
        """Whether the run saw a place in two states."""
        return _TORN in self._used.values()

    def begin(self) -> None:
        """Begin another run: it relies on nothing yet, but what was seen is remembered."""
        self._used = {}
        self._constant = set()
        self._until = {}

    def likely_to_change(self) -> Iterator[Place]:
        """The places that were seen to change, the last first; then those where anything was."""
        yield from reversed(self._restless)
        yield from (p for p, span in self._spans.items() if span.token and p not in self._restless)

    def saw_together(self, tokens: Mapping[Place, str]) -> None:
        """A transactional call saw these places."""
        self._now += 1
        for place, token in tokens.items():
            self._saw(place, token, self._now, self._now)

    def saw(self, tokens: Mapping[Place, str]) -> None:
        """A call that is not transactional saw these places."""
        self._now += 1
        for place, token in tokens.items():
            self._saw(place, token, self._now, 0)

    def remembers(self, place: Place, token: str) -> None:
        """A place was so at some time before the next call; whether it still is has to be seen."""
        self._saw(place, token, self._now + 1, 0)

    def rely(self, place: Place, token: str, *, constant: bool = False) -> None:
        """What was seen at a place, or remembered of it, is what the function goes on. Some can never change."""
        if constant:
            self._constant.add(place)
        if self._used.setdefault(place, token) != token:
            self._used[place] = _TORN

    def must_last(self, place: Place) -> None:
        """A place has to be seen unchanged by a call behind this one."""
        self._until[place] = self._now + 1

    def hold(self, look: Callable[[Sequence[Place]], None]) -> bool:
        """Whether all that the run relies on was so at one moment.

        `look` is called with the places that have to be looked at again, and says what it sees of them.
        """
        if self.torn:
            return False
        if len(self._used) == 1 and not self._until:
            return True
        latest = max((self._spans[place].first for place in self._used), default=0)
        changeable = self.changeable
        stale = [place for place in changeable if self._spans[place].last < max(latest, self._until.get(place, 0))]
        if stale:
            look(stale)
        return all(self._spans[place].token == token for place, token in changeable.items())

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
