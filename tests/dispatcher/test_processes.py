"""Dispatchers in processes of their own, killed and hung and stopped: nothing is lost, nothing counts twice."""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import strongroom
from strongroom.dispatcher.audit import audit
from strongroom.dispatcher.jobs import create_job
from strongroom.domains import dispatch
from strongroom.domains.dispatch import JournalKind, Run, RunState, Workspace, checkpoint_line
from tests.conftest import SERVERS
from tests.dispatcher.sites import WAIT, until

HOUSE = Path(__file__).parents[2]
WORKSPACE = "build"

pytestmark = pytest.mark.slow


class Yard:
    """A room, and the processes of `strongroom dispatch` that work in it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.signs = folder / "signs"
        self.signs.mkdir()
        self.attempts = folder / "attempts"
        self._room: strongroom.Engine | None = None
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command of `strongroom dispatch` on this room, in a process of its own."""
        command, *options = words
        place = ["--room", self.url, "--workspace", WORKSPACE]
        process = subprocess.Popen(
            [sys.executable, "-m", "strongroom", "dispatch", command, *self._placed(options, place)],
            env={**os.environ, "PYTHONPATH": str(HOUSE / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    @staticmethod
    def _placed(options: list[str], place: list[str]) -> list[str]:
        at = options.index("--") if "--" in options else len(options)
        return [*options[:at], *place, *options[at:]]

    def call(self, *words: str) -> str:
        """What a command answers."""
        code, out, err = ended(self.start(*words))
        assert code == 0, err
        return out

    def work(self, *options: str) -> subprocess.Popen[str]:
        """A dispatcher."""
        return self.start("run", "--json", "--attempts-dir", str(self.attempts), *options)

    def submit(self, script: str, count: int = 1) -> list[str]:
        """Runs of a shell's script, whose $0 is the folder of signs: their ids."""
        job = create_job(self.workspace, f"job-{secrets.token_hex(4)}", ["sh", "-c", script, str(self.signs)]).job
        return [self.workspace.submit(job.id, f"key-{number}", "{}").run for number in range(count)]

    def began(self, run: str, attempt: int = 1) -> bool:
        return (self.signs / f"{run}.{attempt}").exists()

    def go(self) -> None:
        (self.signs / "go").touch()

    @property
    def workspace(self) -> Workspace:
        self._room = self._room or strongroom.open(self.url)
        return dispatch.open(self._room).for_workspace(WORKSPACE)

    def run(self, run: str) -> Run:
        return self.workspace.runs.get(run)

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.send_signal(signal.SIGCONT)
            process.communicate()
        if self._room is not None:
            self._room.close()


def ended(process: subprocess.Popen[str], patience: float = 100) -> tuple[int, str, str]:
    """The exit code, answers and remarks of a process that is left to end."""
    out, err = process.communicate(timeout=patience)
    return process.returncode, out, err


@pytest.fixture(params=["sqlite", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Yard]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/room.db"
    else:
        url = SERVERS[request.param](request.getfixturevalue(request.param), f"room_{secrets.token_hex(6)}")
    yard = Yard(url, tmp_path)
    yield yard
    yard.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Yard]:
    """A yard on SQLite."""
    yard = Yard(f"sqlite:///{tmp_path}/room.db", tmp_path)
    yield yard
    yard.close()


def assert_whole(yard: Yard, runs: list[str]) -> None:
    """Every run has completed once; journal, chain, rows and attempts' folders all say the same of it."""
    workspace = yard.workspace
    found = audit(workspace)
    assert found.findings == ()
    held = {run: workspace.runs.get(run) for run in runs}
    assert Counter(run.state for run in held.values()) == {RunState.COMPLETED: len(runs)}
    report = workspace.chain.verify()
    assert (report.valid, report.lines) == (True, len(runs))
    entries = workspace.journal.page(limit=10_000).items
    assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    begun = {
        f"{entry.run}.{json.loads(entry.detail)['attempt']}"
        for entry in entries
        if entry.kind is JournalKind.RUN_STARTED
    }
    # A dispatcher may die between its claim and the folder; there is never one that nothing was claimed for.
    folders = {path.name for path in (yard.attempts / WORKSPACE).iterdir()}
    assert folders <= begun
    for run in held.values():
        folder = yard.attempts / WORKSPACE / f"{run.id}.{run.attempt}"
        assert (folder / "record.json").read_bytes() == (run.record or b"") + b"\n"
        assert json.loads(run.record or b"")["token"] == run.token
    verified = subprocess.run(
        [sys.executable, "-m", "strongroom", "verify", yard.url, "--json"],
        env={**os.environ, "PYTHONPATH": str(HOUSE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout


def kill_two_of_four(yard: Yard, count: int) -> None:
    """Four dispatchers work off `count` runs; two are killed at any moment."""
    luck = random.Random(count)
    yard.call("job", "create", "count", "--", "sh", "-c", "echo $STRONGROOM_RUN; cat >&2")
    told = yard.call("submit", "count", "--count", str(count), "--queue-limit", str(count), "--json")
    runs = [json.loads(line)["run"] for line in told.splitlines()]
    crews = [yard.work("--lease", "3", "--jobs", "2", "--drain") for _ in range(4)]
    with ThreadPoolExecutor() as readers:
        # Read from the beginning, and all at once: one whose answers nobody reads stands still, and the others wait.
        survivors = [readers.submit(ended, crew, 100 + count) for crew in crews[2:]]
        for doomed in crews[:2]:
            assert doomed.stdout is not None
            for _ in range(luck.randrange(1, max(2, count // 8))):
                doomed.stdout.readline()
            doomed.kill()
        for survivor in survivors:
            code, _, err = survivor.result()
            assert code == 0, err
    assert_whole(yard, runs)


def test_four_dispatchers_of_which_two_are_killed_complete_every_run_once(own: Yard) -> None:
    kill_two_of_four(own, 100)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_thousand_commands_survive_the_death_of_two_dispatchers(own: Yard) -> None:
    kill_two_of_four(own, 1000)


def test_dispatchers_that_are_killed_at_any_moment_leave_all_whole(yard: Yard) -> None:
    luck = random.Random(7)
    runs = yard.submit("sleep 0.0$(($$ % 10))", 30)
    for _ in range(4):
        head = yard.workspace.journal.head()
        doomed = yard.work("--lease", "1", "--jobs", "3")
        until(lambda head=head: yard.workspace.journal.head() > head, "it is at work")  # type: ignore[misc]
        time.sleep(luck.random() * 0.4)
        doomed.kill()
        doomed.wait()
        held = yard.workspace.chain.head()
        report = yard.workspace.chain.verify(checkpoints=[] if held is None else [held])
        assert (report.valid, report.matched) == (True, 0 if held is None else 1)
        assert audit(yard.workspace).findings == ()
    code, _, err = ended(yard.work("--lease", "1", "--jobs", "3", "--drain"))
    assert code == 0, err
    assert_whole(yard, runs)


def test_what_a_hung_dispatcher_says_late_is_refused(yard: Yard) -> None:
    (run,) = yard.submit(WAIT)
    hung = yard.work("--lease", "1", "--drain")
    until(lambda: yard.began(run), "the command is at work")
    first = yard.run(run)
    hung.send_signal(signal.SIGSTOP)
    heir = yard.work("--lease", "3", "--drain")
    until(lambda: yard.began(run, 2), "another dispatcher has taken it over")
    yard.go()
    code, out, err = ended(heir)
    assert (code, json.loads(out)["attempt"]) == (0, 2), err
    hung.send_signal(signal.SIGCONT)
    code, out, err = ended(hung)
    assert (code, out) == (0, "")
    assert re.fullmatch(f"lost: {run} is another dispatcher's by now\n", err)
    kept = yard.run(run)
    assert kept.token > first.token
    assert json.loads(kept.record or b"")["attempt"] == 2
    assert_whole(yard, [run])


def test_the_commands_of_a_killed_dispatcher_end_with_it(own: Yard) -> None:
    (run,) = own.submit('echo $$ >"$0/pid.new"; mv "$0/pid.new" "$0/pid"; while :; do sleep 0.02; done')
    killed = own.work("--lease", "60")
    pid = until(lambda: (own.signs / "pid").exists() and (own.signs / "pid").read_text().strip())
    killed.kill()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the command is gone")
    assert own.run(run).state is RunState.RUNNING


def test_without_leases_the_next_start_interrupts_what_was_left_running(own: Yard) -> None:
    left, waiting = own.submit(WAIT, 2)
    killed = own.work()
    until(lambda: own.began(left), "the first command is at work")
    code, _, err = ended(own.work())
    assert code == 3, "while it lives, no other is let in"
    assert "several share a workspace by --lease" in err
    assert own.run(left).state is RunState.RUNNING
    killed.kill()
    killed.wait()
    own.go()
    code, out, err = ended(own.work("--drain"))
    assert (code, err) == (0, "interrupted 1 run that were left running\n")
    assert [json.loads(line)["run"] for line in out.splitlines()] == [waiting]
    kept = own.run(left)
    assert (kept.state, kept.attempt, kept.interrupted_at_ms) == (RunState.INTERRUPTED, 1, None)
    assert audit(own.workspace).findings == ()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_told_to_stop_it_ends_what_it_has_begun_and_says_so(own: Yard, number: int, code: int) -> None:
    begun, waiting = own.submit(WAIT, 2)
    stopped = own.work()
    until(lambda: own.began(begun), "the first command is at work")
    stopped.send_signal(number)
    assert stopped.stderr is not None
    assert stopped.stderr.readline().startswith("stopping: 1 still at work")
    own.go()
    found, out, _ = ended(stopped)
    assert (found, json.loads(out)["run"]) == (code, begun)
    assert own.run(waiting).state is RunState.QUEUED
    assert own.workspace.journal.page(limit=1000).items[-1].kind is JournalKind.RUNNER_STOPPED


def test_told_to_stop_twice_it_ends_its_commands_too(own: Yard) -> None:
    (run,) = own.submit(WAIT)
    stopped = own.work()
    until(lambda: own.began(run), "the command is at work")
    stopped.send_signal(signal.SIGINT)
    assert stopped.stderr is not None
    stopped.stderr.readline()
    stopped.send_signal(signal.SIGINT)
    assert ended(stopped)[0] == 130
    kept = own.run(run)
    assert (kept.state, kept.problem) == (RunState.INTERRUPTED, "it was stopped together with its dispatcher")


def test_a_checkpoint_that_was_held_before_a_kill_is_met_by_the_chain_behind_it(own: Yard, tmp_path: Path) -> None:
    own.submit("true", 3)
    ended(own.work("--drain"))
    head = own.workspace.chain.head()
    assert head is not None
    (tmp_path / "held").write_bytes(checkpoint_line(head))
    runs = own.submit(WAIT, 1)
    killed = own.work("--lease", "1")
    until(lambda: own.began(runs[0]), "the command is at work")
    killed.kill()
    killed.wait()
    own.go()
    ended(own.work("--lease", "1", "--drain"))
    told = json.loads(own.call("chain", "verify", "--checkpoint", str(tmp_path / "held"), "--json"))
    assert (told["valid"], told["lines"], told["matched"], told["through"]) == (True, 4, 1, 3)
