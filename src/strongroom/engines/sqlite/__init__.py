"""SQLite (apsw): the embedded default.

``sqlite:///path.db`` is a file beside you, ``sqlite:////tmp/path.db`` one from the root, ``sqlite://:memory:`` none.
Options: ``exclusive=1``, ``create=0``, ``synchronous=normal``, ``timeout_ms=30000``, ``wal_limit_mib=64``.
"""

from __future__ import annotations

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.sqlite.engine import SqliteEngine, SqliteOptions
from strongroom.engines.sqlite.memory import SqliteMemoryEngine
from strongroom.errors import InvalidArgument

__all__ = ["SqliteEngine", "SqliteMemoryEngine", "SqliteOptions", "open_url"]


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a ``sqlite:`` URL; raises as `strongroom.open`."""
    if url.place == ":memory:":
        url.allow()
        return SqliteMemoryEngine(seal_key=seal_key)
    url.allow("exclusive", "create", "synchronous", "timeout_ms", "wal_limit_mib")
    if not url.place.startswith("/") or url.path in ("", "/"):
        raise InvalidArgument("a SQLite file is named sqlite:///path.db (or sqlite:////path.db from the root)")
    if "\0" in url.path:
        raise InvalidArgument("a path has no NUL")
    options = SqliteOptions(
        exclusive=url.flag("exclusive"),
        create=url.flag("create", default=True),
        synchronous=url.choice("synchronous", "full", ("full", "normal")),
        timeout_ms=url.number("timeout_ms", 30_000),
        wal_limit_mib=url.number("wal_limit_mib", 64, minimum=1),
    )
    return SqliteEngine(url.path, options, seal_key=seal_key)
