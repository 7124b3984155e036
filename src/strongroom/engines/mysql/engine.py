"""The MySQL engine: write functions in groups on one connection, reads on as many as there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from strongroom.engine import (
    Claims,
    Committer,
    Durability,
    Engine,
    GroupRunner,
    Rivals,
    Rows,
    SchemaRows,
    Sharing,
    Stale,
    Strength,
    Work,
    WritableRows,
)
from strongroom.engines.mysql import snapshots
from strongroom.engines.mysql.commits import Commits
from strongroom.engines.mysql.connector import Connector
from strongroom.engines.mysql.description import describe
from strongroom.engines.mysql.guards import Guards
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.engines.mysql.migration import migrating, tables_of
from strongroom.engines.mysql.options import MysqlOptions
from strongroom.engines.mysql.session import WriteLane
from strongroom.engines.mysql.single import MysqlCalls
from strongroom.engines.mysql.statements import TableStatements
from strongroom.engines.sql import ServerClock

T = TypeVar("T")

_leaked: Final[list[object]] = []
"""What a forked child must never close: the server would end the parent's session."""

_PAUSE_S: Final = 0.05
"""How long a migration waits for another one's next step."""


class MysqlEngine(Engine):
    """An engine over one database of a server, or of a Galera cluster.

    Arguments:
        options: whom to connect to, and how to behave; the database is one of them.
        seal_key: 16 to 64 bytes that seal every row; None for keyless seals.
    """

    def __init__(self, options: MysqlOptions, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`."""
        self.options = options
        clock = ServerClock.of((options.hosts, options.unix_socket))
        self.links = Links(Connector(options), clock, size=options.pool, timeout_ms=options.timeout_ms)
        self.statements = TableStatements(options.database)
        self._marks = Marks(options.database, clock)
        self._guards = Guards(options.database)
        self._commits = Commits(self.links, self._marks, options.timeout_ms)
        self.lane = WriteLane(self.links, self.statements, self._marks, self._commits, self._guards, clock)
        self._committer: Committer[Work] = Committer(GroupRunner(self.lane.begin).run)
        with self.links.lent() as link:
            server = link.server
        self.claims = Claims(
            strength=Strength.MULTI_RECORD,
            durability=Durability.FLUSHED if server.flushes else Durability.PROCESS,
            sharing=Sharing.NETWORK,
            guards_immutable=True,
            reopens=True,
        )
        try:
            super().__init__("mysql", seal_key=seal_key)
        except BaseException:
            self.links.close("the engine was never opened")
            raise

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept (T6); asked of any engine object on the store.

        Raises `InvalidArgument` for what is no token of this engine's, or for one that is over six days old, and
        `Unavailable` while it can't be known.
        """
        self._check_open()
        self._marks.check(token)
        return self._commits.resolve(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """The server, its settings, the connections to it, and who waits for whose locks."""
        self._check_open()
        return describe(self.links, self.options)

    def _single_calls(self) -> WritableRows:
        return MysqlCalls(self, self._committer)

    def _read(self, work: Callable[[Rows], T]) -> T:
        return snapshots.read(self.links, self.statements, work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        deadline = time.monotonic() + self.options.timeout_ms / 1000
        while True:
            hurried = time.monotonic() >= deadline
            try:
                with self.links.lent() as link, self._migrating(link, hurried) as rows:
                    for statement in self._own_tables():
                        link.ask(statement)
                    return work(rows)
            except (Rivals, Stale):
                if hurried:
                    raise
                time.sleep(_PAUSE_S)

    def _migrating(self, link: Link, hurried: bool) -> AbstractContextManager[SchemaRows]:
        return migrating(link, self.options, self.statements, self.links.now, hurried=hurried)

    def _tables(self) -> set[str]:
        return self.links.reading(lambda link: tables_of(link.ask, self.options.database))

    def _own_tables(self) -> tuple[str, ...]:
        """The statements that make what the engine keeps for itself, and clear away what is old of it."""
        marks, guards = self._marks, self._guards
        return (marks.create, guards.create, guards.create_turn, marks.remove_old())

    def _close(self) -> None:
        self._committer.close()
        self.links.close_after(lambda link: self._commits.sweep(link, all_of_them=True), self._closed)

    def _forked(self) -> None:
        _leaked.extend(self.links.forsaken(self._closed))
