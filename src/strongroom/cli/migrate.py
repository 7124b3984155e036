"""`strongroom migrate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import known_subjects
from strongroom.cli.stores import AsJson, SealKeyFile, Url, open_store, shown_url
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument
from strongroom.operations import Plan
from strongroom.patterns import Subject
from strongroom.records import Schema


def migrate(
    url: Url,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            "--schema",
            metavar="NAME",
            help="Only this schema, which the store need not have yet; may be given more than once.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be applied, and apply nothing.")] = False,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring a store to the schemas of this code; make it if it does not exist.

    By default every schema that the store has is brought up to date; a store that has none gets all that are known.
    Steps only ever add tables and columns, and each is applied once, also when several migrate at the same time.

    Example: strongroom migrate sqlite:///strongroom.db --schema stovepipe --dry-run
    """
    with open_store(url, seal_key_file, create=not dry_run) as engine:
        schemas = _chosen(engine, known_subjects(), schema or [])
        plans = (operations.plan if dry_run else operations.migrate)(engine, schemas)
    if as_json:
        output.emit({"store": shown_url(url), "dry_run": dry_run, "schemas": [_object(plan) for plan in plans]})
        return
    for plan in plans:
        if not plan.steps:
            output.say(f"{plan.schema.name}: at version {plan.version}, nothing to apply")
            continue
        verb = "would go" if dry_run else "went"
        output.say((plan.schema.name, "bold"), f": {verb} from version {plan.version} to {plan.schema.version}")
        output.say_rows((str(step.number), step.summary) for step in plan.steps)


def _chosen(engine: Engine, subjects: Sequence[Subject], names: Sequence[str]) -> list[Schema]:
    known = {subject.schema.name: subject.schema for subject in subjects}
    for name in names:
        if name not in known:
            raise InvalidArgument(f"no schema {name!r} is known; known are {', '.join(known) or 'none'}")
    if names:
        return [known[name] for name in dict.fromkeys(names)]
    states = operations.survey(engine, subjects).schemas
    present = [known[state.name] for state in states if state.version and state.name in known]
    return present or list(known.values())


def _object(plan: Plan) -> dict[str, object]:
    return {
        "name": plan.schema.name,
        "from": plan.version,
        "to": plan.schema.version,
        "steps": [{"number": step.number, "summary": step.summary} for step in plan.steps],
    }
