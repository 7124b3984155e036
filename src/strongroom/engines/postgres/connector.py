"""Connections to the server, set up alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg

from strongroom.engines.postgres.calls import Call, Statement
from strongroom.engines.postgres.link import GRACE_MS, Link
from strongroom.engines.postgres.options import PostgresOptions, Target
from strongroom.errors import InvalidArgument, StrongroomError, Unavailable, Unsupported, cut

_OLDEST: Final = 140_000
"""PostgreSQL 14: the first in which libpq's pipelines and replaceable triggers both stand."""
_LONGEST_PAUSE_MS: Final = 60_000
"""How long a write function may do something else between two reads: while it does, it keeps others waiting."""
_SHOWN: Final = 200
"""The most characters that a message shows of what libpq says; it shows no password."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself when a connection to it is made."""

    version: str
    fsync: bool
    synchronous_commit: str
    """As it is set for the engine's commits."""
    proxied: bool
    """Whether somebody stands between, who deals the server's sessions out anew for each transaction."""


class Connector:
    """Makes connections.

    A session of our own is set up once: every statement is then a serializable, read-only transaction by itself
    unless it says otherwise, so that a single read costs no BEGIN. Where a proxy stands between, nothing that is set
    can be relied upon behind the next commit: it is set again in each transaction.
    """

    def __init__(self, target: Target, options: PostgresOptions) -> None:
        self.target = target
        self._options = options
        self.facts: ServerFacts | None = None

    def connect(self) -> Link:
        """A new connection.

        Raises `Unavailable` where the server can't be reached or is a standby, `InvalidArgument` where it does not
        let the user in, or the database can't be used, `Unsupported` for a server that is too old.
        """
        try:
            connection = psycopg.connect(**self.target.parameters, autocommit=True)
        except psycopg.Error as fault:
            # Without its frames: their locals hold the password, and some show those of a traceback.
            raise _refused(fault, self.target.place) from fault.with_traceback(None)
        try:
            link = Link(connection, prepares=False, timeout_ms=self._options.timeout_ms)
            self._set_up(link, connection.info.backend_pid)
        except BaseException:
            connection.close()
            raise
        return link

    def _set_up(self, link: Link, pid: int) -> None:
        settings = self._settings()
        # Kept for the session only if the one that answers is the one that was connected to.
        kept = "".join(f", set_config('{name}', '{value}', pg_backend_pid() <> {pid})" for name, value in settings)
        asked = self._options.synchronous_commit
        flush = (
            f"'{asked}'"
            if asked
            else "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
            "ELSE current_setting('synchronous_commit') END"
        )
        (answer,) = link.trip(
            Statement(
                "SELECT current_setting('server_version'), current_setting('server_version_num')::bigint, "
                "current_setting('server_encoding'), pg_is_in_recovery()::text, current_setting('fsync'), "
                f"set_config('synchronous_commit', {flush}, pg_backend_pid() <> {pid}), pg_backend_pid()::bigint{kept}"
            )()
        )
        (row,) = link.rows(answer)
        version, number, encoding, recovers, fsync, synchronous_commit, answered, *_ = [*row]
        if int(str(number)) < _OLDEST:
            raise Unsupported(f"PostgreSQL {version} is too old: 14 is the oldest that can be used")
        if encoding != "UTF8":
            raise InvalidArgument(
                f"the database's encoding is {encoding}, and has to be UTF8: createdb -E UTF8 -T template0 NAME"
            )
        if recovers == "true":
            raise Unavailable(
                "PostgreSQL: the server is a standby: name the primary, or all servers and "
                "target_session_attrs=read-write"
            )
        proxied = answered != pid
        self.facts = ServerFacts(str(version), fsync == "on", str(synchronous_commit), proxied)
        prepares = not proxied if self._options.prepare is None else self._options.prepare
        setup: tuple[Call, ...] = ()
        if proxied:
            settings += (("synchronous_commit", str(synchronous_commit)),)
            local = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings)
            setup = (Statement(f"SELECT {local}")(),)
        link.agree(prepares=prepares, setup=setup)

    def _settings(self) -> tuple[tuple[str, str], ...]:
        milliseconds = str(self._options.timeout_ms)
        return (
            ("default_transaction_isolation", "serializable"),
            ("default_transaction_read_only", "on"),
            # Else a read waits until no write is under way.
            ("default_transaction_deferrable", "off"),
            # What is called here by its name alone is PostgreSQL's own.
            ("search_path", "pg_catalog"),
            # A scan that is not an index walk locks the whole table against phantoms, and conflicts with everyone.
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("plan_cache_mode", "force_generic_plan"),
            ("jit", "off"),
            # A policy that hides rows is an error, not an empty answer.
            ("row_security", "off"),
            ("client_min_messages", "error"),
            ("lock_timeout", milliseconds),
            # Later than a lock's, so that who waits for one is told so; sooner than the client gives up waiting.
            ("statement_timeout", str(self._options.timeout_ms + GRACE_MS // 2)),
            ("idle_in_transaction_session_timeout", str(max(self._options.timeout_ms, _LONGEST_PAUSE_MS))),
        )


def _refused(fault: psycopg.Error, place: str) -> StrongroomError:
    """The fault for a connection that was not made. libpq has no SQLSTATE for it, only words, in any language."""
    said = " ".join(str(fault).split())
    if fault.sqlstate in ("28P01", "28000") or "password authentication failed" in said or "no password" in said:
        return InvalidArgument(f"PostgreSQL at {place} does not let the user in: check user, password and pg_hba.conf")
    if fault.sqlstate == "3D000" or ("database" in said and "does not exist" in said):
        return InvalidArgument(f"PostgreSQL at {place}: there is no such database; createdb makes one")
    if isinstance(fault, psycopg.ProgrammingError) or ("invalid " in said and " value" in said):
        return InvalidArgument(f"postgresql URL: an option has a value that it can't have ({cut(said, _SHOWN)})")
    return Unavailable(f"PostgreSQL at {place} can't be reached, or takes no connection ({cut(said, _SHOWN)})")
