"""A workspace in a SQLite room, and commands that are about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Workspace
from tests.cli.conftest import Run

NAME = "build"

Answers = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands are called in, in an environment that names no workspace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRONGROOM_WORKSPACE", raising=False)
    return tmp_path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A room with the tables of dispatch in it, and nothing else."""
    url = f"sqlite:///{tmp_path}/work.db?synchronous=normal"
    with strongroom.open(url) as engine:
        dispatch.open(engine)
    return url


@pytest.fixture
def workspace(url: str) -> Iterator[Workspace]:
    """The workspace, beside the commands."""
    with strongroom.open(url) as engine:
        yield dispatch.open(engine).for_workspace(NAME)


@pytest.fixture
def work(run: Run, url: str) -> Run:
    """Runs a command of `strongroom dispatch` on the workspace."""

    def run_command(*words: object, command: tuple[str, ...] = ()) -> Any:
        behind = ("--", *command) if command else ()
        return run("dispatch", *words, "--room", url, "--workspace", NAME, *behind)

    return run_command


@pytest.fixture
def answers(work: Run) -> Answers:
    """Runs a command with --json that is to succeed: its objects."""

    def ask(*words: object, command: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        told = work(*words, "--json", command=command)
        assert told.exit_code == 0, told.stderr
        return [json.loads(line) for line in told.stdout.splitlines()]

    return ask


@pytest.fixture
def two_done(work: Run, answers: Answers) -> list[str]:
    """Two runs of the job greet that have completed."""
    work("job", "create", "greet", command=("sh", "-c", "cat; echo oops >&2"))
    runs = [one["run"] for one in answers("submit", "greet", "--key", "k", "--count", 2, "--input", '"you"')]
    assert work("run", "--drain").exit_code == 0
    return runs
