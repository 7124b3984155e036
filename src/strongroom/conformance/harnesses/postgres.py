"""A harness for PostgreSQL: each store is a schema of one database."""

from __future__ import annotations

from typing import ClassVar, Final

from strongroom.conformance.backdoors.postgres import PostgresBackDoor
from strongroom.conformance.harnesses.servers import ServerHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires.postgres import PostgresWire
from strongroom.engine import StoreUrl

SCHEMA: Final = "schema"
_OWN: Final = {SCHEMA, "timeout_ms", "pool", "prepare"}
"""The options that are the engine's; all others are libpq's."""


class PostgresHarness(ServerHarness):
    """As `ServerHarness`, for ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME``."""

    port = 5432
    plain: ClassVar = {"sslmode": "disable"}
    wire = PostgresWire
    sockets = frozenset({"host", "hostaddr"})

    def _enter(self, url: StoreUrl) -> PostgresBackDoor:
        options = {name: value for name, value in url.options.items() if name not in _OWN}
        return PostgresBackDoor(f"postgresql://{with_options(url.place, options)}", self._store(url))

    def _store(self, url: StoreUrl) -> str:
        return url.options[SCHEMA]

    def _numbered(self, url: StoreUrl) -> str:
        schema = url.options.get(SCHEMA, "conform")
        return f"{url.scheme}://{with_options(url.place, {**url.options, SCHEMA: f'{schema}_{NUMBER}'})}"
