"""A harness for PostgreSQL: each store is a schema of one database."""

from __future__ import annotations

from strongroom.conformance.backdoors.postgres import PostgresBackDoor
from strongroom.conformance.harnesses.servers import ServerHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires import PostgresWire
from strongroom.engine import StoreUrl

SCHEMA = "schema"


class PostgresHarness(ServerHarness):
    """As `ServerHarness`, for ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME``."""

    port = 5432
    wire = PostgresWire

    def _enter(self, url: StoreUrl) -> PostgresBackDoor:
        return PostgresBackDoor(f"postgresql://{url.place}", self._store(url))

    def _store(self, url: StoreUrl) -> str:
        return url.options[SCHEMA]

    def _numbered(self, url: StoreUrl) -> str:
        schema = url.options.get(SCHEMA, "conform")
        return f"{url.scheme}://{with_options(url.place, {**url.options, SCHEMA: f'{schema}_{NUMBER}'})}"
