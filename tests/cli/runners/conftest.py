"""A fleet in a SQLite room, on a machine named box that runs Linux, and commands that are about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.cli.runners.machine import Machine
from strongroom.domains import runners
from strongroom.domains.runners import Arch, Os, RunnerStore
from tests.cli.conftest import Run
from tests.domains.runners.samples import FLEET

BOX = Machine("box", Os.LINUX, Arch.X64)


@pytest.fixture(autouse=True)
def on_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run on the machine `BOX`, in an environment that names neither fleet nor host."""
    for module in ("host", "repo"):
        monkeypatch.setattr(f"strongroom.cli.runners.{module}.this_machine", lambda: BOX)
    for variable in ("STRONGROOM_FLEET", "STRONGROOM_HOST"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A room with the tables of runners in it, and nothing else."""
    url = f"sqlite:///{tmp_path}/fleet.db"
    with strongroom.open(url) as engine:
        runners.open(engine)
    return url


@pytest.fixture
def store(url: str) -> Iterator[RunnerStore]:
    """The store of the fleet, beside the commands: what an agent has open."""
    with strongroom.open(url) as engine:
        yield runners.open(engine).for_fleet(FLEET)


@pytest.fixture
def fleet(run: Run, url: str) -> Run:
    """Runs a command of `strongroom runners` on the fleet."""

    def run_command(*words: object) -> Any:
        return run("runners", *words, "--room", url, "--fleet", FLEET)

    return run_command
