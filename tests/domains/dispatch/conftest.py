"""Workspaces in each room of multi-record strength."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strongroom.domains import dispatch
from strongroom.engine import Engine
from tests.conftest import MULTI_RECORD, opener
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard


@pytest.fixture(params=MULTI_RECORD)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine of multi-record strength with nothing in it, of each kind in turn."""
    with opener(request.param, request, tmp_path)() as engine:
        yield engine


@pytest.fixture
def workspace(room: Engine) -> dispatch.Workspace:
    """One workspace."""
    return dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)


@pytest.fixture
def yard(workspace: dispatch.Workspace) -> Yard:
    """A workspace with a release and a job in it."""
    return Yard(workspace)
