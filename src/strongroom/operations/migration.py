"""Migration: which steps a store lacks, and applying them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strongroom.engine import Engine
from strongroom.engine.catalog import CATALOG, STEPS, applied, missing_steps
from strongroom.operations.survey import check_names
from strongroom.records import Schema, Step


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that bring one schema of a store from `version` to this code's; none if it is there already."""

    schema: Schema
    version: int
    steps: tuple[Step, ...]


def plan(engine: Engine, schemas: Sequence[Schema]) -> tuple[Plan, ...]:
    """What `migrate` would do: one plan for the store's own catalog, and one for each schema, in order.

    Nothing is changed. Raises `SchemaTooNew` where the store has steps that this code does not know (M2),
    `MigrationFailed` where the recorded steps are not this code's (M1), `Corrupt` where their record is not what was
    written, and `InvalidArgument` where the store is sealed with another key, or two schemas share a name.
    """
    wanted = (CATALOG, *schemas)
    check_names(wanted)
    engine.check_seal_key()
    recorded = STEPS.name in engine.tables()
    plans = []
    for schema in wanted:
        known = applied(engine, schema) if recorded else []
        plans.append(Plan(schema, len(known), missing_steps(schema, known)))
    return tuple(plans)


def migrate(engine: Engine, schemas: Sequence[Schema]) -> tuple[Plan, ...]:
    """Bring the store to every one of `schemas`, and say what that took; all are checked before the first is applied.

    Each step is applied once, whoever else migrates at the same time (M1, M3); the plans say how the store was found.
    Raises as `plan` and `Engine.prepare`.
    """
    plans = plan(engine, schemas)
    for each in plans:
        engine.prepare(each.schema)
    return plans
