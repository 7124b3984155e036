"""`strongroom verify`."""

from __future__ import annotations

from typing import Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import subjects_for
from strongroom.cli.stores import AsJson, SealKeyFile, Url, open_store, shown_url
from strongroom.operations import Finding, Presence, State, Verification, Walked


def verify(url: Url, seal_key_file: SealKeyFile = None, as_json: AsJson = False) -> None:
    """Check every row, every log and every mapping of a store.

    Each bad record is named (its table, key and column, and what is wrong) and the walk goes on behind it. Nothing
    in the store is changed. Exits with 1 if anything is bad, with 0 otherwise.

    Example: strongroom verify sqlite:///strongroom.db
    """
    with open_store(url, seal_key_file) as engine, output.progress(as_json=as_json) as show:

        def watch(walked: Walked) -> None:
            show(walked.table, walked.rows, walked.total)

        verification = operations.verify(engine, subjects_for(engine), watch=watch)
        for finding in verification:
            if as_json:
                output.emit({"type": "finding", **finding_object(finding)})
            else:
                output.say((str(finding), "red"))
    if as_json:
        output.emit({"type": "summary", "store": shown_url(url), **_summary_object(verification)})
    else:
        _say_summary(verification)
    if verification.bad:
        raise typer.Exit(output.FOUND)


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as JSON answers have it."""
    return {
        "kind": finding.kind.value,
        "table": finding.table,
        "key": list(finding.key),
        "column": finding.column,
        "what": finding.what,
    }


def _summary_object(verification: Verification) -> dict[str, Any]:
    survey = verification.survey
    return {
        "rows": verification.rows,
        "bad": verification.bad,
        "tables": [
            {"table": walked.table, "schema": walked.schema, "rows": walked.rows, "bad": walked.bad}
            for walked in verification.tables
        ],
        "schemas": [
            {"name": schema.name, "state": schema.state.value, "version": schema.version, "known": schema.known}
            for schema in survey.schemas
        ],
        "absent": list(survey.named(Presence.ABSENT)),
        "unknown": list(survey.named(Presence.UNKNOWN)),
        "unreadable": list(survey.named(Presence.UNREADABLE)),
    }


def _say_summary(verification: Verification) -> None:
    survey = verification.survey
    if survey.seal_key is None:
        output.remark("the store was never prepared: it holds nothing that could be checked")
    for what, names in (
        ("schemas not in the store", survey.of_schemas(State.ABSENT)),
        ("schemas not known to this code", survey.of_schemas(State.UNKNOWN)),
        ("schemas to be migrated", survey.of_schemas(State.BEHIND)),
        ("tables not known to this code, and not checked", survey.named(Presence.UNKNOWN)),
        ("tables not readable with this code, and not checked", survey.named(Presence.UNREADABLE)),
    ):
        if names:
            output.remark((f"{what}: ", "dim"), ", ".join(names))
    checked = f"{verification.rows:,} rows of {len(verification.tables)} tables checked: "
    # What was not looked at is said in the same breath: "all good" alone would be taken for all of the store.
    unchecked = len(survey.named(Presence.UNKNOWN)) + len(survey.named(Presence.UNREADABLE))
    beside = f"; {unchecked:,} {'table' if unchecked == 1 else 'tables'} not checked" if unchecked else ""
    if verification.bad:
        output.say(checked, (f"{verification.bad:,} bad", "bold red"), beside)
    elif not verification.tables:
        output.say(checked, ("nothing to check", "bold yellow"), beside)
    else:
        output.say(checked, ("all good", "bold green"), (beside, "yellow"))
