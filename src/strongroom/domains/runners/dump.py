"""A fleet as text: every row of every table, for people and for diffs. The same rows make the same text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from strongroom.domains.runners.reading import walk
from strongroom.domains.runners.tables import SCHEMA
from strongroom.engine import Reader
from strongroom.records import HIDDEN, AnyTable, Column, Record


def dump_text(reader: Reader, fleet: str) -> str:
    """A header with the schema's version; then each table, a header, and ``table.column=value`` for each column.

    Values are in JSON, rows in key order, with an empty line behind each. What a sensitive column holds is not shown.
    """
    lines = [f"# schema {SCHEMA.name} version {SCHEMA.version}"]
    for table in SCHEMA.tables:
        lines += ["", f"## {table.name}"]
        for record in walk(reader, table, fleet):
            lines += ["", *_shown(table, record)]
    return "\n".join(lines) + "\n"


def _shown(table: AnyTable, record: Record) -> Iterator[str]:
    for column in table.columns:
        yield f"{table.name}.{column.name}={_value(column, getattr(record, column.name))}"


def _value(column: Column, value: Any) -> str:
    return HIDDEN if column.sensitive else msgspec.json.encode(value, order="sorted").decode()
