"""A validation that is stopped anywhere goes on where it stood: no end of a command is lost, none is run again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.conformance.stopping import Stopped, StoppingEngine
from strongroom.domains.stovepipe import BuildStatus, Issue, RequestState, Storage
from strongroom.engine import Backoff, Engine
from strongroom.patterns import ScopedTable
from strongroom.processes import execution
from strongroom.processes.execution import Execution
from strongroom.validator import pipeline
from strongroom.validator.claims import Claims
from strongroom.validator.crew import Began, Ended
from strongroom.validator.recipe import Recipe
from strongroom.validator.records import Run, RunState
from strongroom.validator.repository import Repository, commit_uri
from strongroom.validator.runs import Runs
from strongroom.validator.trunk import Trunk
from strongroom.validator.worktrees import Worktrees
from tests.validator.conftest import Checkout
from tests.validator.trunks import QUEUE, open_issues

REPORT = '<testsuite><testcase file="store/a.py" name="keep"><failure/></testcase></testsuite>'


class Command:
    """Stands for the command: fails with a report, or ends as it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.end: dict[str, Any] = {}

    def run(self, command: object, cwd: Path, **given: Any) -> Execution:
        self.calls += 1
        (cwd / "junit.xml").write_text(REPORT)
        told = {"exit_code": 1, "timed_out": False, "cancelled": False, "reason": "", **self.end}
        return Execution(started=True, duration_ms=5, tail="said so\n", **told)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    command = Command()
    monkeypatch.setattr(execution, "run", command.run)

    @contextlib.contextmanager
    def checkout(_worktrees: Worktrees, commit_id: str) -> Iterator[Path]:
        folder = tmp_path / "worktree"
        folder.mkdir(exist_ok=True)
        yield folder

    monkeypatch.setattr(Worktrees, "checkout", checkout)
    return command


@pytest.fixture
def repository(checkout: Checkout) -> Repository:
    checkout.commit("the only one")
    return Repository.open(checkout.path)


def validate(engine: Engine, repository: Repository, folder: Path, **recipe: Any) -> None:
    """Validate as a new process would: those before it are dead, as their leases are over at once."""
    given = {"junit": "junit.xml", **recipe}
    trunk = Trunk(engine, repository, QUEUE, Recipe(command=("true",), logs=folder, **given), lease_ms=1, beat_s=3600)
    outcome = trunk.validate(repository.first_parent("main", 10))
    assert not outcome.interrupted


def check_end(engine: Engine, repository: Repository) -> None:
    """Everything is on record once, whatever it took."""
    storage, uri = Storage(engine, QUEUE), commit_uri(repository.tip("main"))
    request = storage.requests.get("1")
    assert (request.uri, request.state, request.version) == (uri, RequestState.FAILED, 3)
    states = [log.state for log in storage.request_log.list("1") if log.state]
    assert states == [RequestState.ACCEPTED, RequestState.PROCESSING, RequestState.FAILED]
    assert storage.request_summaries.get("1").state is RequestState.FAILED
    queue = storage.queues.get(QUEUE)
    assert (queue.in_flight_count, queue.slot_holders, queue.enabled) == (0, (), True)
    assert storage.facts.get(uri).degree == 1.0
    assert [(fact.project, fact.degree) for fact in storage.facts_by_degree.list(uri, limit=9)] == [("store", 1.0)]
    [run] = [run for run in Runs(storage).of("1") if run.state is RunState.ENDED]
    assert open_issues(storage) == [(Issue("store/a.py", "keep"), run.build)]
    claim = Claims(engine, QUEUE).find(uri)
    assert claim is not None
    assert claim.recorded
    for attempt in range(1, claim.attempt + 1):
        with contextlib.suppress(strongroom.NotFound):
            build = storage.builds.get(f"1.{attempt}")
            assert build.status == (BuildStatus.FAILED if build.id == run.build else BuildStatus.CANCELLED)
    assert [run.state for run in Runs(storage).of("1") if run.state is RunState.RUNNING] == []


@pytest.mark.slow
def test_stopped_after_any_of_its_writes_it_goes_on_and_keeps_every_end(
    command: Command, repository: Repository, tmp_path: Path
) -> None:
    undisturbed = StoppingEngine(strongroom.open("memory://"))
    validate(undisturbed, repository, tmp_path)
    check_end(undisturbed, repository)
    assert command.calls == 1
    again = 0
    for number in range(1, undisturbed.writes + 1):
        inner = strongroom.open("memory://")
        command.calls = 0
        with pytest.raises(Stopped):
            validate(StoppingEngine(inner, number), repository, tmp_path)
        ended = inner.tables() and any(run.state is RunState.ENDED for run in Runs(Storage(inner, QUEUE)).of("1"))
        begun = command.calls
        validate(inner, repository, tmp_path)
        check_end(inner, repository)
        assert command.calls == (begun if ended else begun + 1)
        again += begun and not ended
    # Only while what the command came to was being kept can a stop make it run again.
    assert again <= 4


