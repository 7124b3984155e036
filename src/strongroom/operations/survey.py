"""What there is in a store, beside what this code knows: nothing is created, migrated or repaired to find out.

Every operation begins with a survey. It says which tables can be read, and at which version; which ones this code
knows but the store lacks, and the other way round; and where the store's own record of its steps is not to be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from strongroom.engine import Engine
from strongroom.engine.catalog import CATALOG, STEPS, AppliedStep, missing_steps
from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, SchemaTooNew, clip
from strongroom.operations.stored import StoredTable
from strongroom.patterns import Subject
from strongroom.records import AnyTable, Schema

PAGE: Final = 1_000
"""How many rows one look at a table takes in: enough to make the cost of a look small, few enough to hold at once."""


GONE: Final = "the step that made it was applied, but it is gone"
"""What is wrong with a table that is `Presence.MISSING`."""


class State(StrEnum):
    """How a schema in a store stands to the same schema in this code."""

    CURRENT = "current"
    """The store is at this code's version."""
    BEHIND = "behind"
    """The store lacks steps, which a migration would apply; what it has can be read."""
    ABSENT = "absent"
    """No step of it was applied."""
    NEWER = "newer"
    """The store has steps that this code does not know: its tables can't be read with this code (M2)."""
    ALTERED = "altered"
    """The recorded steps are not those of this code: its tables can't be read with this code (M1)."""
    UNKNOWN = "unknown"
    """This code does not know the schema at all."""


UNREADABLE: Final = (State.NEWER, State.ALTERED)
"""The states of a schema whose tables can't be read with this code."""


@dataclass(frozen=True, slots=True)
class SchemaState:
    """One schema: the version that the store has reached (0: none), and the one that this code knows (0: unknown)."""

    name: str
    state: State
    version: int
    known: int
    steps: tuple[AppliedStep, ...]
    """The recorded steps, as far as their records can be read."""
    problem: str = ""
    """What is wrong with the recorded steps, where anything is."""

    def check(self) -> None:
        """Raises `SchemaTooNew` or `MigrationFailed` where this code can't read the schema's tables (M1, M2)."""
        if self.state in UNREADABLE:
            raise (SchemaTooNew if self.state is State.NEWER else MigrationFailed)(self.problem)


