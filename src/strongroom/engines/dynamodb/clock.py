"""The clock of an engine whose service tells the time in whole seconds only, in the ``Date`` of its answers.

Each answer bounds how far the service's clock is from this machine's. The machine's own clock counts for as long as it
is within those bounds, and is moved into them where it is not: engines on machines whose clocks differ by minutes agree
to within about a second, and soon to much less, as the bounds close in with every answer.
"""

from __future__ import annotations

import functools
import time
from email.utils import parsedate_to_datetime
from typing import Final

from strongroom.engine import Clock

_EVERY: Final = 0.05
"""Seconds between two answers that are looked at."""
_DRIFT: Final = 1e-4
"""By how much, in seconds for each second, the two clocks are taken to part at most."""


@functools.cache
def clock_of(endpoint: str, _process: int) -> ServiceClock:
    """The clock of the service at an address: one for the whole process, so that no two engine objects differ."""
    return ServiceClock()


class ServiceClock(Clock):
    """Unix milliseconds that never go back, near the service's. May be shared by threads."""

    def __init__(self) -> None:
        super().__init__(self._time_ns)
        self._bounds = (float("-inf"), float("inf"))
        """Between which the service's clock less the monotonic one lies."""
        self._looked = float("-inf")

    def learn(self, date: str | None, sent: float) -> None:
        """Take in an answer's ``Date`` to a request that was sent at `sent`, by the monotonic clock."""
        now = time.monotonic()
        if date is None or now - self._looked < _EVERY:
            return
        try:
            second = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return  # a proxy's own idea of a date tells nothing
        low, high = self._bounds
        slack = (now - self._looked) * _DRIFT if self._looked > 0 else 0
        new = second - now, second + 1 - sent
        low, high = max(low - slack, new[0]), min(high + slack, new[1])
        self._bounds = (low, high) if low <= high else new  # one of the clocks was set
        self._looked = now

    def _time_ns(self) -> int:
        steady = time.monotonic()
        low, high = self._bounds
        offset = min(max(time.time() - steady, low), high)
        return int((steady + offset) * 1_000_000_000)
