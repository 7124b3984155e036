"""Which room and which workspace a command is about, opened to look at it or to change it.

Whoever only looks makes no tables. Whoever changes makes those of dispatch where the store lacks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from strongroom.cli.stores import open_store, prepared_room
from strongroom.domains import dispatch
from strongroom.domains.dispatch import QUEUE_LIMIT, Workspace
from strongroom.domains.dispatch.records import WORKSPACES
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, clip

DEFAULT_WORKSPACE: Final = "default"
"""The workspace of a room that has none yet."""
DEFAULT_OWNER: Final = "owner"
"""Who a workspace belongs to that a command makes."""

WorkspaceName = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        envvar="STRONGROOM_WORKSPACE",
        metavar="NAME",
        help="The workspace; by default the room's only one, or default where it has none.",
        show_default=False,
    ),
]


@contextmanager
def looking(room: str, workspace: str | None, seal_key_file: Path | None) -> Iterator[Workspace]:
    """A workspace, to be read.

    Raises as `prepared_room`; `InvalidArgument` where the room keeps several workspaces and none was named.
    """
    with prepared_room(room, seal_key_file, dispatch.SUBJECT, hint=": make a job first") as engine:
        yield _workspace(dispatch.Dispatch(engine), workspace)


@contextmanager
def changing(
    room: str,
    workspace: str | None,
    seal_key_file: Path | None,
    *,
    create: bool = False,
    queue_limit: int = QUEUE_LIMIT,
) -> Iterator[Workspace]:
    """A workspace, to be changed; with `create` in a room that may not exist yet.

    Raises as `open_store` and `dispatch.open`, and for workspaces as `looking`.
    """
    with open_store(room, seal_key_file, create=create) as engine:
        yield _workspace(dispatch.open(engine), workspace, queue_limit)


def _workspace(store: dispatch.Dispatch, named: str | None, queue_limit: int = QUEUE_LIMIT) -> Workspace:
    """The workspace that was named, or else the only one, as its recorded owner has it."""
    name = _chosen(store.engine) if named is None else named
    found = store.for_workspace(name, owner=DEFAULT_OWNER, queue_limit=queue_limit)
    known = store.engine.get(WORKSPACES, name)
    return found if known is None else store.for_workspace(name, owner=known.owner, queue_limit=queue_limit)


def _chosen(engine: Engine) -> str:
    rows = engine.scan(WORKSPACES, limit=2)
    if len(rows) > 1:
        raise InvalidArgument(
            f"the room has several workspaces, {' and '.join(clip(row.workspace) for row in rows)} among them: "
            "name one with --workspace"
        )
    return rows[0].workspace if rows else DEFAULT_WORKSPACE
