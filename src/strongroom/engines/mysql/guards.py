"""Guard rows: what makes transactions on several nodes of a Galera cluster serializable (T2).

A cluster compares what transactions wrote, and nothing else: two that each read what the other one writes are both
kept, whatever they locked on their own nodes. So each transaction also writes, for everything that it read or changed,
a row that stands for it: two that meet in one are both written there, and the cluster keeps only the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.statements import MYSQL, literal
from strongroom.records import AnyTable, Key, encode_key

TABLE: Final = "strongroom_guards"

_TURN: Final = "('', 0, 0)"

BUCKETS: Final = 64
"""How many guard rows a table has: what falls into one is taken for the same."""


class Guards:
    """The guard rows of the database `database`."""

    def __init__(self, database: str) -> None:
        self.name = f"{MYSQL.name(database)}.{MYSQL.name(TABLE)}"

    @property
    def create(self) -> str:
        """Makes the table, if it is not there."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self.name} (table_name VARBINARY(48) NOT NULL, bucket BIGINT NOT NULL, "
            "n BIGINT NOT NULL, PRIMARY KEY (table_name, bucket)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
        )

    @property
    def create_turn(self) -> str:
        """Makes the row that transactions lock which take turns, if it is not there."""
        return f"INSERT INTO {self.name} VALUES {_TURN} ON DUPLICATE KEY UPDATE n = n"

    @property
    def take_turn(self) -> str:
        """Waits for the turn of the transaction that asks."""
        return f"SELECT n FROM {self.name} WHERE table_name = _binary'' AND bucket = 0 FOR UPDATE"

    def bump(self, reached: Iterable[tuple[AnyTable, Key]], link: Link) -> list[str]:
        """The statement that writes the guard rows of all that was reached; none where there is but one node."""
        if not link.server.cluster:
            return []
        rows = sorted({(table.name, bucket) for table, key in reached for bucket in buckets(table, key)})
        listed = ", ".join(f"({literal(name)}, {bucket}, 1)" for name, bucket in rows)
        return [f"INSERT INTO {self.name} VALUES {listed} ON DUPLICATE KEY UPDATE n = n + 1"]


def buckets(table: AnyTable, key: Key) -> Iterable[int]:
    """The guard rows that stand for a key, or for all keys that begin with these values."""
    first = max(table.scope, 1)
    if len(key) < first:
        return range(BUCKETS)
    return (crc32(encode_key(table, key[:first])) % BUCKETS,)
