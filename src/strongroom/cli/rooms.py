"""Rooms as `validate` and `report` name them: an option rather than an argument, with a default in this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from strongroom.cli.stores import shown_url
from strongroom.engine import StoreUrl
from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, SchemaTooNew

DEFAULT_ROOM: Final = "sqlite:///strongroom.db"

Room = Annotated[str, typer.Option("--room", metavar="URL", help="The store that keeps the records.")]


@contextmanager
def opening(room: str) -> Iterator[None]:
    """Open a room: one that this code can't use is a wrong call, as exit code 1 is for commits that are not green."""
    try:
        yield
    except (Corrupt, MigrationFailed, SchemaTooNew) as fault:
        raise InvalidArgument(f"the room {shown_url(room)} can't be used: {fault}") from fault


def default_logs(room: str) -> Path:
    """Where the logs of runs lie by default: beside a SQLite file, else with the user's own state."""
    store = StoreUrl.parse(room)
    if store.scheme == "sqlite" and store.place != ":memory:":
        return Path(f"{store.path}.logs")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "strongroom" / "logs"
