"""Workspaces whose jobs are real commands, and crews that work them off."""

from __future__ import annotations

from pathlib import Path

import pytest

from strongroom.domains import dispatch
from tests.dispatcher.sites import Site
from tests.domains.dispatch.conftest import room, workspace

__all__ = ["room", "workspace"]


@pytest.fixture
def site(workspace: dispatch.Workspace, tmp_path: Path) -> Site:
    """A workspace in each room of multi-record strength, and a folder for its attempts."""
    return Site(workspace, tmp_path / "site")
