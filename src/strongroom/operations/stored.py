"""Tables as a store has them: a store that was not migrated yet is read as it is, and nothing is migrated to read it.

A store's table may lack the columns of later steps. Its rows are true all the same (M4): they are read without those
columns, and each record then gets the columns' defaults, exactly as if the table had been migrated before.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from strongroom.engine import Engine, Reader
from strongroom.errors import Corrupt
from strongroom.records import Key, Record, Table

R = TypeVar("R", bound=Record)


class StoredTable(Generic[R]):
    """`table` as it stands in a store whose schema is at `version`; `version` is at least the table's own step.

    Every method's faults are those of the engine's method of the same name.
    """

    def __init__(self, table: Table[R], version: int) -> None:
        self.table = table
        self.version = version
        self._kept: Table[Any] = table
        if any(column.since > version for column in table.columns):
            self._kept = _older(table, version)

    def __repr__(self) -> str:
        return f"<stored table {self.table.name} at version {self.version}>"

    def get(self, reader: Reader, *key: Any) -> R | None:
        """The record under `key`, or None."""
        record = reader.get(self._kept, *key)
        return None if record is None else self._whole(record)

    def get_many(self, reader: Reader, keys: Sequence[Sequence[Any]]) -> list[R | None]:
        """The records under many keys, in their order, None for each that is not there."""
        return [None if record is None else self._whole(record) for record in reader.get_many(self._kept, keys)]

    def scan(
        self,
        reader: Reader,
        *prefix: Any,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]:
        """The records whose keys begin with `prefix`, in key order, at most `limit` of them."""
        records = reader.scan(self._kept, *prefix, after=after, limit=limit, reverse=reverse)
        return [self._whole(record) for record in records]

    def count(self, reader: Reader, *prefix: Any, limit: int) -> int:
        """How many records have keys that begin with `prefix`, counted no further than `limit`."""
        return reader.count(self._kept, *prefix, limit=limit)

    def examine(self, engine: Engine, *, after: Key | None = None, limit: int) -> list[tuple[Key, R | Corrupt]]:
        """Rows in key order, whatever state they are in: each one's stored key, and its record or what is wrong."""
        rows = engine.examine(self._kept, after=after, limit=limit)
        return [(key, found if isinstance(found, Corrupt) else self._whole(found)) for key, found in rows]

    def _whole(self, record: Any) -> R:
        whole: R = record if self._kept is self.table else self.table.record(*msgspec.structs.astuple(record))
        return whole


def _older(table: Table[R], version: int) -> Table[Any]:
    """`table` as it was at `version`, without the columns that came later."""
    hints = typing.get_type_hints(table.record, include_extras=True)
    kept = {column.name for column in table.columns if column.since <= version}
    fields: list[Any] = []
    for field in msgspec.structs.fields(table.record):
        if field.name not in kept:
            continue
        if field.default_factory is not msgspec.NODEFAULT:
            factory: Callable[[], Any] = field.default_factory
            fields.append((field.name, hints[field.name], msgspec.field(default_factory=factory)))
        elif field.default is not msgspec.NODEFAULT:
            fields.append((field.name, hints[field.name], field.default))
        else:
            fields.append((field.name, hints[field.name]))
    record = msgspec.defstruct(table.record.__name__, fields, bases=(Record,), module=table.record.__module__)
    rule = table.rule
    return Table(
        table.name,
        record,
        key=[("-" if part.descending else "") + part.column.name for part in table.key],
        scope=table.scope,
        changes=table.changes,
        since=table.since,
        rule=None if rule is None else lambda older: rule(table.record(*msgspec.structs.astuple(older))),
    )
