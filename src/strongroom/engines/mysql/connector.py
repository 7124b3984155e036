"""Connections to one server or cluster, set up alike."""

from __future__ import annotations

import math
import random
import ssl
import time
from collections.abc import Sequence
from typing import Any, Final

from pymysql.connections import Connection
from pymysql.constants import CLIENT

from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.faults import FAULTS, Lost, translate
from strongroom.engines.mysql.link import Link, Server
from strongroom.engines.mysql.options import Address, MysqlOptions
from strongroom.engines.mysql.wire import Wire
from strongroom.errors import Conflict, InvalidArgument, StrongroomError, Unavailable
from strongroom.records import Row

_SQL_MODE: Final = ("STRICT_ALL_TABLES", "NO_ENGINE_SUBSTITUTION")
"""Nothing is cut short to fit, and texts are written with backslashes, whatever the server is set to."""
_MARGIN_S: Final = 2.0
"""How much longer the socket waits than the server does for a lock: what the server says comes first."""
_SHUNNED_S: Final = 10.0
"""For how long a server that took no connection is tried behind the others."""
_PAUSE_S: Final = 0.2
"""How long to wait before a cluster of which no node was ready is asked again."""
_IDLE_S: Final = 600
"""How long the server keeps a connection that nobody uses."""

_NAMES: Final = (
    "innodb_flush_log_at_trx_commit",
    "max_allowed_packet",
    "sql_mode",
    "sync_binlog",
    "log_bin",
    "version",
    "wsrep_on",
    "idle_transaction_timeout",
)

NOW_MS: Final = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"
"""Asks for the server's time, in Unix milliseconds; whatever its time zone is."""


class _Connection(Connection):
    """The driver's, which loads every authority that the machine trusts anew for each connection, to ask none."""

    def _create_ssl_ctx(self, given: dict[str, Any]) -> ssl.SSLContext:
        make = super()._create_ssl_ctx  # type: ignore[misc]
        if given:
            context: ssl.SSLContext = make(given)
            return context
        if not _unverified:
            _unverified.append(make({}))
        return _unverified[0]


_unverified: Final[list[ssl.SSLContext]] = []
"""What encrypts where the server offers it, and nobody said whom to trust."""


