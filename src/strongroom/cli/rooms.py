"""Rooms as `validate` and `report` name them: an option rather than an argument, with a default in this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from strongroom.cli.stores import shown_url
from strongroom.domains.stovepipe.records import QUEUES
from strongroom.engine import StoreUrl
from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, SchemaTooNew
from strongroom.patterns import check_scope

DEFAULT_ROOM: Final = "sqlite:///strongroom.db"

Room = Annotated[str, typer.Option("--room", metavar="URL", help="The store that keeps the records.")]


@contextmanager
def opening(room: str) -> Iterator[None]:
    """Open a room: one that this code can't use is a wrong call, as exit code 1 is for commits that are not green."""
    try:
        yield
    except (Corrupt, MigrationFailed, SchemaTooNew) as fault:
        raise InvalidArgument(f"the room {shown_url(room)} can't be used: {fault}") from fault


def check_queue(name: str) -> None:
    """Raises `InvalidArgument` for a name that no queue can have."""
    try:
        check_scope(QUEUES, (name,))
    except InvalidArgument as fault:
        raise InvalidArgument("a queue's name has 1 to 255 bytes of UTF-8, and no NUL") from fault


def default_logs(room: str) -> Path:
    """Where the logs of runs lie by default."""
    return default_folder(room, "logs")


def default_folder(room: str, kind: str) -> Path:
    """Where files that belong to a room lie by default: beside a SQLite file, else with the user's own state."""
    store = StoreUrl.parse(room)
    if store.scheme == "sqlite" and store.place != ":memory:":
        return Path(f"{store.path}.{kind}")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "strongroom" / kind
