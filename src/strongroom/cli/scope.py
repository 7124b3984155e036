"""`strongroom scope`: where the scopes of a router live, and their moves from room to room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import known_subjects
from strongroom.cli.stores import AsJson, SealKeyFile, read_seal_key
from strongroom.errors import InvalidArgument, NotFound
from strongroom.records import Schema
from strongroom.routing import RoomsFile, Route, Router, Stage, Whereabouts, cancel, move, scopes_of, where

scope = typer.Typer(
    name="scope",
    help="Say where the scopes of a router live, and move them.\n\n"
    "Example: strongroom scope move rooms.toml monorepo/main --to east",
    no_args_is_help=True,
)

RoomsPath = Annotated[
    Path, typer.Argument(metavar="ROOMS.toml", help="The rooms file of the router.", show_default=False)
]
ScopeName = Annotated[str, typer.Argument(metavar="SCOPE", help="The scope, such as a queue.", show_default=False)]


@scope.command("ls")
def ls(
    rooms: RoomsPath,
    room: Annotated[
        str | None, typer.Option("--room", metavar="NAME", help="Only scopes of this room.", show_default=False)
    ] = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the scopes that have rows, or were moved, and the room that each lives in.

    Example: strongroom scope ls rooms.toml --room east
    """
    with _opened(rooms, seal_key_file) as router:
        if room is not None and room not in router.rooms:
            raise InvalidArgument(f"no room {room!r}; there are {', '.join(sorted(router.rooms))}")
        found = [one for one in scopes_of(router, _schemas(router)) if room in (None, one.room)]
    if as_json:
        for one in found:
            output.emit(_object(one))
    elif found:
        output.say_rows([(output.shown(one.scope), one.room, one.why, _under_way(one)) for one in found], indent="")


@scope.command("where")
def where_(rooms: RoomsPath, name: ScopeName, seal_key_file: SealKeyFile = None, as_json: AsJson = False) -> None:
    """Say which room a scope lives in, whether it has rows or not, and how far a move of it has come.

    Example: strongroom scope where rooms.toml monorepo/main
    """
    with _opened(rooms, seal_key_file) as router:
        found = where(router, name)
    if as_json:
        output.emit(_object(found))
    else:
        output.say(str(found))


@scope.command("move")
def move_(
    rooms: RoomsPath,
    name: ScopeName,
    to: Annotated[str, typer.Option("--to", metavar="ROOM", help="The room that it goes to.", show_default=False)],
    keep: Annotated[bool, typer.Option("--keep", help="Leave the rows in the former room, too.")] = False,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Move a scope to another room, while others go on; or go on with such a move that was cut short.

    Its rows are copied, its writers held, what has changed copied after, both sides' digests compared, and the scope
    switched over with one write. A move that was stopped anywhere is ended by the same command, or given up with
    strongroom scope cancel as long as it was not switched.

    Example: strongroom scope move rooms.toml monorepo/main --to east
    """
    with _opened(rooms, seal_key_file) as router, _watched(rooms, name, as_json=as_json) as watch:
        route = move(router, name, to, _schemas(router), keep=keep, watch=watch)
    _say(route, as_json=as_json)


@scope.command("cancel")
def cancel_(rooms: RoomsPath, name: ScopeName, seal_key_file: SealKeyFile = None, as_json: AsJson = False) -> None:
    """Give up a move that was not switched yet: the scope goes on where it was.

    Example: strongroom scope cancel rooms.toml monorepo/main
    """
    with _opened(rooms, seal_key_file) as router, _watched(rooms, name, as_json=as_json) as watch:
        route = cancel(router, name, _schemas(router), watch=watch)
    _say(route, as_json=as_json)


@contextmanager
def _opened(path: Path, seal_key_file: Path | None) -> Iterator[Router]:
    try:
        router = RoomsFile.read(path).open(seal_key=read_seal_key(seal_key_file), create=False)
    except NotFound as fault:
        raise InvalidArgument(str(fault)) from fault
    with router:
        yield router


def _schemas(router: Router) -> list[Schema]:
    """The schemas that the rooms have, as this code knows them."""
    subjects = known_subjects()
    known = {subject.schema.name: subject.schema for subject in subjects}
    states = operations.survey(router, subjects).schemas
    for state in states:
        state.check()
    return [known[state.name] for state in states if state.version and state.name in known]


@contextmanager
def _watched(rooms: Path, name: str, *, as_json: bool) -> Iterator[Callable[[Stage, str, int], None]]:
    last = [Stage.PLANNED]
    with output.progress(as_json=as_json) as show:

        def watch(stage: Stage, table: str, rows: int) -> None:
            if stage is not last[0] and not as_json:
                output.remark((f"{stage.value} ", "dim"), name)
            last[0] = stage
            show(f"{stage.value} {table}", rows, None)

        try:
            yield watch
        except KeyboardInterrupt:
            output.remark(
                f"stopped: the move is {last[0].value}. The same command goes on with it; "
                f"strongroom scope where {rooms} {name} says who owns the scope"
            )
            raise


def _say(route: Route, *, as_json: bool) -> None:
    if as_json:
        output.emit(
            {
                "scope": route.scope,
                "room": route.room,
                "number": route.number,
                "stage": route.stage.value,
                "rows": route.rows,
                "digest": route.digest,
            }
        )
    elif route.digest and route.stage is Stage.SETTLED:
        output.say(
            (output.shown(route.scope), "bold"), f" lives in {route.room}: {route.rows:,} rows, digest {route.digest}"
        )
    else:
        output.say((output.shown(route.scope), "bold"), f" lives in {route.room}")


def _object(found: Whereabouts) -> dict[str, Any]:
    return {
        "scope": found.scope,
        "room": found.room,
        "why": found.why,
        "number": found.number,
        "stage": found.stage.value,
        "other": found.other or None,
    }


def _under_way(found: Whereabouts) -> str:
    return "" if found.stage is Stage.SETTLED else f"{found.stage.value} ({found.other})"
