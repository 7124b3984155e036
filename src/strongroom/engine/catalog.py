"""What an engine keeps about a store itself: which steps were applied, and the store's own facts."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Annotated

from strongroom.engine.port import Reader, Transaction
from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, SchemaTooNew
from strongroom.records import (
    MAX_LIMIT,
    REPLACEABLE,
    Identifier,
    Integer,
    Millis,
    Record,
    Schema,
    Step,
    Table,
    Text,
)


class AppliedStep(Record):
    """A schema step that was applied to this store."""

    schema: Annotated[str, Identifier(48)]
    number: Annotated[int, Integer(1)]
    digest: Annotated[str, Identifier(64)]
    summary: Annotated[str, Text(1000)]
    applied_at: Annotated[int, Millis()]


class Fact(Record):
    """A named fact about the store."""

    name: Annotated[str, Identifier(48)]
    value: Annotated[str, Text(1000)]


STEPS = Table("strongroom_steps", AppliedStep, key=("schema", "number"))
FACTS = Table("strongroom_facts", Fact, key=("name",), changes=REPLACEABLE)
CATALOG = Schema("strongroom", STEPS, FACTS)

EPOCH = "epoch"
SEAL_KEY = "seal_key"


def found_store(transaction: Transaction, fingerprint: str) -> None:
    """Give a new store its epoch, and the memory of the key that seals it."""
    if transaction.get(FACTS, SEAL_KEY) is None:
        transaction.put(FACTS, Fact(SEAL_KEY, fingerprint))
    if transaction.get(FACTS, EPOCH) is None:
        transaction.put(FACTS, Fact(EPOCH, secrets.token_hex(8)))


def epoch_of(reader: Reader) -> str:
    """The epoch of a store that was prepared; `Corrupt` if it has none."""
    epoch = reader.get(FACTS, EPOCH)
    if epoch is None:
        raise Corrupt("the store's catalog has no epoch", table=FACTS.name, key=(EPOCH,))
    return epoch.value


def applied(reader: Reader, schema: Schema) -> list[AppliedStep]:
    """The recorded steps of a schema, in order."""
    return reader.scan(STEPS, schema.name, limit=MAX_LIMIT)


def check_seal_key(stored: str, given: str) -> None:
    """Raises `InvalidArgument` unless the fingerprints of the store's seal key and of the given one are the same."""
    if stored != given:
        sealed = f"with the key {stored}" if stored else "without a key"
        raise InvalidArgument(
            f"the store is sealed {sealed}, but was opened {f'with {given}' if given else 'without one'}"
        )


def missing_steps(schema: Schema, applied: Sequence[AppliedStep]) -> tuple[Step, ...]:
    """The steps of `schema` that were not applied, in order.

    Raises `SchemaTooNew` where the store has steps that this code does not know (M2), and `MigrationFailed` where
    a recorded step is not the one in this code, or the record has a hole (M1).
    """
    if len(applied) > schema.version or (applied and applied[-1].number > schema.version):
        raise SchemaTooNew(
            f"schema {schema.name}: the store is at version {applied[-1].number}, this code knows {schema.version}: "
            "use newer code; the store was left as it is"
        )
    for step, record in zip(schema.steps, applied, strict=False):
        if record.number != step.number:
            raise MigrationFailed(f"schema {schema.name}: step {step.number} is missing from the store's record")
        if record.digest != step.digest:
            raise MigrationFailed(
                f"schema {schema.name}: step {step.number} was applied as something else ({record.summary})"
            )
    return schema.steps[len(applied) :]


def applied_step(schema: Schema, step: Step, now: int) -> AppliedStep:
    """The record that `step` was applied at `now` (Unix ms)."""
    return AppliedStep(schema.name, step.number, step.digest, step.summary, now)
