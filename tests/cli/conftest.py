from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import strongroom
from strongroom.cli import app
from tests.operations.shop import SUBJECT, fill

HOUSE = Path(__file__).parents[2]

Run = Callable[..., Any]


def announce(folder: Path, group: str, **points: str) -> None:
    """Make `folder`, on the path, look like one that packages with these entry points are installed in."""
    info = folder / f"{group.replace('.', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {group}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, of this process and of those that it starts, with the shop's schema announced in it."""
    folder = tmp_path / "packages"
    folder.mkdir()
    announce(folder, "strongroom.schemas", shop="tests.operations.shop:SUBJECT")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(HOUSE / "src"), str(HOUSE)]))
    monkeypatch.delenv("STRONGROOM_SEAL_KEY_FILE", raising=False)
    return folder


@pytest.fixture
def run(packages: Path) -> Run:
    """Runs a command in this process: its result has exit_code, stdout and stderr."""

    def run_command(*words: object) -> Any:
        result = CliRunner().invoke(app, [str(word) for word in words], prog_name="strongroom")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run_command


@pytest.fixture
def command(packages: Path) -> list[str]:
    """The beginning of a command that runs in a process of its own."""
    return [sys.executable, "-m", "strongroom"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A SQLite store with the shop in it."""
    url = f"sqlite:///{tmp_path}/shop.db"
    with strongroom.open(url) as engine:
        fill(engine, SUBJECT)
    return url
