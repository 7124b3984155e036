"""A harness for MySQL and MariaDB, also in a cluster: each store is a database."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import unquote, urlsplit

from strongroom.conformance.backdoors.mysql import MysqlBackDoor
from strongroom.conformance.harnesses.servers import ServerHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires.mysql import MysqlWire
from strongroom.engine import StoreUrl


class MysqlHarness(ServerHarness):
    """As `ServerHarness`, for ``mysql://USER:PASSWORD@HOST:PORT/DATABASE``."""

    port = 3306
    plain: ClassVar = {"ssl": "0"}
    wire = MysqlWire
    sockets = frozenset({"unix_socket"})

    def _enter(self, url: StoreUrl) -> MysqlBackDoor:
        parsed = urlsplit(f"//{url.place}")
        user, password = unquote(parsed.username or "root"), unquote(parsed.password or "")
        server = {"host": parsed.hostname or "127.0.0.1", "port": parsed.port or self.port}
        socket = {name: url.options[name] for name in self.sockets if name in url.options}
        return MysqlBackDoor(self._store(url), user=user, password=password, **server, **socket)

    def _store(self, url: StoreUrl) -> str:
        return unquote(url.place.partition("/")[2])

    def _numbered(self, url: StoreUrl) -> str:
        place = url.place.rstrip("/")
        place = f"{place}_{NUMBER}" if "/" in place else f"{place}/conform_{NUMBER}"
        return f"{url.scheme}://{with_options(place, url.options)}"
