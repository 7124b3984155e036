"""A proxy between an engine and its server that cuts connections on cue: what a network does, when a case wants it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from strongroom.conformance.checks import Unprovable
from strongroom.conformance.harness import Ability
from strongroom.conformance.wires.wire import Wire

HOST: Final = "127.0.0.1"

COMMIT_FAULTS: Final = frozenset(
    {
        Ability.LOST_ANSWER,
        Ability.LOST_COMMIT,
        Ability.LATE_COMMIT,
        Ability.GONE_AFTER_COMMIT,
        Ability.GONE_BEFORE_COMMIT,
    }
)
"""What can befall a commit on its way."""
FAULTS: Final = COMMIT_FAULTS | {Ability.SERVER_AWAY}

_BEFORE: Final = {Ability.LOST_COMMIT, Ability.GONE_BEFORE_COMMIT}
_FOR_LONG: Final = {Ability.GONE_AFTER_COMMIT, Ability.GONE_BEFORE_COMMIT}

_LATE: Final = 0.4
"""Seconds that a late commit is under way after its sender has lost the connection."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""No time for a socket that closes to get rid of what it has: it resets its connection."""
_PATIENCE: Final = 10.0
"""Seconds within which a server must take a connection, and answer a commit."""


class Network:
    """The proxies of one store's servers, and the faults that they all suffer."""

    def __init__(self, wire: Callable[[], Wire]) -> None:
        self._wire = wire
        self._proxies: dict[tuple[str, int], Proxy] = {}
        self._lock = threading.Lock()
        self._fault: Ability | None = None
        self._struck = False
        self._settled = threading.Event()
        """Set where a struck commit's connection has come to its end."""
        self.away = False
        """Whether every server is out of reach."""

    def address(self, host: str, port: int) -> tuple[str, int]:
        """Where the server at `host` and `port` is reached through its proxy, which is started if there is none."""
        if (host, port) not in self._proxies:
            self._proxies[host, port] = Proxy(self, host, port, self._wire)
        return self._proxies[host, port].address

    def cut(self) -> None:
        """Cut every connection; new ones can be made, unless the servers are away."""
        for proxy in self._proxies.values():
            proxy.cut()

    def close(self) -> None:
        """Cut every connection and take no more."""
        for proxy in self._proxies.values():
            proxy.close()
        self._proxies.clear()

    @contextlib.contextmanager
    def suffering(self, fault: Ability) -> Iterator[None]:
        """While the context lasts, the servers are away, or the next commit meets `fault` and comes to its end.

        Raises `Unprovable` at its end if no commit came.
        """
        self._fault, self._struck = fault, False
        self._settled.clear()
        if fault is Ability.SERVER_AWAY:
            self._go_away()
        try:
            yield
        finally:
            if self._struck:
                self._settled.wait(_PATIENCE)
            self._fault, self.away = None, False
        if fault in COMMIT_FAULTS and not self._struck:
            raise Unprovable("the proxy saw no commit: it does not know how this engine commits")

    def strike(self) -> Ability | None:
        """The fault that the commit which comes by now is to suffer: the first that asks gets it."""
        with self._lock:
            if self._struck or self._fault not in COMMIT_FAULTS:
                return None
            self._struck = True
            return self._fault

    def finish(self, fault: Ability) -> None:
        """Called where a struck commit's connection is to break: the servers go away with it if `fault` says so."""
        if fault in _FOR_LONG:
            self._go_away()
        self._settled.set()

    def _go_away(self) -> None:
        self.away = True
        self.cut()


class Proxy:
    """Takes connections on a free port of this machine and carries them to one server."""

    def __init__(self, network: Network, host: str, port: int, wire: Callable[[], Wire]) -> None:
        self._network = network
        self._server = (host, port)
        self._wire = wire
        self._relays: set[Relay] = set()
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, name=f"proxy for {host}:{port}", daemon=True).start()

    def cut(self) -> None:
        """Cut every connection."""
        for relay in list(self._relays):
            relay.reset()

    def close(self) -> None:
        """Cut every connection and take no more."""
        with contextlib.suppress(OSError):  # it may be closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            if self._network.away:
                client.close()
                continue
            try:
                server = socket.create_connection(self._server, _PATIENCE)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._relays.add(Relay(self._network, client, server, self._wire(), self._relays.discard))


class Relay:
    """One connection: two threads, each carrying one way."""

    def __init__(
        self,
        network: Network,
        client: socket.socket,
        server: socket.socket,
        wire: Wire,
        ended: Callable[[Relay], None],
    ) -> None:
        self._network = network
        self._client, self._server = client, server
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire = wire
        self._ended = ended
        self._lock = threading.Lock()
        self._swallows: Ability | None = None
        """The fault for which the server's answer is kept from the client."""
        self._answered = threading.Event()
        """Set where such an answer has come, or never will."""
        for carry in (self._to_server, self._to_client):
            threading.Thread(target=self._until_cut, args=(carry,), daemon=True).start()

    def reset(self) -> None:
        """Break the connection at both ends, and have neither think that the other ended it in order.

        A server that goes on with what it was sent notices at its next answer then, not at the one after that.
        """
        for end in (self._client, self._server):
            with contextlib.suppress(OSError):  # it may be closed already
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.cut()

    def cut(self) -> None:
        """Break the connection at both ends."""
        self._break(self._client)
        self._break(self._server)
        self._answered.set()

    def _break(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it may be broken already
            end.shutdown(socket.SHUT_RDWR)

    def _until_cut(self, carry: Callable[[], None]) -> None:
        with contextlib.suppress(OSError):  # cut
            carry()
        self.cut()
        self._client.close()
        self._server.close()
        self._ended(self)

    def _to_server(self) -> None:
        while data := self._client.recv(65_536):
            with self._lock:
                messages = list(self._wire.sent(data))
            for message in messages:
                fault = self._network.strike() if message.commits else None
                if fault in _BEFORE and fault is not None:
                    self._network.finish(fault)
                    return
                self._swallows = self._swallows or fault
                if fault is Ability.LATE_COMMIT:
                    self._break(self._client)
                    time.sleep(_LATE)
                if message.reply:
                    self._client.sendall(message.reply)
                else:
                    self._server.sendall(message.data)
            if self._swallows is not None:
                self._answered.wait(_PATIENCE)
                return

    def _to_client(self) -> None:
        while data := self._server.recv(65_536):
            with self._lock:
                answered = self._wire.answered(data)
            if self._swallows is None:
                self._client.sendall(data)
            elif answered:
                self._network.finish(self._swallows)
                self._answered.set()
                return
