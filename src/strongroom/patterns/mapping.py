"""Mappings: what other systems do with an index, done with ordinary tables.

A *unique mapping* is a table whose insert-once key arbitrates who owns an attribute. An *ordered mapping* is a table
keyed by an attribute and then by identity, which lists another table's records in the attribute's order. Neither
holds a copy of what it points to: readers hydrate each record by its own key, and verify that the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from strongroom.engine import Reader, Writer
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument, VersionMismatch
from strongroom.records import Record, Table

M = TypeVar("M", bound=Record)
R = TypeVar("R", bound=Record)


class UniqueMapping(Generic[M]):
    """Insert-once entries: the first to claim a key owns it."""

    def __init__(self, table: Table[M]) -> None:
        self.table = table

    def claim(self, port: Writer, entry: M) -> M:
        """The entry that owns the key: this one, now inserted, or the one that was first.

        Raises `VersionMismatch` (retryable) if the owner went away between the refusal and the look at it.
        """
        try:
            port.insert(self.table, entry)
        except AlreadyExists:
            key = self.table.key_in(entry)
            owner = port.get(self.table, *key)
            if owner is None:
                raise VersionMismatch(f"{self.table.show(key)} was released at this moment") from None
            return owner
        return entry

    def release(self, port: Writer, entry: M) -> bool:
        """Give the key up if exactly `entry` owns it (W3): whether it did."""
        return port.delete(self.table, *self.table.key_in(entry), expect=entry)


class OrderedMapping(Generic[M, R]):
    """Entries of `mapping` that list the records of `table` in the order of the entries' keys.

    `locate` gives an entry's record's key; `agrees` whether a record is the one that the entry describes.
    """

    def __init__(
        self,
        mapping: Table[M],
        table: Table[R],
        *,
        locate: Callable[[M], Sequence[Any]],
        agrees: Callable[[M, R], bool],
    ) -> None:
        self.mapping = mapping
        self.table = table
        self._locate = locate
        self._agrees = agrees

    def ensure(self, port: Writer, entry: M) -> bool:
        """Have the entry, whether it was there or not: whether it is new."""
        try:
            port.insert(self.mapping, entry)
        except AlreadyExists:
            return False
        return True

    def scan(
        self,
        reader: Reader,
        *prefix: Any,
        start: Sequence[Any] | None = None,
        stop: Sequence[Any] | None = None,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]:
        """The records in the mapping's order; arguments and faults as `Engine.scan`, and as `records`."""
        entries = reader.scan(self.mapping, *prefix, start=start, stop=stop, after=after, limit=limit, reverse=reverse)
        return self.records(reader, entries)

    def records(self, reader: Reader, entries: Sequence[M]) -> list[R]:
        """The records that the entries point to, in their order; faults as `Engine.get_many`.

        Raises `Corrupt` for an entry whose record is missing or another than it describes: then no partial page.
        """
        records = reader.get_many(self.table, [self._key_in_table(entry) for entry in entries])
        for entry, record in zip(entries, records, strict=True):
            if (fault := self.fault(entry, record)) is not None:
                raise fault
        return [record for record in records if record is not None]

    def _key_in_table(self, entry: M) -> tuple[Any, ...]:
        try:
            return self.table.store_key(self.locate(entry))
        except InvalidArgument as problem:
            key = self.mapping.key_in(entry)
            raise Corrupt(
                f"{self.mapping.show(key)} points to what can't be ({problem})", table=self.mapping.name, key=key
            ) from None

    def locate(self, entry: M) -> tuple[Any, ...]:
        """The key of the record that the entry points to."""
        return tuple(self._locate(entry))

    def fault(self, entry: M, record: R | None) -> Corrupt | None:
        """What is wrong between an entry and the record that is stored where it points to; None if they agree."""
        if record is not None and self._agrees(entry, record):
            return None
        key = self.mapping.key_in(entry)
        wrong = "points to nothing" if record is None else f"disagrees with {self.table.show(self.locate(entry))}"
        return Corrupt(f"{self.mapping.show(key)} {wrong}", table=self.mapping.name, key=key)
