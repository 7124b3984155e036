"""The connections of one engine, and how they are lent out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from strongroom.engine import Stale
from strongroom.engines.mysql.connector import NOW_MS, Connector
from strongroom.engines.mysql.faults import Lost
from strongroom.engines.mysql.link import Link
from strongroom.engines.sql import Pool, ServerClock
from strongroom.errors import Closed

T = TypeVar("T")

_TRIES = 4
"""How often a read is made before a server whose connections keep breaking is given up."""


class Links(Pool[Link]):
    """A pool of connections. Threads may share it."""

    def __init__(self, connector: Connector, clock: ServerClock, *, size: int, timeout_ms: int) -> None:
        super().__init__(self._connected, Link.close, size=size, timeout_ms=timeout_ms)
        self._connector = connector
        self._clock = clock
        self._gone = ""
        """Why the connections are another process's, in a forked child."""

    def leave(self, link: Link) -> None:
        """Give a connection back: to others if it is idle, else to be closed, and what is open on it undone."""
        if self._gone:
            return
        if link.is_idle:
            self.give(link)
        else:
            self.drop(link)

    @contextlib.contextmanager
    def lent(self) -> Iterator[Link]:
        """A connection for as long as the context lasts."""
        link = self.take()
        try:
            yield link
        finally:
            self.leave(link)

    def reading(self, work: Callable[[Link], T]) -> T:
        """What `work`, which changes nothing, makes of a connection; on another one where that was found broken."""
        tries = 1
        while True:
            link = self.take()
            try:
                return work(link)
            except (Lost, Stale):
                if link.fit or tries == _TRIES:
                    raise
            finally:
                self.leave(link)
            self.drop_idle()
            tries += 1

    def take(self) -> Link:
        if self._gone:  # looked at before the lock, which a thread that the child has not may hold
            raise Closed(self._gone)
        return super().take()

    def close_after(self, last: Callable[[Link], None], why: str) -> None:
        """Close the connections, and do something on one of them before that."""
        if self._idle:
            with self.lent() as link:
                last(link)
        self.close(why)

    def forsaken(self, why: str) -> list[object]:
        """In a forked child: the parent's connections, of which none can be used here any more; `why` says why not."""
        self._gone = why
        return [link.forsake(why) for link in self.forsake()]

    def now(self) -> int:
        """The time by the server's clock."""
        return self._clock.now(lambda: self.reading(ask_time))

    def _connected(self) -> Link:
        link = self._connector.connect()
        self._clock.tell(link.now_ms)
        return link


def ask_time(link: Link) -> int:
    """The server's time, in Unix milliseconds."""
    ((now,),) = link.ask(NOW_MS)
    assert isinstance(now, int)
    return now