class Connector:
    """Makes connections as the options say."""

    def __init__(self, options: MysqlOptions) -> None:
        self._options = options
        self._failed: dict[Address, float] = {}
        """When a server last failed to take a connection."""

    def connect(self) -> Link:
        """A new connection to the first server that takes one and is ready.

        Raises `Unavailable` where none does, for as long as the options say if it is a cluster, which may be about to
        find its quorum; `InvalidArgument` where one refuses the user or an option.
        """
        deadline = time.monotonic() + self._options.timeout_ms / 1000
        while True:
            hosts = self._in_order()
            for address in hosts:
                try:
                    return self._connect(address)
                except Unavailable:
                    self._failed[address] = now = time.monotonic()
                    if address == hosts[-1] and (len(hosts) == 1 or now + _PAUSE_S >= deadline):
                        raise
            time.sleep(_PAUSE_S)

    def _in_order(self) -> list[Address]:
        """The servers as they are to be tried: those that failed a moment ago last."""
        hosts = list(self._options.hosts)
        if self._options.balance:
            random.shuffle(hosts)
        lately = time.monotonic() - _SHUNNED_S
        return sorted(hosts, key=lambda address: self._failed.get(address, 0.0) > lately)

    def _connect(self, address: Address) -> Link:
        options = self._options
        patience = options.timeout_ms / 1000
        host, port = address
        arguments: dict[str, Any] = dict(options.tls)
        try:
            connection = _Connection(
                host=host,
                port=port,
                unix_socket=options.unix_socket or None,
                user=options.user,
                password=options.password,
                charset="utf8mb4",
                autocommit=None,
                client_flag=CLIENT.FOUND_ROWS | CLIENT.MULTI_STATEMENTS,
                connect_timeout=max(1, math.ceil(patience / len(options.hosts))),
                read_timeout=patience + _MARGIN_S,
                write_timeout=patience + _MARGIN_S,
                program_name="strongroom",
                **arguments,
            )
        except FAULTS as fault:
            raise self._refused(address, fault) from fault
        except (OSError, ValueError, RuntimeError) as fault:  # what TLS says of its files, and a missing package
            raise InvalidArgument(f"MySQL: no connection can be made as the URL says: {_plain(fault)}") from fault
        wire = Wire(connection)
        try:
            return self._set_up(wire, address, max(1, math.ceil(patience)))
        except FAULTS as fault:
            wire.close()
            raise self._refused(address, fault) from fault
        except BaseException:
            wire.close()
            raise

    def _set_up(self, wire: Wire, address: Address, patience_s: int) -> Link:
        """Make the session what the engine takes for granted, and see that it is."""
        _, _, variables, ((session,),), ((now_ms,),) = _asked(
            wire,
            f"SET SESSION sql_mode = '{','.join(_SQL_MODE)}', time_zone = '+00:00', autocommit = 1, sql_notes = 1, "
            f"innodb_lock_wait_timeout = {patience_s}, lock_wait_timeout = {patience_s}, wait_timeout = {_IDLE_S}",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            f"SHOW VARIABLES WHERE Variable_name IN ({', '.join(map(repr, _NAMES))})",
            "SELECT CONNECTION_ID()",
            NOW_MS,
        )
        said = {str(name): str(value) for name, value in variables}
        if set(said["sql_mode"].split(",")) != set(_SQL_MODE):
            raise Unavailable("MySQL: the server, or a proxy before it, does not keep a session's sql_mode")
        if "idle_transaction_timeout" in said:  # MariaDB: a client that froze or vanished must not keep its locks
            _asked(wire, f"SET SESSION idle_transaction_timeout = {patience_s * 2}")
        cluster = said.get("wsrep_on") == "ON"
        if cluster:
            _join(wire)
        server = Server(
            address,
            version=said["version"],
            max_packet=int(said["max_allowed_packet"]),
            flush=int(said["innodb_flush_log_at_trx_commit"]),
            binary_log=said["log_bin"] == "ON",
            sync_binlog=int(said["sync_binlog"]),
            cluster=cluster,
        )
        return Link(wire, server, int(str(session)), int(str(now_ms)))

    def _refused(self, address: Address, fault: Exception) -> StrongroomError:
        found = translate(fault)
        if not isinstance(found, Lost | Conflict):  # what a node says to which no quorum is left
            return found
        place = self._options.unix_socket or "{}:{}".format(*address)
        return Lost(f"MySQL: no server answers at {place} ({_plain(fault)})")


def _join(wire: Wire) -> None:
    """Have a node of a cluster wait, at each read and transaction, for all that was acknowledged on any other (R1).

    Raises `Unavailable` for a node that is not ready: one without a quorum takes connections all the same.
    """
    _, ((waits,),), ready = _asked(
        wire,
        "SET SESSION wsrep_sync_wait = 1",
        "SELECT @@SESSION.wsrep_sync_wait",
        "SHOW STATUS WHERE Variable_name = 'wsrep_ready'",
    )
    if waits != 1:
        raise Unavailable("MySQL: the node does not keep a session's wsrep_sync_wait")
    if [str(value) for _, value in ready] != ["ON"]:
        raise Lost("MySQL: the node has no quorum, or is not ready yet")


def _asked(wire: Wire, *statements: str) -> list[Sequence[Row]]:
    """What each of the statements answers."""
    answers: list[Answer] = []
    wire.exchange(";".join(statements), answers)
    return [answer.rows for answer in answers]


def _plain(fault: BaseException) -> str:
    return str(fault.args[1] if len(fault.args) > 1 else fault)
