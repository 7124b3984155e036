"""The engine's calls, whatever engine it is, with one safeguard broken: ranges, changes, refusals, messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import SingleCalls, operations
from strongroom.engine.operations import OpenTransaction, ReadOperations, WriteOperations
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    VersionMismatch,
)
from strongroom.records import AnyTable, KeyRange, ranges
from strongroom.records.keys import after_all, encode_key

MEMORY = Ground.MEMORY


@mutant("R5", on=MEMORY)
def start_exclusive(patch: Patches) -> None:
    """A range begins behind its start."""
    bounds = KeyRange.bounds

    def opened(self: KeyRange, table: AnyTable) -> tuple[bytes, bytes | None]:
        low, high = bounds(self, table)
        return low if self.lower is None or self.lower_open else low + b"\0", high

    patch.method(KeyRange, "bounds", opened)


@mutant("R5", on=MEMORY)
def cursor_inclusive(patch: Patches) -> None:
    """A page begins with the row that the one before it ended with."""

    def shut(self: KeyRange, table: AnyTable) -> tuple[bytes, bytes | None]:
        prefix = encode_key(table, self.prefix)
        low = prefix if self.lower is None else encode_key(table, self.prefix + self.lower)
        return low, after_all(prefix) if self.upper is None else encode_key(table, self.prefix + self.upper)

    patch.method(KeyRange, "bounds", shut)


def _key_range(patch: Patches, change: Callable[[AnyTable, Any, dict[str, Any]], tuple[Any, dict[str, Any]]]) -> None:
    """Have the arguments of a scan changed before they are looked at."""
    make = ranges.key_range

    def changed(table: AnyTable, prefix: Sequence[Any], **given: Any) -> KeyRange:
        prefix, given = change(table, prefix, given)
        return make(table, prefix, **given)

    patch.function(make, changed)


@mutant("R5", on=MEMORY)
def cursor_forgets_the_start(patch: Patches) -> None:
    """A scan that has a cursor looks at it alone, and not at the bounds given beside it."""
    _key_range(
        patch,
        lambda _table, prefix, given: (
            prefix,
            given | ({"start": None, "stop": None} if given.get("after") is not None else {}),
        ),
    )


@mutant("R5", on=MEMORY)
def half_cursor_accepted(patch: Patches) -> None:
    """A cursor of some leading key values is taken for a start behind them."""

    def complete(table: AnyTable, prefix: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        after = given.get("after")
        half = after is not None and 0 < len(after) < len(table.key) - len(prefix)
        return prefix, given | ({"after": None, "start": after} if half else {})

    _key_range(patch, complete)


@mutant("R5", on=MEMORY)
def text_taken_for_a_bound(patch: Patches) -> None:
    """A bound that is a text, and not a tuple with one, is taken for a tuple of its characters."""
    _key_range(
        patch,
        lambda _table, prefix, given: (
            prefix,
            {name: tuple(v) if name in ("start", "stop") and type(v) is str else v for name, v in given.items()},
        ),
    )


@mutant("R5", on=MEMORY)
def pages_not_bounded(patch: Patches) -> None:
    """A limit may be as great as one likes, or zero, or a bool."""
    patch.function(ranges.check_limit, lambda table, limit: None)


@mutant("R3", on=MEMORY)
def many_keys_answered_in_another_order(patch: Patches) -> None:
    """Rows that are asked for together come back in key order, without what is not there."""

    def sorted_many(self: Any, table: AnyTable, keys: Sequence[Sequence[Any]]) -> Any:
        rows = [self._rows.fetch(table, key) for key in sorted({table.store_key(key) for key in keys})]
        return [self._codecs[table].decode(row) for row in rows if row is not None]

    patch.method(ReadOperations, "get_many", sorted_many)


@mutant("R2", on=(MEMORY, Ground.SQLITE))
def many_keys_read_one_after_the_other(patch: Patches) -> None:
    """Rows that are asked for together are each read at a moment of their own."""
    patch.method(SingleCalls, "fetch_many", lambda self, table, keys: [self.fetch(table, key) for key in keys])


@mutant("W2", on=MEMORY)
def update_counts_the_version_up(patch: Patches) -> None:
    """An update writes the stored version plus one, whatever version it was given."""
    update = WriteOperations.update

    def counting(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        if type(expect) is int:
            record = record.replace(**{table.changes.version: expect + 1})
        update(self, table, record, expect=expect)

    patch.method(WriteOperations, "update", counting)


@mutant("W2", on=MEMORY)
def update_refuses_an_older_version(patch: Patches) -> None:
    """An update that leads to a lesser version is refused."""
    update = WriteOperations.update

    def upwards(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        if type(expect) is int and table.changes.version and getattr(record, table.changes.version) < expect:
            raise VersionMismatch(f"{table.name}: versions only rise")
        update(self, table, record, expect=expect)

    patch.method(WriteOperations, "update", upwards)


@mutant("W2", on=MEMORY)
def update_compares_the_version_in_the_record(patch: Patches) -> None:
    """An update expects the version before the one that it writes, whatever it was told to expect."""
    update = WriteOperations.update

    def derived(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        if type(expect) is int and table.changes.version:
            expect = max(0, getattr(record, table.changes.version) - 1)
        update(self, table, record, expect=expect)

    patch.method(WriteOperations, "update", derived)


@mutant("W2", on=MEMORY)
def update_compares_versions_where_a_record_is_expected(patch: Patches) -> None:
    """An update that expects a whole record is content with its version."""
    update = WriteOperations.update

    def loosely(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        if table.changes.version and type(expect) is table.record:
            expect = getattr(expect, table.changes.version)
        update(self, table, record, expect=expect)

    patch.method(WriteOperations, "update", loosely)


@mutant("W2", on=MEMORY)
def mismatch_passed_over(patch: Patches) -> None:
    """An update that met another version, or no row, says nothing."""
    update = WriteOperations.update

    def quiet(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        try:
            update(self, table, record, expect=expect)
        except VersionMismatch:
            return

    patch.method(WriteOperations, "update", quiet)


@mutant("W1", on=MEMORY)
def insert_of_the_same_record_passes(patch: Patches) -> None:
    """A second insert is let pass if it says the same: two claimants both believe that they were first."""
    insert = WriteOperations.insert

    def lenient(self: Any, table: AnyTable, record: Any) -> None:
        try:
            insert(self, table, record)
        except AlreadyExists:
            if self.get(table, *[getattr(record, name) for name in table.key_names]) != record:
                raise

    patch.method(WriteOperations, "insert", lenient)


@mutant("W4", on=MEMORY)
def immutable_rows_can_be_deleted(patch: Patches) -> None:
    """A delete is tried in every table, whatever its declaration."""

    def lenient(self: Any, table: AnyTable, *key: Any, expect: Any = None) -> bool:
        stored = table.store_key(key)
        removed: bool = self._rows.remove(
            table, stored, None if expect is None else self._whole_row(table, stored, expect)
        )
        return removed

    patch.method(WriteOperations, "delete", lenient)


@mutant("W4", on=MEMORY)
def immutable_rows_can_be_replaced(patch: Patches) -> None:
    """A put is tried in every table, whatever its declaration."""

    def lenient(self: Any, table: AnyTable, record: Any) -> None:
        row = self._codecs[table].encode(record)
        self._rows.put(table, table.key_of(row), row)

    patch.method(WriteOperations, "put", lenient)


@mutant("W3", on=MEMORY)
def guard_of_another_key_accepted(patch: Patches) -> None:
    """A guard that describes another row is taken for one that is not met."""
    whole_row = WriteOperations._whole_row

    def lenient(self: Any, table: AnyTable, key: Sequence[Any], expect: Any) -> Any:
        return whole_row(self, table, table.key_of(self._codecs[table].encode(expect)), expect)

    patch.method(WriteOperations, "_whole_row", lenient)


@mutant("W5", on=MEMORY)
def refusal_ends_the_transaction(patch: Patches) -> None:
    """After an operation was refused, its transaction refuses everything, as PostgreSQL's do."""
    insert = WriteOperations.insert

    def fatal(self: Any, table: AnyTable, record: Any) -> None:
        try:
            insert(self, table, record)
        except AlreadyExists:
            if isinstance(self, OpenTransaction):
                self._rows = operations.ENDED
            raise

    patch.method(WriteOperations, "insert", fatal)


