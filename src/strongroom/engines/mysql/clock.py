"""The server's clock, so that all machines that share a store tell the same time, to within a round trip."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Final

from strongroom.engines.mysql.options import Address

_FRESH_S: Final = 1.0
"""How long the server's time is carried on by this machine before it is asked for again."""


_clocks: Final[weakref.WeakValueDictionary[frozenset[Address], ServerClock]] = weakref.WeakValueDictionary()

os.register_at_fork(after_in_child=_clocks.clear)  # a thread that the child has not may hold a clock's lock


class ServerClock:
    """Unix milliseconds by the server's clock, which never go back. May be shared by threads."""

    @classmethod
    def of(cls, servers: Iterable[Address]) -> ServerClock:
        """The clock of these servers: one for the process, so that two engine objects do not differ by a moment."""
        return _clocks.setdefault(frozenset(servers), cls())

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server_ms = 0
        self._here = 0.0
        self._last = 0

    def set(self, server_ms: int) -> None:
        """Take in what the server has just said."""
        with self._lock:
            self._server_ms, self._here = server_ms, time.monotonic()

    def now(self, ask: Callable[[], int]) -> int:
        """The time, never less than it was answered before; `ask` asks the server, if that was long ago."""
        if time.monotonic() - self._here > _FRESH_S:
            self.set(ask())
        with self._lock:
            self._last = max(self._last, self._carried())
            return self._last

    def about(self) -> int:
        """About the time, without asking: as good as the two clocks ran alike since the server was last asked."""
        with self._lock:
            return self._carried()

    def _carried(self) -> int:
        return self._server_ms + int((time.monotonic() - self._here) * 1000)
