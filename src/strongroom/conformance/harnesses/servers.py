"""What the harnesses of database servers share: stores that are dropped, faults of the network and of the server."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar, Final
from urllib.parse import urlsplit

from strongroom.conformance.backdoors import ServerBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.harnesses.sql import SqlHarness
from strongroom.conformance.proxy import FAULTS as NETWORK_FAULTS
from strongroom.conformance.proxy import Network
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires.wire import Wire
from strongroom.engine import Engine, StoreUrl
from strongroom.errors import InvalidArgument

SERVER_FAULTS: Final = frozenset({Ability.FAILED_COMMIT, Ability.DISK_FULL, Ability.CONFLICTS})
"""What the server itself can be made to do to a commit."""

THROUGH_PROXY: Final = NETWORK_FAULTS | {Ability.LOST_CONNECTION}
"""What takes a proxy between the engine and its server: where none of it is wanted, there is none."""

HASTY_MS: Final = 1000
"""Milliseconds that a hasty engine waits for its server."""


class ServerHarness(SqlHarness):
    """As `UrlHarness`, for stores on a database server, which must not be there before, and are dropped.

    Its user must be allowed to make and drop what stores are made of. A proxy takes the place of TLS.
    """

    port: ClassVar[int]
    plain: ClassVar[dict[str, str]]
    """The options that keep a connection from being encrypted: a proxy must read it."""
    wire: ClassVar[Callable[[], Wire]]
    proxied: ClassVar[frozenset[Ability]] = THROUGH_PROXY
    """What takes a proxy."""
    sockets: ClassVar[frozenset[str]]
    """The options that lead to a server without an address, before which no proxy can stand."""

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        super().__init__(template, seal_key=seal_key)
        url = StoreUrl.parse(self._template)
        try:
            for server in url.place.partition("/")[0].rpartition("@")[2].split(","):
                _ = urlsplit(f"//{server}").port
        except ValueError:
            raise InvalidArgument(f"{url.scheme} URL: the server is named host:port") from None
        self._local = not self.sockets.isdisjoint(url.options)
        self._token = secrets.token_hex(3)
        self._network = Network(self._new_wire)
        self._opened_door: ServerBackDoor | None = None
        self._claimed = ""

    @property
    def url(self) -> str:
        return self._reached(self._url()) if super().url else ""

    def open(self) -> Engine:
        return self._opened(self._reached(self._url()))

    def open_hasty(self) -> Engine:
        return self._opened(self._reached(self._url(), {"timeout_ms": str(HASTY_MS)}))

    def fresh(self) -> None:
        self._drop()
        super().fresh()

    def close(self) -> None:
        self._network.close()
        self._drop()
        if self._opened_door is not None:
            self._opened_door.close()
            self._opened_door = None

    @property
    def abilities(self) -> frozenset[Ability]:
        able = {Ability.TAMPER, Ability.TOOLS, Ability.IMAGE, Ability.FLUSHES, *SERVER_FAULTS}
        if not self._local:
            able |= THROUGH_PROXY
        if self._seal_key is None:
            able.add(Ability.PROCESSES)
        return frozenset(able)

    def image(self) -> bytes:
        return self._door().image()

    def flushes(self) -> int:
        return self._door().flushes()

    def inflict(self, fault: Ability) -> AbstractContextManager[None]:
        if fault in SERVER_FAULTS:
            return self._door().failing(fault)
        if fault in NETWORK_FAULTS and not self._local:
            return self._network.suffering(fault)
        raise self._unable(fault)

    def cut(self) -> None:
        if self._local:
            raise self._unable(Ability.LOST_CONNECTION)
        self._network.cut()

    def _new_wire(self) -> Wire:
        """What follows one connection."""
        return type(self).wire()

    @abstractmethod
    def _enter(self, url: StoreUrl) -> ServerBackDoor:
        """The way into the store at `url`."""

    @abstractmethod
    def _store(self, url: StoreUrl) -> str:
        """What the store at `url` is called on its server."""

    def _url(self) -> str:
        url = self._template.replace(NUMBER, f"{self._token}_{self._number}")
        if self._claimed != url:
            self._claim(url)
        return url

    def _claim(self, url: str) -> None:
        """See to it that nothing is there yet: whatever is there later was made here, and is dropped."""
        if self._opened_door is not None:
            self._opened_door.close()
        self._opened_door = self._enter(StoreUrl.parse(url))
        if self._opened_door.exists():
            store = self._store(StoreUrl.parse(url))
            raise InvalidArgument(f"{store} exists: conform writes, and never touches what is there; name another")
        self._claimed = url

    def _drop(self) -> None:
        if self._claimed and self._opened_door is not None:
            self._opened_door.drop()
        self._claimed = ""

    def _door(self) -> ServerBackDoor:
        self._url()
        assert self._opened_door is not None
        return self._opened_door

    def _reached(self, url: str, options: dict[str, str] | None = None) -> str:
        """The URL by which an engine reaches its server: through the proxy, where a fault of the network is wanted."""
        parsed = StoreUrl.parse(url)
        place, all_options = parsed.place, {**parsed.options, **(options or {})}
        if self.wanted & self.proxied and not self._local:
            address, slash, rest = place.partition("/")
            user, at, server = address.rpartition("@")
            through = ",".join(map(self._through, server.split(",")))
            all_options = {k: v for k, v in all_options.items() if not k.startswith("ssl")} | self.plain
            place = f"{user}{at}{through}{slash}{rest}"
            if "hosts" in all_options:
                all_options["hosts"] = ",".join(map(self._through, all_options["hosts"].split(",")))
        return f"{parsed.scheme}://{with_options(place, all_options)}"

    def _through(self, server: str) -> str:
        """The address that stands for ``host:port``, or for ``host`` alone."""
        parsed = urlsplit(f"//{server}")
        host, port = self._network.address(parsed.hostname or "127.0.0.1", parsed.port or self.port)
        return f"{host}:{port}"
