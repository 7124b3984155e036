"""The PostgreSQL engine: one schema of a database, shared by any number of processes and machines.

All transactions are serializable, single ones too: the server guards them only against each other. Writes of one
engine object go as groups, each one transaction over one connection of the pool; reads take any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from strongroom.engine import (
    Claims,
    Committer,
    Durability,
    Engine,
    Rows,
    SchemaRows,
    Sharing,
    Strength,
    Work,
    WritableRows,
    retried,
)
from strongroom.engines.postgres.calls import Call, Statement
from strongroom.engines.postgres.connector import Connector
from strongroom.engines.postgres.links import Links
from strongroom.engines.postgres.marks import Marks
from strongroom.engines.postgres.migration import migrate, tables_in
from strongroom.engines.postgres.options import FLUSHING, PostgresOptions, Target
from strongroom.engines.postgres.session import WriteLane
from strongroom.engines.postgres.single import PostgresCalls
from strongroom.engines.postgres.snapshots import Snapshots, ask_once
from strongroom.engines.postgres.statements import TableStatements
from strongroom.engines.postgres.values import TEXT
from strongroom.engines.sql import ServerClock

T = TypeVar("T")

_leaked: Final[list[object]] = []
"""What a forked child must never close: closing would end the parent's sessions."""

_SIZE: Final = Statement(
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, "
    "coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::bigint FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
    [TEXT],
)
_REPLICAS: Final = Statement("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")


class PostgresEngine(Engine):
    """An engine over a schema of the database that `target` names.

    Arguments:
        target: whom to connect to.
        options: how to behave; the schema is one of them.
        seal_key: 16 to 64 bytes that seal every row; None for keyless seals.
    """

    def __init__(self, target: Target, options: PostgresOptions, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`."""
        self.options = options
        self._target = target
        connector = Connector(target, options)
        statements = TableStatements(options.schema)
        marks = Marks(options.schema, connector.connect, options.timeout_ms)
        self._links = Links(connector, options)
        self._lane = WriteLane(self._links, statements, marks, ServerClock.of(target.place))
        self._snapshots = Snapshots(self._links, statements)
        self._committer: Committer[Work] = Committer(self._lane.run)
        self._links.leave(self._links.take())  # what the server says of itself decides what is claimed
        facts = connector.facts
        assert facts is not None
        self._facts = facts
        flushed = facts.fsync and facts.synchronous_commit in FLUSHING
        self.claims = Claims(
            strength=Strength.MULTI_RECORD,
            durability=Durability.FLUSHED if flushed else Durability.PROCESS,
            sharing=Sharing.NETWORK,
            guards_immutable=True,
            reopens=True,
        )
        super().__init__("postgresql", seal_key=seal_key)

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept (T6), asked of any engine object on the store.

        Raises `InvalidArgument` for a token that is not one of these, or is older than six days; `Unavailable` where
        the server can't be reached within ``timeout_ms``, or the transaction is still under way.
        """
        self._check_open()
        return self._lane.marks.resolve(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """Where the store is, how the server flushes, what connections there are, and how much room it takes (D2)."""
        self._check_open()
        ((size, dead),) = self._ask(_SIZE([self.options.schema]))
        ((replicas,),) = self._ask(_REPLICAS())
        facts = self._facts
        flush = f"every commit (fsync={'on' if facts.fsync else 'off'}, synchronous_commit={facts.synchronous_commit})"
        if self.claims.durability < Durability.FLUSHED:
            flush = flush.replace("every commit", "not before a commit is acknowledged")
        return {
            "place": self._target.place,
            "schema": self.options.schema,
            "server_version": facts.version,
            "flush": flush,
            "isolation": "serializable",
            "proxied": facts.proxied,
            "connections_open": self._links.open,
            "connections_most": self.options.pool,
            "database_bytes": int(size),
            "dead_rows": int(dead),
            "replicas_streaming": int(replicas),
        }

    def _single_calls(self) -> WritableRows:
        return PostgresCalls(self, self._committer, self._lane, self._ask)

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self._snapshots.read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return retried(lambda: migrate(self._lane, work))

    def _tables(self) -> set[str]:
        return {str(name) for (name,) in self._ask(tables_in(self.options.schema))}

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        return retried(lambda: ask_once(self._links, call))

    def _close(self) -> None:
        self._committer.close()
        self._lane.sweep_marks()
        self._links.close(self._closed)

    def _forked(self) -> None:
        _leaked.extend(link.forsake(self._closed) for link in self._links.forsake())