@mutant("K4", "R3", on=MEMORY)
def key_with_too_many_values_accepted(patch: Patches) -> None:
    """Of a key with more values than the table's the first ones are taken."""
    get = ReadOperations.get

    def lenient(self: Any, table: AnyTable, *key: Any) -> Any:
        return get(self, table, *key[: len(table.key)])

    patch.method(ReadOperations, "get", lenient)


@mutant("E1", on=MEMORY)
def mismatch_not_retryable(patch: Patches) -> None:
    """A stale update is reported as a wrong call, which nobody tries again."""
    update = WriteOperations.update

    def blaming(self: Any, table: AnyTable, record: Any, *, expect: Any) -> None:
        try:
            update(self, table, record, expect=expect)
        except VersionMismatch as fault:
            raise InvalidArgument(str(fault)) from fault

    patch.method(WriteOperations, "update", blaming)


@mutant("E2", on=MEMORY)
def refused_record_shown(patch: Patches) -> None:
    """The message about a refused insert shows the record."""
    insert = WriteOperations.insert

    def telling(self: Any, table: AnyTable, record: Any) -> None:
        try:
            insert(self, table, record)
        except AlreadyExists as fault:
            raise AlreadyExists(f"{fault}: {record}") from None

    patch.method(WriteOperations, "insert", telling)
