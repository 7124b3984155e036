"""Ports that nobody else gets, though nothing listens on them while their server is down."""

from __future__ import annotations

import socket
import weakref


class Port:
    """A loopback TCP port, reserved until `release`, or until this object is dropped.

    A bound socket that doesn't listen holds it. Others can't bind it, and no client is given it as its own end of a
    connection, so a client can't connect to itself while the server is down. The server can bind it all the same,
    because both allow the address's reuse.
    """

    def __init__(self) -> None:
        self._holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._holder.bind(("127.0.0.1", 0))
        # Only now: had both of two holders allowed reuse before they bound, they could have got the same port.
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._release = weakref.finalize(self, self._holder.close)
        self.number: int = self._holder.getsockname()[1]

    def release(self) -> None:
        """Leave the port to whoever wants it. No harm if it has been left before."""
        self._release()
