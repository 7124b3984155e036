"""Dispatchers in processes of their own: they share the queue, and one that dies or hangs holds nobody up."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Claim, JournalKind, RunState
from tests.conftest import SERVERS
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard, completed, retried

HOUSE = Path(__file__).parents[3]
PATIENCE = 60.0
"""Seconds after which a process counts as stuck."""

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite", *sorted(SERVERS)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that processes share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/room.db"
    return SERVERS[request.param](request.getfixturevalue(request.param), f"room_{secrets.token_hex(6)}")


@pytest.fixture
def shared(url: str) -> Iterator[Yard]:
    with strongroom.open(url) as room:
        yield Yard(dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER))


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts workers, and ends those that are left."""
    started: list[subprocess.Popen[str]] = []

    def one(url: str, work: str, lease_ms: int = 0) -> subprocess.Popen[str]:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.domains.dispatch.worker", url, work, str(lease_ms)],
            cwd=HOUSE,
            env={**os.environ, "PYTHONPATH": f"{HOUSE / 'src'}{os.pathsep}{HOUSE}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(worker)
        return worker

    yield one
    for worker in started:
        worker.kill()
        worker.communicate()


def line(worker: subprocess.Popen[str]) -> list[str]:
    assert worker.stdout is not None
    return worker.stdout.readline().split()


def taken_over(yard: Yard) -> Claim:
    """The run whose lease is over, as soon as it is."""
    dispatcher = yard.workspace.dispatcher("heir", lease_ms=600_000)
    deadline = time.monotonic() + PATIENCE
    while not (claims := dispatcher.take_over()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return claims[0]


def test_processes_share_the_queue_and_every_run_ends_once(shared: Yard, url: str, start: Start) -> None:
    workers = [start(url, "serve", 600_000) for _ in range(3)]
    for worker in workers:
        assert line(worker) == ["ready"]
    runs = [retried(lambda key=key: shared.submit(key)) for key in map(str, range(60))]  # type: ignore[misc]
    said: list[str] = []
    for worker in workers:
        out, _ = worker.communicate("stop\n", timeout=PATIENCE)
        said += out.splitlines()
        assert worker.returncode == 0
    assert Counter(said) == Counter(f"finished {run} Outcome" for run in runs)
    entries = shared.entries()
    assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    kinds = Counter(entry.kind for entry in entries)
    assert kinds[JournalKind.RUN_STARTED] == kinds[JournalKind.RUN_COMPLETED] == len(runs)
    report = shared.workspace.chain.verify()
    assert (report.valid, report.lines) == (True, len(runs))


def test_a_killed_process_s_run_is_taken_over(shared: Yard, url: str, start: Start) -> None:
    run = shared.submit()
    dead = start(url, "hold", 300)
    assert line(dead) == ["ready"]
    word, claimed, token = line(dead)
    assert (word, claimed) == ("claimed", run)
    dead.kill()
    dead.wait()
    claim = taken_over(shared)
    assert claim.run == run
    assert claim.token > int(token)
    shared.workspace.dispatcher(lease_ms=1).finish(claim, completed())
    assert (shared.run(run).state, shared.run(run).attempt) == (RunState.COMPLETED, 2)


def test_a_process_that_hung_is_refused_when_it_comes_back(shared: Yard, url: str, start: Start) -> None:
    run = shared.submit()
    hung = start(url, "hold", 300)
    assert line(hung) == ["ready"]
    token = line(hung)[2]
    claim = taken_over(shared)
    out, _ = hung.communicate("go on\n", timeout=PATIENCE)
    assert out.split() == ["refused", run, token]
    assert shared.run(run).token == claim.token
    shared.workspace.dispatcher(lease_ms=1).finish(claim, completed())
    assert len(shared.lines()) == 1


def test_without_leases_the_next_holder_s_restart_interrupts(tmp_path: Path, start: Start) -> None:
    url = f"sqlite:///{tmp_path}/room.db?exclusive=1"
    with strongroom.open(url) as room:
        yard = Yard(dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER))
        run, waiting = yard.submit(), yard.submit()
    dead = start(url, "hold")
    assert line(dead) == ["ready"]
    assert line(dead)[:2] == ["claimed", run]
    with pytest.raises(strongroom.StoreHeld):
        strongroom.open(url)
    dead.kill()
    dead.wait()
    with strongroom.open(url) as room:
        workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
        assert workspace.runs.get(run).state is RunState.RUNNING
        dispatcher = workspace.dispatcher()
        assert dispatcher.restart().interrupted == [run]
        assert [claim.run for claim in dispatcher.claim(2)] == [waiting]
        entries = workspace.journal.page(limit=1000).items
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.kind for entry in entries if entry.run == run] == ["run.queued", "run.started", "run.interrupted"]
