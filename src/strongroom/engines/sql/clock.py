"""A server's clock, so that all who share a store agree on the time, to within a trip to the server."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from typing import Final

_GOOD_FOR: Final = 1.0
"""Seconds for which this machine's own counting is trusted."""

_clocks: Final[weakref.WeakValueDictionary[Hashable, ServerClock]] = weakref.WeakValueDictionary()
os.register_at_fork(after_in_child=_clocks.clear)  # another thread may hold the lock of one, and is not in the child


class ServerClock:
    """Unix milliseconds of a server's, counted on from when it was last asked. May be shared by threads."""

    @classmethod
    def of(cls, server: Hashable) -> ServerClock:
        """The clock of that server: one for the whole process, so that no two engine objects differ by a moment."""
        return _clocks.setdefault(server, cls())

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told = 0
        self._told_at = 0.0
        self._last = 0

    @property
    def is_stale(self) -> bool:
        """Whether the server was not asked for so long that it is to be asked again."""
        return not self._told or time.monotonic() - self._told_at > _GOOD_FOR

    def tell(self, milliseconds: int) -> None:
        """Say what the server's clock shows just now."""
        with self._lock:
            self._told, self._told_at = milliseconds, time.monotonic()

    def now(self, ask: Callable[[], int]) -> int:
        """The time, never less than it was answered before; `ask` asks the server, where that is due."""
        if self.is_stale:
            self.tell(ask())
        with self._lock:
            self._last = max(self._last, self._counted())
            return self._last

    def about(self) -> int:
        """About the time, without asking: 0 where nobody ever did."""
        with self._lock:
            return self._counted()

    def _counted(self) -> int:
        return self._told + int((time.monotonic() - self._told_at) * 1000) if self._told else 0