class Presence(StrEnum):
    """How a table in a store stands to the same table in this code."""

    READABLE = "readable"
    """It is there, and this code can read it."""
    ABSENT = "absent"
    """It is not there: its step was not applied."""
    UNFINISHED = "unfinished"
    """It is there, but its step is not recorded: a migration died half-way (M3), or the record was taken away."""
    MISSING = "missing"
    """It is not there, although its step is recorded."""
    UNREADABLE = "unreadable"
    """It is there, but its schema is newer than this code's, or was altered."""
    UNKNOWN = "unknown"
    """It is there, but this code does not know it."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One table, and the name of its schema (empty where this code does not know the table)."""

    name: str
    schema: str
    presence: Presence


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is in a store. Schemas and tables stand in their declared order, unknown ones last."""

    seal_key: str | None
    """The fingerprint of the key that seals the store; empty for keyless seals, None for a store never prepared."""
    schemas: tuple[SchemaState, ...]
    tables: tuple[TableState, ...]
    readable: dict[str, StoredTable[Any]]

    def named(self, presence: Presence) -> tuple[str, ...]:
        """The names of the tables of that presence."""
        return tuple(table.name for table in self.tables if table.presence is presence)

    def of_schemas(self, state: State) -> tuple[str, ...]:
        """The names of the schemas in that state."""
        return tuple(schema.name for schema in self.schemas if schema.state is state)

    def table(self, name: str) -> StoredTable[Any]:
        """The table of that name, to be read.

        Raises `InvalidArgument` for a table that this code does not know or that the store does not have yet,
        `SchemaTooNew` or `MigrationFailed` for one that this code can't read, `Corrupt` for one that was lost.
        """
        if name in self.readable:
            return self.readable[name]
        state = next((table for table in self.tables if table.name == name), None)
        match None if state is None else state.presence:
            case Presence.ABSENT | Presence.UNFINISHED:
                raise InvalidArgument(f"{name}: the store has no such table yet; a migration would make it")
            case Presence.MISSING:
                raise Corrupt(f"{name}: {GONE}", table=name)
            case Presence.UNREADABLE:
                [schema] = [schema for schema in self.schemas if state and schema.name == state.schema]
                schema.check()
            case Presence.UNKNOWN:
                raise InvalidArgument(f"{name}: the store has such a table, but no known schema declares it")
        raise InvalidArgument(f"no table {clip(name)} is known; known and there: {', '.join(self.readable) or 'none'}")


def survey(engine: Engine, subjects: Sequence[Subject]) -> Survey:
    """What there is in the store of `engine`, beside what `subjects` declare. The store's own catalog is always known.

    Raises `InvalidArgument` where the store is sealed with another key than the engine was opened with, or where two
    subjects have a schema or table of the same name; `SchemaTooNew` where the catalog itself was written by newer
    code (M2); `Unavailable` and `Closed` as the engine does.
    """
    schemas = (CATALOG, *(subject.schema for subject in subjects))
    check_names(schemas)
    there = engine.tables()
    seal_key = engine.check_seal_key()
    recorded = _recorded(engine) if STEPS.name in there else {}
    states: list[SchemaState] = []
    tables: list[TableState] = []
    readable: dict[str, StoredTable[Any]] = {}
    for schema in schemas:
        state = _state(schema, recorded.pop(schema.name, []))
        if schema is CATALOG and state.state is State.NEWER:
            state.check()
        states.append(state)
        for table in schema.tables:
            presence = _presence(table, state, table.name in there)
            tables.append(TableState(table.name, schema.name, presence))
            if presence is Presence.READABLE:
                readable[table.name] = StoredTable(table, state.version)
    for name, steps in recorded.items():
        states.append(SchemaState(name, State.UNKNOWN, max(number for number, _ in steps), 0, _readable(steps)))
    known = {table.name for table in tables}
    tables += [TableState(name, "", Presence.UNKNOWN) for name in sorted(there - known)]
    return Survey(seal_key, tuple(states), tuple(tables), readable)


def check_names(schemas: Sequence[Schema]) -> None:
    """Raises `InvalidArgument` where two schemas, or two of their tables, have the same name."""
    owners: dict[str, str] = {}
    names: set[str] = set()
    for schema in schemas:
        if schema.name in names:
            raise InvalidArgument(f"two schemas are named {schema.name}")
        names.add(schema.name)
        for table in schema.tables:
            if table.name in owners:
                raise InvalidArgument(
                    f"the schemas {owners[table.name]} and {schema.name} both have a table {table.name}"
                )
            owners[table.name] = schema.name


def _presence(table: AnyTable, schema: SchemaState, there: bool) -> Presence:
    applied = table.since <= schema.version
    if not there:
        return Presence.MISSING if applied else Presence.ABSENT
    if schema.state in UNREADABLE:
        return Presence.UNREADABLE
    return Presence.READABLE if applied else Presence.UNFINISHED


_Recorded = list[tuple[int, AppliedStep | Corrupt]]
"""A schema's recorded step numbers, and what each record says."""


def _recorded(engine: Engine) -> dict[str, _Recorded]:
    """The recorded steps of every schema: known by their keys, so that a bad record hides no step."""
    recorded: dict[str, _Recorded] = {}
    after = None
    while page := engine.examine(STEPS, after=after, limit=PAGE):
        for key, step in page:
            schema, number = key
            if isinstance(schema, str) and isinstance(number, int):
                recorded.setdefault(schema, []).append((number, step))
        after = page[-1][0]
    return recorded


def _readable(steps: _Recorded) -> tuple[AppliedStep, ...]:
    return tuple(step for _number, step in steps if isinstance(step, AppliedStep))


def _state(schema: Schema, recorded: _Recorded) -> SchemaState:
    steps = _readable(recorded)
    version = max((number for number, _step in recorded), default=0)

    def at(state: State, problem: str = "") -> SchemaState:
        return SchemaState(schema.name, state, version, schema.version, steps, problem)

    if version > schema.version:
        newer = f"schema {schema.name}: the store is at version {version}, this code knows {schema.version}"
        return at(State.NEWER, f"{newer}: use newer code")
    reached = State.CURRENT if version == schema.version else State.BEHIND if version else State.ABSENT
    bad = [step for _number, step in recorded if isinstance(step, Corrupt)]
    if bad:
        return at(reached, str(bad[0]))
    try:
        missing_steps(schema, steps)
    except MigrationFailed as fault:
        return at(State.ALTERED, str(fault))
    return at(reached)
