"""Schemas, their record in the store, and the store's own facts with one safeguard broken (M1 to M3, R5)."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Engine, catalog
from strongroom.engine.catalog import AppliedStep
from strongroom.engine.operations import OpenTransaction
from strongroom.records import Schema, Step

MEMORY = Ground.MEMORY


@mutant("M2", on=MEMORY)
def newer_schema_opened(patch: Patches) -> None:
    """A store of newer code is opened as if it were this code's."""
    missing = catalog.missing_steps

    def lenient(schema: Schema, applied: Sequence[AppliedStep]) -> tuple[Step, ...]:
        return missing(schema, [step for step in applied if step.number <= schema.version])

    patch.function(missing, lenient)


@mutant("M2", on=MEMORY)
def newer_schema_written_to_before_it_is_refused(patch: Patches) -> None:
    """A store of newer code is refused only after something was written to it."""
    prepared = Engine._is_prepared

    def touching(self: Any, schema: Schema) -> bool:
        if catalog.FACTS.name in self._tables():
            self.put(catalog.FACTS, catalog.Fact("opened by", schema.name))
        return prepared(self, schema)

    patch.method(Engine, "_is_prepared", touching)


@mutant("M1", on=MEMORY)
def changed_step_accepted(patch: Patches) -> None:
    """A step on record is taken for this code's if it has the same number."""

    def lenient(schema: Schema, applied: Sequence[AppliedStep]) -> tuple[Step, ...]:
        steps = {step.number: step.digest for step in schema.steps}
        return missing(schema, [step.replace(digest=steps.get(step.number, step.digest)) for step in applied])

    missing = catalog.missing_steps
    patch.function(missing, lenient)


@mutant("M1", on=MEMORY)
def hole_in_the_record_accepted(patch: Patches) -> None:
    """Steps that are not on record are taken for applied if a later one is."""

    def lenient(schema: Schema, applied: Sequence[AppliedStep]) -> tuple[Step, ...]:
        last = applied[-1].number if applied else 0
        if last < len(applied) or last > schema.version:
            return missing(schema, applied)
        return schema.steps[last:] if last > len(applied) else missing(schema, applied)

    missing = catalog.missing_steps
    patch.function(missing, lenient)


@mutant("M1", on=MEMORY)
def step_not_recorded(patch: Patches) -> None:
    """The last step of a migration is applied and not put on record."""

    def forgetful(self: Any, rows: Any, schema: Schema) -> None:
        transaction = OpenTransaction(rows, self._codecs)
        if catalog.STEPS.name not in rows.tables():
            return apply(self, rows, schema)
        for step in catalog.missing_steps(schema, catalog.applied(transaction, schema)):
            for table in step.tables:
                rows.create(table, [column for column in table.columns if column.since <= step.number])
            for table, column in step.columns:
                rows.add_column(table, column)
            if step.number < schema.version:
                transaction.insert(catalog.STEPS, catalog.applied_step(schema, step, transaction.now()))
        return None

    apply = Engine._apply
    patch.method(Engine, "_apply", forgetful)


@mutant("M1", on=MEMORY)
def only_the_newest_step_applied(patch: Patches) -> None:
    """A store is brought up by the last step alone, and what the ones between would have made is missing."""
    missing = catalog.missing_steps
    patch.function(missing, lambda schema, applied: missing(schema, applied)[-1:])


@mutant("M1", on=Ground.SQLITE)
def every_open_writes(patch: Patches) -> None:
    """A store that is up to date is migrated all the same when it is opened."""
    prepared = Engine._is_prepared

    def never(self: Any, schema: Schema) -> bool:
        if prepared(self, schema):
            self.put(catalog.FACTS, catalog.Fact("opened", str(self.now())))
        return prepared(self, schema)

    patch.method(Engine, "_is_prepared", never)


@mutant("R3", on=MEMORY)
def epoch_made_at_every_open(patch: Patches) -> None:
    """A store's epoch is another for everybody who opens it."""
    patch.function(catalog.epoch_of, lambda reader: secrets.token_hex(8))


@mutant("M1", on=MEMORY)
def seal_key_not_checked(patch: Patches) -> None:
    """A store that is sealed with another key is opened, and every row of it reads as corrupt."""
    patch.function(catalog.check_seal_key, lambda stored, given: None)