def test_stopped_again_and_again_it_still_gets_through(
    command: Command, repository: Repository, tmp_path: Path
) -> None:
    inner = strongroom.open("memory://")
    for _ in range(20):
        try:
            # It takes about a dozen to claim the commit, run the command and keep what that came to.
            validate(StoppingEngine(inner, 14), repository, tmp_path)
            break
        except Stopped:
            continue
    check_end(inner, repository)


def test_an_older_attempt_that_ends_late_is_not_recorded(
    command: Command, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = strongroom.open("memory://")
    real = command.run

    def overtaken(*args: Any, **given: Any) -> Execution:
        # While the first attempt is at it, its lease ends, and another process validates the commit.
        monkeypatch.setattr(execution, "run", real)
        validate(room, repository, tmp_path)
        command.end = {"exit_code": 0}
        return real(*args, **given)

    monkeypatch.setattr(execution, "run", overtaken)
    validate(room, repository, tmp_path)
    check_end(room, repository)
    first, second = Runs(Storage(room, QUEUE)).of("1")
    assert (first.state, second.state, second.exit_code) == (RunState.INTERRUPTED, RunState.ENDED, 1)
    assert first.reason == "its process is gone"


def test_a_command_whose_fate_is_unknown_says_nothing_of_its_commit(
    command: Command, repository: Repository, tmp_path: Path
) -> None:
    room = strongroom.open("memory://")
    command.end = {"exit_code": None, "reason": "its supervisor was killed"}
    with pytest.raises(strongroom.Unavailable, match="is not known: its supervisor was killed"):
        validate(room, repository, tmp_path)
    assert Storage(room, QUEUE).requests.get("1").state is RequestState.PROCESSING
    command.end = {}
    validate(room, repository, tmp_path)
    check_end(room, repository)
    assert command.calls == 2


def test_an_engine_that_is_away_when_a_command_ends_is_waited_for(
    command: Command, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = strongroom.open("memory://")
    monkeypatch.setattr(pipeline, "PATIENT", Backoff(attempts=4, first_ms=1, cap_ms=1))
    real, faults = ScopedTable.update, [strongroom.Unavailable("away")] * 2

    def update(table: ScopedTable[Any], record: Any, *, expect: Any) -> None:
        if isinstance(record, Run) and record.state is RunState.ENDED and faults:
            raise faults.pop()
        real(table, record, expect=expect)

    monkeypatch.setattr(ScopedTable, "update", update)
    validate(room, repository, tmp_path)
    check_end(room, repository)
    assert (command.calls, faults) == (1, [])


def test_a_stopped_command_leaves_its_commit_to_the_next_call(
    command: Command, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = strongroom.open("memory://")
    command.end = {"exit_code": None, "cancelled": True}
    trunk = Trunk(room, repository, QUEUE, Recipe(command=("true",), logs=tmp_path))
    real, events = command.run, []

    def until_cancelled(*args: Any, **given: Any) -> Execution:
        assert given["cancel"].wait(60)
        return real(*args, **given)

    def watch(event: object) -> None:
        events.append(event)
        if isinstance(event, Began):
            raise KeyboardInterrupt  # as SIGINT does, in the thread that validates

    monkeypatch.setattr(execution, "run", until_cancelled)
    outcome = trunk.validate(repository.first_parent("main", 10), watch)
    monkeypatch.setattr(execution, "run", real)
    assert (outcome.interrupted, outcome.validated) == (True, ())
    assert [event.validated for event in events if isinstance(event, Ended)] == [None]
    [run] = Runs(trunk.storage).of("1")
    assert run.state is RunState.INTERRUPTED
    assert trunk.storage.requests.get("1").state is RequestState.PROCESSING
    command.end = {}
    validate(room, repository, tmp_path)
    check_end(room, repository)


def test_a_fault_of_the_watcher_comes_out_and_stops_the_work(
    command: Command, repository: Repository, tmp_path: Path
) -> None:
    room = strongroom.open("memory://")
    trunk = Trunk(room, repository, QUEUE, Recipe(command=("true",), logs=tmp_path))

    def watch(event: object) -> None:
        if isinstance(event, Ended):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        trunk.validate(repository.first_parent("main", 10), watch)
    assert Storage(room, QUEUE).requests.get("1").state is RequestState.FAILED
