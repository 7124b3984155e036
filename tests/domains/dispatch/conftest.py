"""Workspaces in each room of multi-record strength."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.engine import Engine
from tests.conftest import OPENERS, SERVERS
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard

EMBEDDED: Final = sorted(OPENERS.keys() - {"single-record"})


@pytest.fixture(params=[*EMBEDDED, *(pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(SERVERS))])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine of multi-record strength with nothing in it, of each kind in turn."""
    kind = request.param
    if kind in SERVERS:
        url = SERVERS[kind](request.getfixturevalue(kind), f"room_{secrets.token_hex(6)}")
        engine = strongroom.open(url)
    else:
        engine = OPENERS[kind](tmp_path)
    with engine:
        yield engine


@pytest.fixture
def workspace(room: Engine) -> dispatch.Workspace:
    """One workspace."""
    return dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)


@pytest.fixture
def yard(workspace: dispatch.Workspace) -> Yard:
    """A workspace with a release and a job in it."""
    return Yard(workspace)
