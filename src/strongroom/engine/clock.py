"""The clock that engines without one of their own use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Clock:
    """Unix milliseconds that never go back, whatever the machine's clock does. May be shared by threads.

    `source` answers the wall clock's nanoseconds since the Unix epoch.
    """

    def __init__(self, source: Callable[[], int] = time.time_ns) -> None:
        self._source = source
        self._last = 0
        self._lock = threading.Lock()

    def now(self) -> int:
        """The time, never less than it was answered before."""
        with self._lock:
            self._last = max(self._last, self._source() // 1_000_000)
            return self._last
