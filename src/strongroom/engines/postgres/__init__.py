"""PostgreSQL (psycopg 3): a store is a schema of a database.

``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME``. Options: ``schema=strongroom``, ``timeout_ms=30000``,
``pool=8``, ``prepare=0`` or ``1``, ``synchronous_commit=off`` (or a stronger one), and most of libpq's own.
"""

from __future__ import annotations

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.postgres.engine import PostgresEngine
from strongroom.engines.postgres.options import PostgresOptions, Target, options_of, target_of

__all__ = ["PostgresEngine", "PostgresOptions", "Target", "open_url"]


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a ``postgresql:`` or ``postgres:`` URL; raises as `strongroom.open`."""
    options = options_of(url)
    return PostgresEngine(target_of(url, options.timeout_ms), options, seal_key=seal_key)
