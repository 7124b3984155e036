"""`dispatch run`: what it says and exits with, and how signals stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from strongroom.domains.dispatch import JournalKind, RunState, Workspace
from tests.cli.conftest import Run
from tests.cli.dispatch.conftest import NAME, Answers

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which a process counts as stuck."""


def until(true: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < deadline, f"it never came to it that {what}"
        time.sleep(0.02)
    return found


def test_each_run_that_ends_is_a_line_and_the_last_one_counts_them(work: Run, answers: Answers) -> None:
    work("job", "create", "greet", command=("sh", "-c", "exit $(cat)"))
    (good,) = answers("submit", "greet", "--input", "0")
    (bad,) = answers("submit", "greet", "--input", "7")
    told = work("run", "--drain")
    first, second, last = told.stdout.splitlines()
    assert first.split() == [good["run"], "completed"]
    assert second.split(maxsplit=2) == [bad["run"], "failed", "its exit code is 7"]
    assert last == f"{NAME}: 2 runs ended: 1 completed, 1 failed"
    assert (told.exit_code, told.stderr) == (1, "")


def test_with_nothing_to_do_a_drain_ends_well(work: Run, workspace: Workspace) -> None:
    work("job", "create", "greet", command=("true",))
    told = work("run", "--drain")
    assert (told.exit_code, told.stdout) == (0, f"{NAME}: 0 runs ended: none\n")
    kinds = [entry.kind for entry in workspace.journal.page().items[-2:]]
    assert kinds == [JournalKind.RUNNER_STARTED, JournalKind.RUNNER_STOPPED]


def test_programs_get_an_object_for_each_run_that_ended(answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "greet", command=("true",))
    (asked,) = answers("submit", "greet")
    (ended,) = answers("run", "--drain", "--lease", 60, "--jobs", 2)
    kept = workspace.runs.get(asked["run"])
    assert ended == {
        "run": kept.id,
        "job": kept.job,
        "state": "completed",
        "attempt": 1,
        "token": kept.token,
        "problem": None,
        "entry": 1,
    }


def test_attempts_lie_beside_the_room_or_where_they_are_told_to(work: Run, answers: Answers, here: Path) -> None:
    answers("job", "create", "greet", command=("cat",))
    (beside,) = answers("submit", "greet", "--input", "1")
    answers("run", "--drain")
    assert (here / f"work.db.attempts/{NAME}/{beside['run']}.1/stdout").read_text() == "1"
    (elsewhere,) = answers("submit", "greet", "--input", "2")
    answers("run", "--drain", "--attempts-dir", "there")
    assert (here / f"there/{NAME}/{elsewhere['run']}.1/stdout").read_text() == "2"


def test_a_command_is_ended_when_its_time_is_over(work: Run, answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "sleep", command=("sleep", "300"))
    (asked,) = answers("submit", "sleep")
    assert work("run", "--drain", "--timeout", 0.2).exit_code == 1
    kept = workspace.runs.get(asked["run"])
    assert (kept.state, kept.problem) == (RunState.FAILED, "it was ended after 0.2 s")


def test_what_was_left_running_is_told_when_a_dispatcher_starts(
    work: Run, answers: Answers, workspace: Workspace
) -> None:
    answers("job", "create", "greet", command=("true",))
    answers("submit", "greet")
    workspace.dispatcher("dead").claim()
    told = work("run", "--drain")
    assert (told.exit_code, told.stderr) == (0, "interrupted 1 run that were left running\n")


@pytest.mark.parametrize(
    "options",
    [("--jobs", 0), ("--jobs", 257), ("--lease", 0), ("--lease", "nan"), ("--timeout", 0), ("--timeout", "nan")],
)
def test_a_call_that_can_t_be_starts_nothing(work: Run, workspace: Workspace, options: tuple[object, ...]) -> None:
    assert work("run", "--drain", *options).exit_code == 2
    assert workspace.journal.head() == 0


class Process:
    """A dispatcher in a process of its own, and the commands that it runs: they begin, and wait for `go`."""

    def __init__(self, command: list[str], url: str, here: Path) -> None:
        self._command = [*command, "dispatch", "run", "--room", url, "--workspace", NAME]
        self.signs = here / "signs"
        self.signs.mkdir()
        self._started: list[subprocess.Popen[str]] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        script = 'touch "$0/$STRONGROOM_RUN"; until [ -e "$0/go" ]; do sleep 0.02; done'
        return ("sh", "-c", script, str(self.signs))

    def start(self, *options: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self._command, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def process(command: list[str], url: str, here: Path) -> Iterator[Process]:
    process = Process(command, url, here)
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_what_runs_end_and_claims_nothing_more(
    process: Process, answers: Answers, workspace: Workspace, number: signal.Signals
) -> None:
    answers("job", "create", "wait", command=process.waiting)
    first, second = (one["run"] for one in answers("submit", "wait", "--count", 2))
    dispatcher = process.start("--json")
    until((process.signs / first).exists, "the first command is at work")
    dispatcher.send_signal(number)
    assert dispatcher.stderr is not None
    assert dispatcher.stderr.readline() == "stopping: 1 still at work; once more ends what is at work\n"
    (process.signs / "go").touch()
    out, _ = dispatcher.communicate(timeout=PATIENCE)
    assert dispatcher.returncode == 128 + number
    assert [json.loads(line)["run"] for line in out.splitlines()] == [first]
    assert workspace.runs.get(second).state is RunState.QUEUED
    assert workspace.journal.page(limit=100).items[-1].kind is JournalKind.RUNNER_STOPPED


@pytest.mark.slow
@pytest.mark.parametrize(("options", "state"), [((), "interrupted"), (("--lease", "60"), "running")])
def test_the_second_signal_ends_what_runs(
    process: Process, answers: Answers, workspace: Workspace, options: tuple[str, ...], state: str
) -> None:
    answers("job", "create", "wait", command=process.waiting)
    (asked,) = answers("submit", "wait")
    dispatcher = process.start(*options)
    until((process.signs / asked["run"]).exists, "the command is at work")
    dispatcher.send_signal(signal.SIGINT)
    assert dispatcher.stderr is not None
    assert dispatcher.stderr.readline().startswith("stopping: ")
    dispatcher.send_signal(signal.SIGINT)
    dispatcher.communicate(timeout=PATIENCE)
    assert dispatcher.returncode == 130
    assert workspace.runs.get(asked["run"]).state.value == state
    assert workspace.journal.page(limit=100).items[-1].kind is JournalKind.RUNNER_STOPPED


@pytest.mark.slow
def test_a_second_dispatcher_without_leases_is_turned_away(
    process: Process, work: Run, answers: Answers, workspace: Workspace
) -> None:
    answers("job", "create", "wait", command=process.waiting)
    (asked,) = answers("submit", "wait")
    process.start()
    until((process.signs / asked["run"]).exists, "the command is at work")
    told = work("run", "--drain")
    assert (told.exit_code, "--lease" in told.stderr) == (3, True)
    assert workspace.runs.get(asked["run"]).state is RunState.RUNNING
