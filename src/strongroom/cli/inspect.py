"""`strongroom inspect`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import subjects_for
from strongroom.cli.stores import AsJson, SealKeyFile, Url, open_store, shown_url
from strongroom.operations import Inspection, Presence, SchemaState, State


def inspect(
    url: Url,
    seal_key_file: SealKeyFile = None,
    exact: Annotated[bool, typer.Option("--exact", help="Count all rows, not just the first 10,000 a table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell what a store is and how it stands.

    Its engine and what that claims, who has it open, its seal key's fingerprint and its epoch, its schemas with the
    steps that were applied, its tables with their rows. Nothing in the store is changed, and no row is checked; that
    is for verify. Exits with 1 if what the store says of itself is wrong, with 0 otherwise.

    Example: strongroom inspect sqlite:///strongroom.db
    """
    with open_store(url, seal_key_file) as engine:
        told = operations.inspect(engine, subjects_for(engine), exact=exact)
    if as_json:
        output.emit({"store": shown_url(url), **_object(told)})
    else:
        _say(shown_url(url), told)
    if told.problems:
        raise typer.Exit(output.FOUND)


def _object(told: Inspection) -> dict[str, Any]:
    return {
        "engine": told.engine,
        "claims": _claims(told),
        "facts": dict(told.facts),
        "seal_key": told.seal_key,
        "epoch": told.epoch,
        "schemas": [
            {
                "name": schema.name,
                "state": schema.state.value,
                "version": schema.version,
                "known": schema.known,
                "problem": schema.problem,
                "steps": [
                    {
                        "number": step.number,
                        "summary": step.summary,
                        "digest": step.digest,
                        "applied_at": step.applied_at,
                    }
                    for step in schema.steps
                ],
            }
            for schema in told.schemas
        ],
        "tables": [
            {"name": table.name, "schema": table.schema, "rows": table.rows, "more": table.more}
            for table in told.tables
        ],
        "others": [
            {"name": table.name, "schema": table.schema, "presence": table.presence.value} for table in told.others
        ],
        "problems": list(told.problems),
    }


def _claims(told: Inspection) -> dict[str, str | bool]:
    claims = told.claims
    return {
        "strength": claims.strength.shown,
        "durability": claims.durability.name.lower(),
        "sharing": claims.sharing.name.lower(),
        "guards_immutable": claims.guards_immutable,
        "reopens": claims.reopens,
    }


def _say(store: str, told: Inspection) -> None:
    output.say((store, "bold"))
    if told.seal_key is None:
        sealed = "never prepared"
    else:
        sealed = f"sealed with the key {told.seal_key}" if told.seal_key else "sealed without a key"
    rows = [("engine", told.engine), ("seal", sealed), ("epoch", told.epoch or "-")]
    for name, value in [*_claims(told).items(), *told.facts.items()]:
        rows.append((name.replace("_", " "), output.shown(value)))
    output.say_rows(rows)
    output.say(("schemas", "bold"))
    output.say_rows((schema.name, _standing(schema)) for schema in told.schemas)
    if steps := [step for schema in told.schemas for step in schema.steps]:
        output.say(("steps", "bold"))
        output.say_rows((step.schema, str(step.number), output.when(step.applied_at), step.summary) for step in steps)
    if told.tables:
        output.say(("tables", "bold"))
        output.say_rows(
            (table.name, f"{table.rows:,} rows" + (" or more" if table.more else "")) for table in told.tables
        )
    absent = {schema.name for schema in told.schemas if schema.state is State.ABSENT}
    others = [table for table in told.others if table.presence is not Presence.ABSENT or table.schema not in absent]
    if others:
        output.say(("other tables", "bold"))
        output.say_rows((table.name, table.presence.value) for table in others)
    for problem in told.problems:
        output.say(("wrong: ", "bold red"), problem)


def _standing(schema: SchemaState) -> str:
    if schema.state is State.UNKNOWN:
        return f"version {schema.version}, not known to this code"
    if schema.state is State.ABSENT:
        return f"not in the store; this code knows version {schema.known}"
    if schema.state is State.CURRENT:
        return f"version {schema.version}"
    return f"version {schema.version}, {schema.state.value}; this code knows version {schema.known}"
