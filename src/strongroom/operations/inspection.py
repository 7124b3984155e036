"""Inspection: what a store is and how it stands, from what it says of itself. No row of a domain is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strongroom.engine import Claims, Engine
from strongroom.engine.catalog import FACTS, epoch_of
from strongroom.errors import Corrupt
from strongroom.operations.stored import StoredTable
from strongroom.operations.survey import GONE, PAGE, Presence, SchemaState, TableState, survey
from strongroom.patterns import Subject
from strongroom.records import MAX_LIMIT


@dataclass(frozen=True, slots=True)
class TableCount:
    """A readable table and its number of rows; `more` if they were counted no further than that."""

    name: str
    schema: str
    rows: int
    more: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a store is and how it stands."""

    engine: str
    claims: Claims
    facts: Mapping[str, str | int | bool | tuple[str, ...]]
    """What only this kind of engine can tell (`Engine.describe`)."""
    seal_key: str | None
    """The fingerprint of the key that seals the store; empty for keyless seals, None for a store never prepared."""
    epoch: str | None
    """The store's epoch (R5); None for a store never prepared, and where it can't be read."""
    schemas: tuple[SchemaState, ...]
    tables: tuple[TableCount, ...]
    others: tuple[TableState, ...]
    """The tables that are not readable, and why."""
    problems: tuple[str, ...]
    """What is wrong with what the store says of itself."""


def inspect(engine: Engine, subjects: Sequence[Subject], *, exact: bool = False) -> Inspection:
    """What the store of `engine` is and how it stands. Nothing is created, migrated or repaired.

    Rows are counted up to 10,000 for each table; with `exact`, all of them, which reads every row once. Raises as
    `survey`.
    """
    found = survey(engine, subjects)
    problems = [schema.problem for schema in found.schemas if schema.problem]
    problems += [f"{name}: {GONE}" for name in found.named(Presence.MISSING)]
    counts = []
    for state in found.tables:
        if state.presence is Presence.READABLE:
            stored = found.readable[state.name]
            try:
                rows = stored.count(engine, limit=MAX_LIMIT)
                more = rows == MAX_LIMIT
                if more and exact:
                    rows, more = _count_all(engine, stored), False
            except Corrupt as fault:
                problems.append(str(fault))
            else:
                counts.append(TableCount(state.name, state.schema, rows, more))
    epoch = None
    if FACTS.name in found.readable:
        try:
            epoch = epoch_of(engine)
        except Corrupt as fault:
            problems.append(str(fault))
    others = tuple(table for table in found.tables if table.presence is not Presence.READABLE)
    return Inspection(
        engine.name,
        engine.claims,
        engine.describe(),
        found.seal_key,
        epoch,
        found.schemas,
        tuple(counts),
        others,
        tuple(problems),
    )


def _count_all(engine: Engine, stored: StoredTable[Any]) -> int:
    count = 0
    after = None
    while page := stored.examine(engine, after=after, limit=PAGE):
        count += len(page)
        after = page[-1][0]
    return count
