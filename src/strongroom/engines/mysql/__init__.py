"""MySQL and MariaDB (PyMySQL), also as a Galera cluster.

``mysql://user:password@host:3306/DATABASE``, or ``mariadb://...``, which is the same. Options: see `MysqlOptions`.
"""

from __future__ import annotations

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.mysql.engine import MysqlEngine
from strongroom.engines.mysql.options import MysqlOptions

__all__ = ["MysqlEngine", "MysqlOptions", "open_url"]


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a ``mysql:`` or ``mariadb:`` URL; raises as `strongroom.open`."""
    return MysqlEngine(MysqlOptions.parse(url), seal_key=seal_key)
