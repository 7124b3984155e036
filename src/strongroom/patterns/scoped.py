"""Scoped tables: a table as one queue or tenant sees it, with a domain's own faults (S1-S3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from strongroom.engine import Transaction, Writer
from strongroom.errors import AlreadyExists, InvalidArgument, NotFound, ScopeMismatch, VersionMismatch, show_key
from strongroom.records import Record, Table

R = TypeVar("R", bound=Record)

PAGE: Final = 200
"""Rows of one page of a walk: few round trips, and no answer that an engine or a small machine would choke on."""


@dataclass(frozen=True, slots=True)
class Faults:
    """A domain's own subclasses of the faults that its callers catch."""

    not_found: type[NotFound] = NotFound
    already_exists: type[AlreadyExists] = AlreadyExists
    version_mismatch: type[VersionMismatch] = VersionMismatch


def check_scope(table: Table[Any], scope: Sequence[Any]) -> None:
    """Raises `InvalidArgument` unless `scope` can be the scope of `table`: as many values, none of them empty (S3)."""
    if len(scope) != table.scope:
        raise InvalidArgument(f"{table.name}: the scope has {table.scope} values, not {len(scope)}")
    for name, value in zip(table.key_names, scope, strict=False):
        if value == "":
            raise InvalidArgument(f"{table.name}.{name}: a scope is never empty")
    table.store_key(scope, partial=True)


class ScopedTable(Generic[R]):
    """One table of an engine (or of one transaction), bound to a scope: nothing outside can be seen or touched.

    Keys are given without the scope's values. Raises `InvalidArgument` for a scope that can't be (S3).
    """

    def __init__(self, port: Writer, table: Table[R], scope: Sequence[Any], faults: Faults | None = None) -> None:
        check_scope(table, scope)
        self._port = port
        self._scope = tuple(scope)
        self._faults = faults or Faults()
        self.table = table

    def within(self, transaction: Transaction) -> ScopedTable[R]:
        """The same view inside a transaction."""
        return ScopedTable(transaction, self.table, self._scope, self._faults)

    def find(self, *key: Any) -> R | None:
        """The record under `key`, or None; raises as `Engine.get`."""
        return self._port.get(self.table, *self._scope, *key)

    def get(self, *key: Any) -> R:
        """The record under `key`; the domain's `NotFound` if there is none, else raises as `Engine.get`."""
        record = self.find(*key)
        if record is None:
            raise self._faults.not_found(f"nothing is stored as {self.table.show((*self._scope, *key))}")
        return record

    def get_many(self, keys: Sequence[Sequence[Any]]) -> list[R | None]:
        """The records under many keys (at most 10,000), in their order, None for each that is not there."""
        return self._port.get_many(self.table, [(*self._scope, *key) for key in keys])

    def insert(self, record: R) -> None:
        """Keep a new record; `ScopeMismatch` for one of another scope (S2), the domain's `AlreadyExists` (W1)."""
        self.check_scope(record)
        try:
            self._port.insert(self.table, record)
        except AlreadyExists as fault:
            raise self._faults.already_exists(str(fault)) from fault

    def ensure(self, record: R) -> R:
        """The stored record under this one's key: this one, now inserted, or the one that was there first.

        Raises as `insert`, but for `AlreadyExists`; the domain's `NotFound` if that one was removed at this moment.
        """
        try:
            self.insert(record)
        except AlreadyExists:
            return self.get(*self.key_of(record))
        return record

    def update(self, record: R, *, expect: R | int) -> None:
        """Compare-and-set (W2); `ScopeMismatch` for another scope, the domain's `VersionMismatch`."""
        self.check_scope(record)
        try:
            self._port.update(self.table, record, expect=expect)
        except VersionMismatch as fault:
            raise self._faults.version_mismatch(str(fault)) from fault

    def delete(self, *key: Any, expect: R | None = None) -> bool:
        """Guarded, idempotent removal (W3): whether a record was removed."""
        if expect is not None:
            self.check_scope(expect)
        return self._port.delete(self.table, *self._scope, *key, expect=expect)

    def scan(
        self,
        *prefix: Any,
        start: Sequence[Any] | None = None,
        stop: Sequence[Any] | None = None,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]:
        """The scope's records whose keys begin with `prefix`; arguments and faults as `Engine.scan`."""
        return self._port.scan(
            self.table, *self._scope, *prefix, start=start, stop=stop, after=after, limit=limit, reverse=reverse
        )

    def walk(self, *prefix: Any, page: int = PAGE) -> Iterator[R]:
        """Every record of the scope whose key begins with `prefix`, in key order, read in pages of `page` rows.

        The pages are not one snapshot (R2): a row that is written meanwhile may or may not be met. Raises as `scan`.
        """
        after: tuple[Any, ...] | None = None
        while True:
            records = self.scan(*prefix, after=after, limit=page)
            yield from records
            if len(records) < page:
                return
            after = self.key_of(records[-1])[len(prefix) :]

    def count(self, *prefix: Any, limit: int) -> int:
        """How many of the scope's keys begin with `prefix`, counted no further than `limit`."""
        return self._port.count(self.table, *self._scope, *prefix, limit=limit)

    def key_of(self, record: R) -> tuple[Any, ...]:
        """The record's key without the scope's values."""
        return self.table.key_in(record)[len(self._scope) :]

    def check_scope(self, record: R) -> None:
        """Raises `ScopeMismatch` for a record of another scope (S2), `InvalidArgument` for one of another type."""
        self.table.check_type(record)
        named = self.table.key_in(record)[: len(self._scope)]
        if named != self._scope:
            theirs, ours = (show_key(self.table.shown_key(scope)) for scope in (named, self._scope))
            raise ScopeMismatch(f"{self.table.name}: a record of {theirs} in the scope {ours}")
