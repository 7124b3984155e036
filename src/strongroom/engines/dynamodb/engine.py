"""The DynamoDB engine: one table of DynamoDB's, reached through boto3 by any number of machines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from strongroom.engine import (
    Backoff,
    Claims,
    Committer,
    Durability,
    Engine,
    GroupRunner,
    Rows,
    SchemaRows,
    Sharing,
    Strength,
    Work,
    WritableRows,
)
from strongroom.engines.dynamodb.guards import Guards
from strongroom.engines.dynamodb.items import Items
from strongroom.engines.dynamodb.migration import MigrationRows
from strongroom.engines.dynamodb.observations import Observations
from strongroom.engines.dynamodb.options import DynamoOptions
from strongroom.engines.dynamodb.reading import Reading, Store
from strongroom.engines.dynamodb.service import Service, connect
from strongroom.engines.dynamodb.session import WriteSession
from strongroom.engines.dynamodb.single import DynamoCalls
from strongroom.engines.dynamodb.tables import Tables
from strongroom.engines.dynamodb.transactions import Transactions
from strongroom.errors import Conflict, StrongroomError

T = TypeVar("T")

RETRIES: Final = Backoff(attempts=100, first_ms=20, cap_ms=400)
"""How often functions run that lose to rivals, and how long they wait. Whoever has just won knows the guard, and wins
again more easily; who has lost reads it anew, and each try is paid for: hurrying helps nobody. Of four processes that
append to one log, one lost 25 times in a row, and an append took 3 to 4 requests instead of 2. With pauses of 5 to
60 ms it was 5 requests, fewer appends, and as long a wait.
"""
_READS: Final = 48
"""How often a function reads until nothing has changed meanwhile; to wait would only let more change."""

_MOST_IN_GROUP: Final = 48
"""The most write functions in one transaction, which has a hundred items at most."""

_leaked: Final[list[object]] = []
"""What a forked child must never close: the connections are its parent's."""


class DynamoEngine(Engine):
    """An engine over one table of DynamoDB's, which `prepare` makes. Credentials come from boto3's own chain.

    Arguments:
        table: the DynamoDB table's name.
        options: how the service is reached.
        seal_key: 16 to 64 bytes that seal every row; None for keyless seals.
    """

    claims = Claims(
        strength=Strength.MULTI_RECORD,
        durability=Durability.FLUSHED,
        sharing=Sharing.NETWORK,
        guards_immutable=False,
        reopens=True,
    )

    def __init__(self, table: str, options: DynamoOptions | None = None, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`; nothing is asked of the service yet."""
        self.options = options or DynamoOptions()
        client = connect(
            self.options.region,
            self.options.endpoint,
            connections=self.options.connections,
            timeout_ms=self.options.timeout_ms,
        )
        service = Service(client, table, self.options.timeout_ms)
        self._store = Store(service, Guards(service), Items(), Tables(service), Transactions(service))
        self._committer: Committer[Work] = Committer(
            GroupRunner(self._begin, backoff=RETRIES).run, max_group=_MOST_IN_GROUP
        )
        super().__init__("dynamodb", seal_key=seal_key)

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept; any engine object on the store may be asked (T6).

        What was not kept by then never will be. Raises `InvalidArgument` for what is no token of this engine's, and
        for one that is older than six days; `Unavailable` while the service can't be reached.
        """
        self._check_outside("resolve")
        return self._store.transactions.resolve(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """The table, how it is paid for, and how large DynamoDB says it is (looked at every six hours)."""
        self._check_open()
        found = self._store.tables.describe() or {}
        return {
            "place": f"{self._store.service.client.meta.endpoint_url} {self._store.service.table}",
            "region": self._store.service.client.meta.region_name,
            "flush": "every commit, by the service before it acknowledges",
            "table_status": str(found.get("TableStatus", "not made")),
            "billing": str(found.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED" if found else "")),
            "item_count": int(found.get("ItemCount", 0)),
            "table_bytes": int(found.get("TableSizeBytes", 0)),
            "timeout_ms": self.options.timeout_ms,
        }

    def _single_calls(self) -> WritableRows:
        self._calls = DynamoCalls(self, self._committer, self._store)
        return self._calls

    def _read(self, work: Callable[[Rows], T]) -> T:
        observations = Observations()
        restless = False
        for attempt in range(_READS):
            observations.begin()
            reading = Reading(self._store, observations, together=True, restless=restless)
            if attempt:
                reading.read_ahead()
            try:
                result = work(reading)
            except Exception as fault:
                if _holds(reading):  # or it may come from rows that were never so together
                    raise fault
            else:
                if reading.holds():
                    return result
            restless = reading.walked_once
        raise Conflict(f"DynamoDB: what was read changed meanwhile, {_READS} times in a row")

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        def migrate(rows: WritableRows) -> T:
            migration = MigrationRows(rows, self._store.tables)
            result = work(migration)
            migration.note()
            return result

        self._store.tables.make_store()
        try:
            result: T = self._committer.submit(Work(migrate))
        except BaseException:
            self._store.tables.forget()
            raise
        return result

    def _tables(self) -> set[str]:
        return self._store.tables.names()

    @contextlib.contextmanager
    def _begin(self) -> Iterator[WriteSession]:
        yield WriteSession(self._store)

    def _close(self) -> None:
        self._committer.close()
        self._calls.updates.wait()
        self._store.service.close()

    def _forked(self) -> None:
        _leaked.append(self._store.service.client)


def _holds(reading: Reading) -> bool:
    try:
        return reading.holds()
    except StrongroomError:
        return True  # what came before it says as much
