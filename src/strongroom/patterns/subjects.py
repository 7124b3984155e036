"""Subjects: what a domain declares of itself, so that the operator's tools know what must hold in its store.

A schema alone says which rows there may be. Its subject adds which of its tables are logs, whose positions have no
gap, and which are ordered mappings, whose entries agree with the records that they point to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strongroom.patterns.log import Log
from strongroom.patterns.mapping import OrderedMapping
from strongroom.records import AnyTable, Schema


class Subject:
    """A schema, and the logs and ordered mappings that its tables make up.

    Third parties name theirs by an entry point in the group ``strongroom.schemas``.

    Raises TypeError for a log or mapping over a table that is not of the schema.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        logs: Sequence[Log[Any]] = (),
        mappings: Sequence[OrderedMapping[Any, Any]] = (),
    ) -> None:
        used: list[AnyTable] = [log.table for log in logs]
        for mapping in mappings:
            used += [mapping.mapping, mapping.table]
        for table in used:
            if table not in schema.tables:
                raise TypeError(f"schema {schema.name} has no table {table.name}")
        self.schema = schema
        self.logs = tuple(logs)
        self.mappings = tuple(mappings)

    def __repr__(self) -> str:
        return f"<subject {self.schema.name}>"
