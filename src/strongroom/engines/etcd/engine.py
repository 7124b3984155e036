"""The etcd engine: optimistic transactions over a cluster, none of which holds anything while its function runs.

Whatever a transaction reads is of one revision, and its commit is one conditional request that holds only if all of
that is still so. Writers of one engine object go in groups, which share one commit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from strongroom.engine import (
    BufferedRows,
    Claims,
    Clock,
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
    retried,
)
from strongroom.engines.etcd.commits import PATIENCE, Commits
from strongroom.engines.etcd.layout import Layout
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import RangeRequest
from strongroom.engines.etcd.migration import MigrationRows
from strongroom.engines.etcd.options import EtcdOptions
from strongroom.engines.etcd.session import MOST, WriteSession
from strongroom.engines.etcd.single import EtcdCalls
from strongroom.engines.etcd.snapshots import Snapshot, Store
from strongroom.engines.etcd.tails import Tails
from strongroom.engines.etcd.view import View
from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.records import AnyTable

T = TypeVar("T")

MAX_GROUP: Final = 100
"""The most jobs in one group: of the usual ones, which change a row each, as many as one request holds."""

_leaked: Final[list[object]] = []
"""What a forked child must never close."""


class EtcdEngine(Engine):
    """An engine over the keys of one prefix.

    Arguments:
        options: how the members are reached, and the prefix.
        seal_key: 16 to 64 bytes that seal every row; None for keyless seals.
    """

    claims = Claims(
        strength=Strength.MULTI_RECORD,
        durability=Durability.FLUSHED,
        sharing=Sharing.NETWORK,
        guards_immutable=False,
        reopens=True,
    )

    def __init__(self, options: EtcdOptions, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`; nothing is asked of the members yet."""
        self.options = options
        self._members = Members(options.access)
        self._layout = Layout(options.prefix)
        self._clock = Clock()
        self._known: set[str] = set()
        self._store = Store(self._members, self._layout, Tails(), self._check_table)
        self._commits = Commits(self._members, self._layout, self._clock, options.limits)
        runner = GroupRunner(self._begin, backoff=PATIENCE)
        self._committer: Committer[Work] = Committer(runner.run, max_group=MAX_GROUP)
        super().__init__("etcd", seal_key=seal_key)

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown`, of any engine object on the store, was kept (T6).

        If it was not, it never will be. Raises `Unavailable` while the servers can't be reached, `InvalidArgument` for
        a token that is none of this store's.
        """
        self._check_outside("resolve")
        return self._commits.settle(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """Where the store is, and what the member says that is asked at present."""
        self._check_open()
        status = self._members.status()
        return {
            "place": f"{','.join(self.options.access.addresses)}/{self._layout.prefix}",
            "member": self._members.address,
            "leads": status.leader == status.header.member_id,
            "server_version": status.version,
            "flush": "every commit, by a majority of the members",
            "revision": status.header.revision,
            "database_bytes": status.dbSize,
            "database_used_bytes": status.dbSizeInUse,
            "alarms": tuple(status.errors),
        }

    def _single_calls(self) -> WritableRows:
        return EtcdCalls(self, self._committer, self._store, self._commits, self._clock.now)

    def _read(self, work: Callable[[Rows], T]) -> T:
        def attempt() -> T:
            snapshot = Snapshot(self._store)
            try:
                result = work(snapshot)
            except BaseException:
                _end(snapshot.fault)
                raise
            _end(snapshot.fault)
            return result

        return retried(attempt, backoff=PATIENCE)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        def attempt() -> T:
            with self._begin() as session:
                rows = BufferedRows(session, session.clock)
                result = work(MigrationRows(rows, session))
                session.commit(rows)
                return result

        return retried(attempt, backoff=PATIENCE)

    @contextlib.contextmanager
    def _begin(self) -> Iterator[WriteSession]:
        yield WriteSession(self._store, self._commits, self._clock.now)

    def _tables(self) -> set[str]:
        first, _ = span = self._layout.tables
        pairs = View(self._members).walk(span, MOST, keys_only=True).pairs
        found = {pair.key[len(first) :].decode() for pair in pairs}
        self._known |= found
        return found

    def _check_table(self, table: AnyTable) -> None:
        # A table never goes: once it was there, it is not looked for again.
        if table.name in self._known:
            return
        if not self._members.range(RangeRequest(key=self._layout.table(table.name), keys_only=True)).kvs:
            raise InvalidArgument(f"{table.name}: no such table; prepare its schema first")
        self._known.add(table.name)

    def _close(self) -> None:
        self._committer.close()
        with contextlib.suppress(StrongroomError):  # the next engine object's close removes what this one leaves
            self._commits.close()
        self._members.close(self._closed)

    def _forked(self) -> None:
        _leaked.append(self._members)
        self._members.forsake(self._closed)


def _end(fault: StrongroomError | None) -> None:
    """Begin again where the snapshot was lost, whatever its function made of that."""
    if isinstance(fault, Rivals):
        raise fault
