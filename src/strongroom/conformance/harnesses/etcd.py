"""A harness for etcd: each store is a prefix of the keys."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import unquote

from strongroom.conformance.backdoors.etcd import EtcdBackDoor
from strongroom.conformance.harnesses.servers import SERVER_FAULTS, THROUGH_PROXY, ServerHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires.etcd import EtcdWire, Spoiler
from strongroom.conformance.wires.wire import Wire
from strongroom.engine import StoreUrl


class EtcdHarness(ServerHarness):
    """As `ServerHarness`, for ``etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX``."""

    port = 2379
    plain: ClassVar[dict[str, str]] = {}
    sockets = frozenset({"tls", "ca", "cert", "key"})
    proxied = THROUGH_PROXY | SERVER_FAULTS

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        self._spoiler = Spoiler()
        super().__init__(template, seal_key=seal_key)

    def _new_wire(self) -> Wire:
        return EtcdWire(self._spoiler)

    def _enter(self, url: StoreUrl) -> EtcdBackDoor:
        login, _, rest = url.place.rpartition("@")
        user, _, password = login.partition(":")
        servers = [server if ":" in server else f"{server}:{self.port}" for server in rest.partition("/")[0].split(",")]
        return EtcdBackDoor(servers, self._store(url), self._spoiler, user=unquote(user), password=unquote(password))

    def _store(self, url: StoreUrl) -> str:
        return unquote(url.place.partition("/")[2])

    def _numbered(self, url: StoreUrl) -> str:
        place = url.place.rstrip("/")
        place = f"{place}_{NUMBER}" if "/" in place else f"{place}/conform_{NUMBER}"
        return f"{url.scheme}://{with_options(place, url.options)}"
