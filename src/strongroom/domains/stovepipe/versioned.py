"""What the stores of versioned records have in common: create, and the pure conditional write (W2).

Versions belong to the caller. An update writes only where the stored version is the old one, writes the new one
exactly as given, and never looks at the version inside the record that it gets. A caller takes the new version for
its own only after the update has returned: until then its object is what is stored.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Generic, TypeVar

from strongroom.domains.stovepipe.faults import FAULTS, VersionMismatch
from strongroom.engine import Writer
from strongroom.patterns import ScopedTable
from strongroom.records import Record, Table

V = TypeVar("V", bound=Record)


class VersionedStore(Generic[V]):
    """The records of one versioned table that belong to one queue."""

    retained: ClassVar[Collection[str]] = ()
    """Columns that an update leaves as they are stored, whatever the record says."""

    def __init__(self, port: Writer, table: Table[V], queue: str) -> None:
        self._rows = ScopedTable(port, table, (queue,), FAULTS)
        self._table = table
        self._queue = queue

    def create(self, record: V) -> None:
        """Keep a new record, as it is.

        Raises the domain's `AlreadyExists`, what is stored untouched (W1); before the engine is asked
        `ScopeMismatch` for another queue's record (S2) and `InvalidArgument` for a value that a column can't hold
        (K2, K4).
        """
        self._rows.insert(record)

    def update(self, record: V, old_version: int, new_version: int) -> None:
        """Put `record` over the stored one, if that one's version is `old_version` (W2).

        The record is complete: every column but the key and the `retained` ones is replaced. Its version becomes
        exactly `new_version`; `record.version` is never looked at, and `record` is left as it is. A store that
        retains columns reads the stored record first, and then makes its one conditional write: what it retains
        never changes, so that nothing can come between. The others make the write alone.

        Raises the domain's `VersionMismatch` (retryable), nothing written, for another version and for no record at
        all; before the engine is asked `ScopeMismatch` for another queue's record (S2) and `InvalidArgument` for a
        value that a column can't hold, the two versions included.
        """
        self._table.check_type(record)
        updated: V = record.replace(version=new_version)
        if self.retained:
            updated = self._with_retained(updated, old_version)
        self._rows.update(updated, expect=old_version)

    def update_next(self, record: V) -> V:
        """Put `record` over the stored one that it was made of, and whose version it has, as the version after that.

        Returns the record as it is stored now. Raises as `update`.
        """
        self._table.check_type(record)
        column = self._table.changes.version
        version: int = getattr(record, column)
        self.update(record, version, version + 1)
        return record.replace(**{column: version + 1})

    def _with_retained(self, updated: V, old_version: int) -> V:
        # The read comes before the write's own checks, but not before what they refuse is refused.
        self._rows.check_scope(updated)
        self._table.check(updated, ignore=self.retained)
        self._table.check_value("version", old_version)
        key = self._rows.key_of(updated)
        stored = self._rows.find(*key)
        if stored is None or getattr(stored, self._table.changes.version) != old_version:
            raise VersionMismatch(f"{self._table.show((self._queue, *key))} is not as expected, or not there")
        return updated.replace(**{name: getattr(stored, name) for name in self.retained})
