"""Connections to one server or cluster, set up alike."""

from __future__ import annotations

import math
import random
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT, FIELD_TYPE, SERVER_STATUS
from pymysql.converters import conversions

from strongroom.engines.mysql.faults import FAULTS, Lost, is_lost, translate
from strongroom.engines.mysql.options import Address, MysqlOptions
from strongroom.errors import Closed, InvalidArgument, StrongroomError, Unavailable
from strongroom.records import Row

_SQL_MODE: Final = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE"
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
    "wsrep_sync_wait",
    "idle_transaction_timeout",
)

NOW_MS: Final = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"
"""Asks for the server's time, in Unix milliseconds; whatever its time zone is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one statement: rows, or how many rows it inserted, found to update, or removed."""

    rows: Sequence[Row]
    count: int


class Asking(Protocol):
    """Whatever one statement can be asked of."""

    def ask(self, statement: str) -> Sequence[Row]:
        """The rows that the statement answers; raises Strongroom's faults."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server said of itself when a connection to it was made."""

    address: Address
    version: str
    max_packet: int
    flush: int
    """innodb_flush_log_at_trx_commit: 1 where each commit is flushed."""
    binary_log: bool
    sync_binlog: int
    cluster: bool
    """Whether it is a node of a Galera cluster."""

    @property
    def flushes(self) -> bool:
        """Whether a commit is on the disk before it is acknowledged (D2)."""
        return self.flush == 1


class Link:
    """One connection. One user at a time."""

    def __init__(self, connection: Connection[Any], server: Server, session: int, now_ms: int) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self.server = server
        self.session = session
        """The number that the server knows it by."""
        self.now_ms = now_ms
        """The server's time when the connection was made."""
        self.answers: list[Answer] = []
        """What was answered on the last trip, up to a statement that failed."""
        self.fit = True
        """Whether the connection can be used: not where it broke, or something broke off in the middle of a trip."""
        self._mine = True
        """Whether it is this process's."""

    @property
    def is_idle(self) -> bool:
        """Whether anyone may go on with the connection: it is fit, and no transaction is open on it."""
        status: int = self._connection.server_status  # type: ignore[attr-defined]
        return self.fit and not status & SERVER_STATUS.SERVER_STATUS_IN_TRANS

    def trip(self, statements: Sequence[str]) -> list[Answer]:
        """Send the statements together, and answer what came of each. The first that fails ends it, with its fault.

        The driver's faults come out as they are: what they mean depends on what was sent.
        """
        self.answers = answers = []
        self.fit = False
        cursor = self._cursor
        try:
            cursor.execute(";".join(statements))
            answers.append(Answer(cursor.fetchall(), cursor.rowcount))
            while cursor.nextset():
                answers.append(Answer(cursor.fetchall(), cursor.rowcount))
        except pymysql.MySQLError as fault:
            # A fault of the server's ends what was sent, and the connection stands.
            self.fit = self._connection.open and not is_lost(fault)
            raise
        self.fit = True
        return answers

    def ask(self, statement: str) -> Sequence[Row]:
        """The rows that one statement answers; raises Strongroom's faults."""
        self.fit = False
        cursor = self._cursor
        try:
            cursor.execute(statement)
            rows: Sequence[Row] = cursor.fetchall()
        except FAULTS as fault:
            self.fit = self._connection.open and not is_lost(fault)
            raise translate(fault) from fault
        self.fit = True
        return rows

    def forsake(self, why: str) -> None:
        """Raise `Closed` for whatever is asked of the connection, in a forked child: it is the parent's."""
        self._cursor = _Gone(why)
        self._mine = False

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        if self._connection.open and self._mine:
            if self.fit:
                self._connection.close()
            else:
                self._connection._force_close()  # type: ignore[attr-defined]  # mid-way through a trip it can't say goodbye


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


class _Gone:
    """Stands in a forked child where the cursor was."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise Closed(self._why)


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
                conv=_CONVERSIONS,
                program_name="strongroom",
                **arguments,
            )
        except FAULTS as fault:
            raise self._refused(address, fault) from fault
        except (OSError, ValueError, RuntimeError) as fault:  # what TLS says of its files, and a missing package
            raise InvalidArgument(f"MySQL: no connection can be made as the URL says: {_plain(fault)}") from fault
        try:
            return self._set_up(connection, address, max(1, math.ceil(patience)))
        except FAULTS as fault:
            connection.close()
            raise translate(fault) from fault
        except BaseException:
            connection.close()
            raise

    def _set_up(self, connection: Connection[Any], address: Address, patience_s: int) -> Link:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET SESSION sql_mode = '{_SQL_MODE}', time_zone = '+00:00', autocommit = 1, "
                f"innodb_lock_wait_timeout = {patience_s}, lock_wait_timeout = {patience_s}, wait_timeout = {_IDLE_S}; "
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; "
                f"SHOW VARIABLES WHERE Variable_name IN ({', '.join(repr(name) for name in _NAMES)}); "
                f"SELECT CONNECTION_ID(); {NOW_MS}"
            )
            cursor.nextset()
            cursor.nextset()
            said = {str(name): str(value) for name, value in cursor.fetchall()}
            cursor.nextset()
            ((session,),) = cursor.fetchall()
            cursor.nextset()
            ((now_ms,),) = cursor.fetchall()
            while cursor.nextset():
                pass
            if said["sql_mode"] != _SQL_MODE and set(said["sql_mode"].split(",")) != set(_SQL_MODE.split(",")):
                raise Unavailable("MySQL: the server, or a proxy before it, does not keep a session's sql_mode")
            cluster = said.get("wsrep_on") == "ON"
            settings = []
            if "idle_transaction_timeout" in said:  # MariaDB: a client that froze or vanished must not keep its locks
                settings.append(f"idle_transaction_timeout = {patience_s * 2}")
            if cluster:
                settings.append("wsrep_sync_wait = 1")
            if settings:
                cursor.execute(f"SET SESSION {', '.join(settings)}")
        server = Server(
            address,
            version=said["version"],
            max_packet=int(said["max_allowed_packet"]),
            flush=int(said["innodb_flush_log_at_trx_commit"]),
            binary_log=said["log_bin"] == "ON",
            sync_binlog=int(said["sync_binlog"]),
            cluster=cluster,
        )
        return Link(connection, server, int(session), int(now_ms))

    def _refused(self, address: Address, fault: Exception) -> StrongroomError:
        if not is_lost(fault):
            return translate(fault)
        place = self._options.unix_socket or "{}:{}".format(*address)
        return Lost(f"MySQL: no server answers at {place} ({_plain(fault)})")


def _plain(fault: BaseException) -> str:
    return str(fault.args[1] if len(fault.args) > 1 else fault)


def _text(data: str | bytes) -> str:
    """A key's text, which its column holds as bytes; what is not UTF-8 becomes lone surrogates, which no key has."""
    return data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")


_CONVERSIONS: Final[dict[Any, Any]] = {**conversions, FIELD_TYPE.VAR_STRING: _text, FIELD_TYPE.VARCHAR: _text}
