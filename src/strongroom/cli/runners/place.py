"""Which room and which fleet a command is about, and the fleet's store, opened to look at it or to change it.

Whoever only looks makes no tables. Whoever changes makes those of runners where the store lacks them, and never the
store itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from strongroom.cli.stores import open_store, prepared_room
from strongroom.domains import runners
from strongroom.domains.runners import RunnerStore
from strongroom.domains.runners.tables import ATTEMPTS, HOSTS, POLICIES
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, clip
from strongroom.records import AnyTable

DEFAULT_FLEET: Final = "default"
"""The fleet of a room that has none yet."""

Fleet = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        envvar="STRONGROOM_FLEET",
        metavar="NAME",
        help="The fleet; by default the room's only one, or default where it has none.",
        show_default=False,
    ),
]
HostId = Annotated[
    str | None,
    typer.Option(
        "--host",
        envvar="STRONGROOM_HOST",
        metavar="ID",
        help="The host; by default the one that has this machine's name.",
        show_default=False,
    ),
]


@contextmanager
def looking(room: str, fleet: str | None, seal_key_file: Path | None) -> Iterator[RunnerStore]:
    """The store of a fleet, to be read.

    Raises as `prepared_room`, and as `chosen_fleet`.
    """
    with prepared_room(room, seal_key_file, runners.SUBJECT) as engine:
        yield RunnerStore(engine, chosen_fleet(engine, fleet))


@contextmanager
def changing(room: str, fleet: str | None, seal_key_file: Path | None) -> Iterator[RunnerStore]:
    """The store of a fleet, to be changed. Raises as `open_store` and `runners.open`, and for fleets as `looking`."""
    with open_store(room, seal_key_file) as engine:
        yield runners.open(engine).for_fleet(chosen_fleet(engine, fleet))


def chosen_fleet(engine: Engine, named: str | None) -> str:
    """The fleet that was named; else the only one of the room, or `DEFAULT_FLEET` where it has none.

    Raises `InvalidArgument` where none was named and there are several.
    """
    if named is not None:
        return named
    # Fleets lead every key, so that the first and the last row of a table show whether there are two.
    tables: tuple[AnyTable, ...] = (HOSTS, POLICIES, ATTEMPTS)
    rows = [row for table in tables for way in (False, True) for row in engine.scan(table, limit=1, reverse=way)]
    ends = {row.fleet for row in rows}
    if len(ends) > 1:
        raise InvalidArgument(
            f"the room has several fleets, {' and '.join(clip(name) for name in sorted(ends)[:2])} among them: "
            "name one with --fleet"
        )
    return ends.pop() if ends else DEFAULT_FLEET
