"""The server's clock, so that all who share a store agree on the time, to within a trip to the server."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Final

from strongroom.engines.postgres.calls import Statement

ASK_TIME: Final = Statement("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")()

_GOOD_FOR: Final = 1.0
"""Seconds for which this machine's own counting is trusted."""

_clocks: Final[weakref.WeakValueDictionary[str, ServerClock]] = weakref.WeakValueDictionary()


def clock_of(place: str) -> ServerClock:
    """The clock of the servers at `place`: one for all engine objects of the process, so that it goes back in none."""
    return _clocks.setdefault(place, ServerClock())


class ServerClock:
    """Unix milliseconds of the server's, counted on from when it was last asked. May be shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told = 0
        self._told_at = -2 * _GOOD_FOR
        self._last = 0

    @property
    def is_stale(self) -> bool:
        """Whether the server is to be asked again before `now` can be answered."""
        return not self._told or time.monotonic() - self._told_at > _GOOD_FOR

    def tell(self, milliseconds: int) -> None:
        """Say what the server's clock showed just now."""
        with self._lock:
            self._told, self._told_at = milliseconds, time.monotonic()

    def now(self) -> int:
        """The server's time, never less than it was answered before."""
        with self._lock:
            passed = int((time.monotonic() - self._told_at) * 1000)
            self._last = max(self._last, self._told + passed)
            return self._last
