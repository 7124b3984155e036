"""The port's operations over an engine's rows: checking, encoding and sealing on the way in, proof on the way out.

Everything that a record goes through between a store and an engine is here, once. `ReadOperations` and
`WriteOperations` serve three users alike: a read function, a write function, and the engine's own single calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from strongroom.engine.port import Guard, Rows, WritableRows
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument, Unsupported, VersionMismatch
from strongroom.records import (
    MAX_LIMIT,
    SEAL,
    AnyTable,
    Key,
    KeyRange,
    Record,
    Row,
    RowCodec,
    Sealer,
    Table,
    Unfit,
    check_limit,
    key_range,
)

R = TypeVar("R", bound=Record)
T = TypeVar("T")
S = TypeVar("S", bound=Rows)
W = TypeVar("W", bound=WritableRows)


class Codecs(dict[AnyTable, RowCodec[Any]]):
    """One codec for each table, made when it is first asked for, all under one sealer."""

    def __init__(self, sealer: Sealer) -> None:
        super().__init__()
        self.sealer = sealer

    def __missing__(self, table: AnyTable) -> RowCodec[Any]:
        codec = self[table] = RowCodec(table, self.sealer)
        return codec


class ReadOperations(Generic[S]):
    """The reading half of the port, in one snapshot."""

    def __init__(self, rows: S, codecs: Codecs) -> None:
        self._rows = rows
        self._codecs = codecs

    def get(self, table: Table[R], *key: Any) -> R | None:
        """The record under `key`, or None (R3).

        Raises `InvalidArgument` for a key that the table can't have, `Corrupt` for a row that is not what was
        written (R4), `Unavailable` where the engine can't be reached.
        """
        row = self._rows.fetch(table, table.store_key(key))
        return None if row is None else self._codecs[table].decode(row)

    def get_many(self, table: Table[R], keys: Sequence[Sequence[Any]]) -> list[R | None]:
        """The records under many keys (at most 10,000), in their order, None for each that is not there.

        They are read from one snapshot (R2), in one round trip where the engine can; only where it offers
        single-record transactions and no more, each is a read of its own. Raises as `get`; more keys are
        `InvalidArgument`.
        """
        if len(keys) > MAX_LIMIT:
            raise InvalidArgument(f"{table.name}: at most {MAX_LIMIT} keys at once, not {len(keys)}")
        stored = [table.store_key(key) for key in keys]
        decode = self._codecs[table].decode
        return [None if row is None else decode(row) for row in self._rows.fetch_many(table, stored)]

    def scan(
        self,
        table: Table[R],
        *prefix: Any,
        start: Sequence[Any] | None = None,
        stop: Sequence[Any] | None = None,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]:
        """The records whose keys begin with `prefix`, in key order, at most `limit` (1 to 10,000) of them (K3, R5).

        `start` (included) and `stop` (excluded) bound the key columns after the prefix, and may be leading values.
        `after` is the rest of a full key, excluded: the walk goes on behind it, in its own direction; no such row
        need exist. `reverse` walks from the end. Raises as `get`; one corrupt row fails the whole scan.
        """
        wanted = key_range(table, prefix, start=start, stop=stop, after=after, limit=limit, reverse=reverse)
        return self._codecs[table].decode_all(self._rows.fetch_range(table, wanted))

    def count(self, table: Table[R], *prefix: Any, limit: int) -> int:
        """How many records have keys that begin with `prefix`, counted no further than `limit` (1 to 10,000)."""
        check_limit(table, limit)
        return self._rows.tally(table, table.store_key(prefix, partial=True), limit)

    def examine(self, table: Table[R], *, after: Key | None = None, limit: int) -> list[tuple[Key, R | Corrupt]]:
        """Rows in key order, whatever state they are in: each one's stored key, and its record or what is wrong.

        `after` is the stored key to go on from, excluded. This is how `verify` names every bad row and goes on (R4).
        """
        check_limit(table, limit)
        rows = self._rows.fetch_range(table, KeyRange(lower=after, lower_open=after is not None, limit=limit))
        return [(table.key_of(row), self._examined(table, row)) for row in rows]

    def _examined(self, table: Table[R], row: Row) -> R | Corrupt:
        try:
            record: R = self._codecs[table].decode(row)
        except Corrupt as found:
            return found
        return record


class WriteOperations(ReadOperations[W]):
    """The whole port, in one transaction."""

    def insert(self, table: Table[R], record: R) -> None:
        """Keep a new record (W1).

        Raises `AlreadyExists`, the stored row untouched, if its key has one; `InvalidArgument`, before the engine is
        asked, for a record that the table can't hold (K2, K4).
        """
        row = self._codecs[table].encode(record)
        key = table.key_of(row)
        if not self._rows.insert(table, key, row):
            raise AlreadyExists(f"{table.show(key)} exists already")

    def update(self, table: Table[R], record: R, *, expect: R | int) -> None:
        """Put `record` over the stored one if that is as expected (compare-and-set, W2).

        `expect` is the version that the stored row must have, or the whole record that it must equal. Every value,
        the version too, is written exactly as `record` has it. Raises `VersionMismatch` (retryable), nothing
        written, if the stored row is another or there is none; `Unsupported` if the table is not `VERSIONED` (W4);
        `InvalidArgument` as `insert`.
        """
        if not table.changes.update:
            raise Unsupported(f"{table.name}: its rows are never updated")
        row = self._codecs[table].encode(record)
        key = table.key_of(row)
        if isinstance(expect, Record):
            guard = self._whole_row(table, key, expect)
        else:
            if type(expect) is not int:
                raise InvalidArgument(f"{table.name}: expect is a version or a record, not {type(expect).__name__}")
            index = table.index[table.changes.version]
            column = table.columns[index]
            try:
                guard = Guard(index, column.name, column.kind.store(expect))
            except Unfit as problem:
                raise table.unfit(column, problem) from None
        if not self._rows.replace(table, key, row, guard):
            raise VersionMismatch(f"{table.show(key)} is not as expected, or not there")

    def put(self, table: Table[R], record: R) -> None:
        """Keep `record`, over whatever its key has.

        Raises `Unsupported` if the table is not `REPLACEABLE` (W4); `InvalidArgument` as `insert`.
        """
        if not table.changes.put:
            raise Unsupported(f"{table.name}: its rows are never replaced")
        row = self._codecs[table].encode(record)
        self._rows.put(table, table.key_of(row), row)

    def delete(self, table: Table[R], *key: Any, expect: R | None = None) -> bool:
        """Remove the record under `key`, only if it equals `expect` where that is given (W3).

        Returns whether a record was removed: False, and nothing changed, if it is absent or another. Raises
        `Unsupported` if the table allows no deletes (W4); `InvalidArgument` for a key that it can't have.
        """
        if not table.changes.delete:
            raise Unsupported(f"{table.name}: its rows are never deleted")
        stored = table.store_key(key)
        guard = None if expect is None else self._whole_row(table, stored, expect)
        return self._rows.remove(table, stored, guard)

    def now(self) -> int:
        """The engine's clock, in Unix milliseconds; never less than it answered before."""
        return self._rows.clock()

    def _whole_row(self, table: Table[R], key: Sequence[Any], expect: R) -> Guard:
        row = self._codecs[table].encode(expect)
        if table.key_of(row) != tuple(key):
            raise InvalidArgument(f"{table.name}: the expected record has another key")
        return Guard(len(row) - 1, SEAL, row[-1])


class OpenTransaction(WriteOperations[WritableRows]):
    """What a write function gets. It is of no use once the function has ended."""

    def __init__(self, rows: WritableRows, codecs: Codecs) -> None:
        super().__init__(rows, codecs)
        self.abandoned = False

    def abandon(self, result: T) -> T:
        """Mark the transaction to end without a commit, and hand `result` through (T5): ``return tx.abandon(x)``."""
        self.abandoned = True
        return result

    def end(self) -> None:
        """Refuse every later use."""
        self._rows = ENDED


class OpenSnapshot(ReadOperations[Rows]):
    """What a read function gets. It is of no use once the function has ended."""

    def end(self) -> None:
        """Refuse every later use."""
        self._rows = ENDED


class _Ended:
    """Stands in for the rows of a snapshot or transaction that has ended."""

    def _refuse(self, *_args: Any) -> Any:
        raise InvalidArgument("this transaction has ended: use what it returned, or the engine")

    fetch = fetch_many = fetch_range = tally = insert = replace = put = remove = clock = _refuse


ENDED = _Ended()
