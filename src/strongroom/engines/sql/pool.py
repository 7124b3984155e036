"""A bounded pool of connections, the last used first, which lets go of those that were found dead.

Ctrl-C may strike between any two steps, also where a connection was just taken and nobody has it yet. So those in use
are counted by weak references: one that nobody has any more takes up no place.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from strongroom.errors import Closed, Unavailable

C = TypeVar("C")


class _Opening:
    """Stands for a connection that is being made."""


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
        self._used: weakref.WeakSet[C] = weakref.WeakSet()
        self._opening: weakref.WeakSet[_Opening] = weakref.WeakSet()
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
        opening = _Opening()
        with self._waiting:
            while not self._idle and len(self._used) + len(self._opening) >= self._size:
                if self._closed:
                    raise Closed(self._closed)
                if not self._waiting.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    raise Unavailable(
                        f"all {self._size} connections were in use for {self._timeout_ms} ms: raise pool, or call less"
                    )
            if self._closed:
                raise Closed(self._closed)
            if self._idle:
                connection = self._idle.pop()
                self._used.add(connection)
                return connection
            self._opening.add(opening)
        try:
            connection = self._connect()
            self._used.add(connection)
        finally:
            with self._waiting:
                self._opening.discard(opening)
                self._waiting.notify()
        return connection

    def give(self, connection: C) -> None:
        """Give back a connection that is fit to be used again."""
        with self._waiting:
            self._used.discard(connection)
            if not self._closed:
                self._idle.append(connection)
                self._waiting.notify()
                return
        self._disconnect(connection)

    def drop(self, connection: C) -> None:
        """Give back a connection that is not."""
        with self._waiting:
            self._used.discard(connection)
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
