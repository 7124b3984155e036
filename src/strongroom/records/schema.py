"""Schemas: a set of tables with a version that grows by ordered, additive steps (M1).

Nothing is listed twice: a table says in which step it came (``since=``), a column that came later is marked `Since`,
and the steps follow from that. A step's digest is recorded where it was applied, so that a step which was changed
after the fact is noticed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from strongroom.errors import cut
from strongroom.records.record import Column
from strongroom.records.table import CATALOG_TABLES, AnyTable, check_name


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the tables that it creates and the columns that it adds to older ones."""

    number: int
    tables: tuple[AnyTable, ...]
    columns: tuple[tuple[AnyTable, Column], ...]

    @property
    def digest(self) -> str:
        """Hex digits over all that the step declares."""
        lines = [
            f"table {table.name} key {','.join(('-' if k.descending else '') + k.column.name for k in table.key)} "
            f"changes {table.changes.update:d}{table.changes.delete:d}{table.changes.put:d}{table.changes.version} "
            + " ".join(_describe(column) for column in table.columns if column.since <= self.number)
            for table in self.tables
        ]
        lines += [
            f"column {table.name} {_describe(column)} default {column.stored_default()!r}"
            for table, column in self.columns
        ]
        return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()

    @property
    def summary(self) -> str:
        """The step in a few words, as it is recorded."""
        made = [table.name for table in self.tables] + [f"{table.name}.{column.name}" for table, column in self.columns]
        return cut(", ".join(made), 200)


def _describe(column: Column) -> str:
    return f"{column.name}:{column.storage}{'?' if column.nullable else ''}"


class Schema:
    """The tables of one domain. `version` is the number of its steps.

    Raises TypeError for a name over 48 characters or of others than lower-case letters, digits and underscores, for
    tables that share a name, for a schema without tables, for a step that does nothing, and for what a store keeps
    about itself.
    """

    def __init__(self, name: str, *tables: AnyTable) -> None:
        check_name("schema", name)
        if not tables or len({table.name for table in tables}) != len(tables):
            raise TypeError(f"schema {name}: one or more tables, each name once")
        if (name == "strongroom") != any(table.name in CATALOG_TABLES for table in tables):
            raise TypeError(f"schema {name}: the name 'strongroom' and the tables of the catalog are the store's own")
        self.name = name
        self.tables = tables
        self.version = max(*(table.since for table in tables), *(c.since for table in tables for c in table.columns))
        self.steps = tuple(self._step(number) for number in range(1, self.version + 1))
        for step in self.steps:
            if not step.tables and not step.columns:
                raise TypeError(f"schema {name}: step {step.number} does nothing")

    def __repr__(self) -> str:
        return f"<schema {self.name} version {self.version}>"

    def _step(self, number: int) -> Step:
        return Step(
            number,
            tuple(table for table in self.tables if table.since == number),
            tuple(
                (table, column)
                for table in self.tables
                for column in table.columns
                if column.since == number and table.since < number
            ),
        )
