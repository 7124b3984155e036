"""The MySQL engine: write functions in groups on one connection, reads on as many as there are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
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
    Strength,
    Work,
    WritableRows,
    retry,
)
from strongroom.engines.mysql import snapshots
from strongroom.engines.mysql.clock import ServerClock
from strongroom.engines.mysql.commits import Commits
from strongroom.engines.mysql.connections import Connector, Link
from strongroom.engines.mysql.description import describe
from strongroom.engines.mysql.guards import Guards
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.engines.mysql.options import MysqlOptions
from strongroom.engines.mysql.schema import migrating, tables_of
from strongroom.engines.mysql.session import WriteSession
from strongroom.engines.mysql.single import QuickCalls
from strongroom.engines.mysql.statements import TableStatements

T = TypeVar("T")

_leaked: Final[list[Link]] = []
"""What a forked child must never close: the server would end the parent's session."""


class MysqlEngine(Engine):
    """An engine over one database of a server, or of a Galera cluster."""

    def __init__(self, options: MysqlOptions, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`."""
        self.options = options
        self._clock = ServerClock.of(options.hosts)
        self.links = Links(Connector(options), self._clock, size=options.pool, timeout_ms=options.timeout_ms)
        self.statements = TableStatements(options.database)
        self.marks = Marks(options.database, self._clock)
        self.guards = Guards(options.database)
        self.commits = Commits(self.links, self.marks, options.timeout_ms)
        self.committer: Committer[Work] = Committer(GroupRunner(self._begin).run)
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
        self.marks.check(token)
        return self.commits.settle(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """The server, its settings, the connections to it, and who waits for whose locks."""
        self._check_open()
        return describe(self.links, self.options)

    def _single_calls(self) -> WritableRows:
        return QuickCalls(self)

    def _read(self, work: Callable[[Rows], T]) -> T:
        return snapshots.read(self.links, self.statements, work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self.committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        def migrate() -> T:
            with self.links.lent() as link, migrating(link, self.options, self.statements, self.links.now) as rows:
                for statement in (self.marks.create, self.guards.create, self.marks.forget_old()):
                    link.ask(statement)
                return work(rows)

        return retry(migrate, on=Rivals)

    def _tables(self) -> set[str]:
        return self.links.reading(lambda link: tables_of(link.ask, self.options.database))

    @contextlib.contextmanager
    def _begin(self) -> Iterator[WriteSession]:
        session = WriteSession(self.links, self.statements, self.marks, self.commits, self.guards, self._clock)
        try:
            yield session
        finally:
            session.end()

    def _close(self) -> None:
        self.committer.close()
        self.links.close_after(lambda link: self.commits.forget(link, all_of_them=True), self._closed)

    def _forked(self) -> None:
        _leaked.extend(self.links.forsaken(self._closed))
