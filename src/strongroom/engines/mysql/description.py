"""What an operator may want to know of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strongroom.engines.mysql.link import Link, Server
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.options import MysqlOptions
from strongroom.engines.mysql.statements import literal
from strongroom.errors import StrongroomError

Facts = Mapping[str, str | int | bool | tuple[str, ...]]

_WAITS: Final = (
    "SELECT b.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, b.trx_started, NOW()), r.trx_mysql_thread_id "
    "FROM information_schema.innodb_lock_waits w "
    "JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id "
    "JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id LIMIT 20"
)
"""MariaDB's; MySQL 8 has this in performance_schema."""


def describe(links: Links, options: MysqlOptions) -> Facts:
    """The facts; those that the user may not ask for are left out."""
    return links.reading(lambda link: {**_of_the_server(link, links, options), **_of_the_cluster(link)})


def _of_the_server(link: Link, links: Links, options: MysqlOptions) -> Facts:
    server = link.server
    ((size,),) = link.ask(
        "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) FROM information_schema.tables "
        f"WHERE table_schema = {literal(options.database)}"
    )
    host, port = server.address
    return {
        "place": options.place,
        "connected_to": options.unix_socket or f"{host}:{port}",
        "server_version": server.version,
        "flush": _flush(server),
        "binary_log": f"sync_binlog={server.sync_binlog}" if server.binary_log else "off",
        "isolation": "locking reads at REPEATABLE READ",
        "connections_open": links.open,
        "connections_most": options.pool,
        "database_bytes": int(str(size)),
        "holders": _holders(link),
    }


def _flush(server: Server) -> str:
    if server.flushes:
        return "every commit"
    if server.flush == 1:
        return f"not by every commit (sync_binlog={server.sync_binlog})"
    return f"once a second (innodb_flush_log_at_trx_commit={server.flush})"


def _holders(link: Link) -> tuple[str, ...]:
    """Who keeps locks that others wait for."""
    try:
        rows = link.ask(_WAITS)
    except StrongroomError:
        return ()
    return tuple(f"session {a!r} keeps session {c!r} waiting, in a transaction of {b!r} s" for a, b, c in rows)


def _of_the_cluster(link: Link) -> Facts:
    if not link.server.cluster:
        return {}
    names = ("wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready")
    listed = ", ".join(map(literal, names))
    return {str(name): str(value) for name, value in link.ask(f"SHOW STATUS WHERE Variable_name IN ({listed})")}
