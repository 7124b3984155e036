"""`strongroom ls` and `strongroom get`."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import complete_table, subjects_for
from strongroom.cli.stores import AsJson, SealKeyFile, Url, open_store
from strongroom.errors import CLIP, cut
from strongroom.records import AnyTable, Record

TableName = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="The table's name.", show_default=False, autocompletion=complete_table),
]


def ls(
    url: Url,
    table: TableName,
    prefix: Annotated[
        list[str] | None,
        typer.Argument(metavar="PREFIX", help="The first values of the keys to list.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="List at most so many records.")] = 100,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="VALUE",
            help="Go on behind this key: once for each key value that follows the prefix.",
            show_default=False,
        ),
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="List from the last key to the first.")] = False,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List records of a table in the order of their keys, whatever their scope.

    Long values are cut (get shows all of them), and those of sensitive columns are hidden. Where there is more, the
    last line says how to go on. Put -- before key values that begin with a dash.

    Example: strongroom ls sqlite:///strongroom.db stovepipe_requests monorepo/main --limit 20
    """
    with open_store(url, seal_key_file) as engine:
        stored = operations.stored_table(engine, subjects_for(engine), table)
        leading = operations.parse_key(stored.table, prefix or [])
        behind = operations.parse_key(stored.table, after, offset=len(leading)) if after else None
        records = operations.list_records(engine, stored, *leading, after=behind, limit=limit + 1, reverse=reverse)
        last = None
        for count, record in enumerate(records):
            if count == limit:
                output.remark(("there is more: ", "dim"), _way_on(stored.table, last, len(leading)))
                break
            last = record
            if as_json:
                output.emit(_object(stored.table, record))
            else:
                _say_short(stored.table, record)


def get(
    url: Url,
    table: TableName,
    key: Annotated[list[str], typer.Argument(metavar="KEY", help="The values of the key.", show_default=False)],
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one record, found by its full key, whatever its scope.

    Values of sensitive columns are hidden. Exits with 1 if there is no such record. Put -- before key values that
    begin with a dash.

    Example: strongroom get sqlite:///strongroom.db stovepipe_requests monorepo/main 1
    """
    with open_store(url, seal_key_file) as engine:
        stored = operations.stored_table(engine, subjects_for(engine), table)
        record = operations.get_record(engine, stored, *operations.parse_key(stored.table, key))
    if as_json:
        output.emit(_object(stored.table, record))
    else:
        fields = operations.shown_record(stored.table, record)
        output.say_rows([(name, output.shown(value)) for name, value in fields.items()], indent="")


def _object(table: AnyTable, record: Record) -> dict[str, Any]:
    fields = operations.shown_record(table, record)
    return {"key": [fields[name] for name in table.key_names], "record": fields}


def _say_short(table: AnyTable, record: Record) -> None:
    fields = operations.shown_record(table, record)
    parts: list[output.Part] = []
    for name in (*table.key_names, *(name for name in fields if name not in table.key_names)):
        value = cut(output.shown(fields[name]), CLIP)
        parts += ["  " if parts else "", (f"{name}=", "dim"), (value, "bold" if name in table.key_names else "")]
    output.say(*parts)


def _way_on(table: AnyTable, last: Record | None, fixed: int) -> str:
    if any(part.column.sensitive for part in table.key[fixed:]):
        return "list more of it with --limit"
    values = table.key_in(last)[fixed:]
    # Written in one word each, so that a value may begin with a dash.
    return "go on with " + " ".join(f"--after={shlex.quote(str(value))}" for value in values)
