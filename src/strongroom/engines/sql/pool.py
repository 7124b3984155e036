"""A bounded pool of connections, the last used first, which lets go of those that were found dead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from strongroom.errors import Closed, Unavailable

C = TypeVar("C")


class Pool(Generic[C]):
    """Connections for one engine. Threads may share it.

    Arguments:
        connect: a new connection; raises Strongroom's faults.
        disconnect: closes one, whatever state it is in; raises nothing.
        size: how many there may be at once, at least 1.
        timeout_ms: how long a caller waits for one when all are in use.
    """

    def __init__(
        self, connect: Callable[[], C], disconnect: Callable[[C], None], *, size: int, timeout_ms: int
    ) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._size = size
        self._timeout_ms = timeout_ms
        self._idle: list[C] = []
        self._used: list[C] = []
        self._opening = 0
        self._waiting = threading.Condition(threading.Lock())
        self._closed = ""

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._idle) + len(self._used)

    def take(self) -> C:
        """A connection, to be given back with `give` or `drop`.

        Raises `Unavailable` where none comes free in time or none can be made, `Closed` after `close`.
        """
        deadline = time.monotonic() + self._timeout_ms / 1000
        with self._waiting:
            while not self._idle and len(self._used) + self._opening >= self._size:
                if self._closed:
                    raise Closed(self._closed)
                if not self._waiting.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    raise Unavailable(
                        f"all {self._size} connections were in use for {self._timeout_ms} ms: raise pool, or call less"
                    )
            if self._closed:
                raise Closed(self._closed)
            if self._idle:
                self._used.append(self._idle.pop())
                return self._used[-1]
            self._opening += 1
        connection: C | None = None
        try:
            connection = self._connect()
        finally:
            with self._waiting:
                self._opening -= 1
                if connection is None:
                    self._waiting.notify()
                else:
                    self._used.append(connection)
        return connection

    def give(self, connection: C) -> None:
        """Give back a connection that is fit to be used again."""
        with self._waiting:
            self._used.remove(connection)
            if not self._closed:
                self._idle.append(connection)
                self._waiting.notify()
                return
        self._disconnect(connection)

    def drop(self, connection: C) -> None:
        """Give back a connection that is not."""
        with self._waiting:
            self._used.remove(connection)
            self._waiting.notify()
        self._disconnect(connection)

    def drop_idle(self) -> None:
        """Let go of all connections that nobody uses: where one is found dead, the server may have gone with them."""
        with self._waiting:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._disconnect(connection)

    def close(self, why: str) -> None:
        """Close the connections, those in use when they are given back; `take` raises `Closed`, saying `why`."""
        with self._waiting:
            self._closed = why
            self._waiting.notify_all()
        self.drop_idle()

    def forsake(self) -> list[C]:
        """In a forked child: all connections, which are the parent's, and must neither be used nor closed here."""
        return [*self._idle, *self._used]
