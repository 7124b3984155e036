"""Whole processes, killed and stopped and side by side: the work is shared, nothing is lost and nothing run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import strongroom
from strongroom.domains.stovepipe import RequestState, Storage
from strongroom.validator.holders import start_of
from strongroom.validator.records import RunState
from strongroom.validator.repository import commit_uri
from strongroom.validator.runs import Runs
from tests.validator.conftest import Checkout
from tests.validator.trunks import QUEUE, Bench, until

HOUSE = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


class Machine:
    """Starts `strongroom validate` for one checkout, in processes of its own."""

    def __init__(self, folder: Path, checkout: Checkout) -> None:
        self.bench = Bench(folder)
        self.checkout = checkout
        self.room = f"sqlite:///{folder}/room.db"
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *options: str, command: tuple[str, ...] | None = None) -> subprocess.Popen[str]:
        words = ["validate", str(self.checkout.path), "--queue", QUEUE, "--room", self.room, *options]
        process = subprocess.Popen(
            [sys.executable, "-m", "strongroom", *words, "--", *(command or self.bench.command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(HOUSE / "src")},
        )
        self._started.append(process)
        return process

    def finish(self, *options: str) -> tuple[int, str, str]:
        """The exit code, output and errors of a call that is left to end."""
        return ended(self.start(*options))

    def storage(self) -> Storage:
        return Storage(strongroom.open(self.room), QUEUE)

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


@pytest.fixture
def machine(tmp_path: Path, checkout: Checkout) -> Iterator[Machine]:
    folder = tmp_path / "bench"
    folder.mkdir()
    machine = Machine(folder, checkout)
    yield machine
    machine.close()


def test_killed_in_the_middle_of_a_command_it_goes_on_with_that_commit(machine: Machine) -> None:
    commits = [machine.checkout.commit(name, name=name) for name in ("one", "two", "three")]
    block = machine.bench.block("two")
    killed = machine.start()
    until(lambda: machine.bench.runs() == commits[:2], "the second commit's command is at work")
    killed.kill()
    ended(killed)
    block.unlink()
    code, out, err = machine.finish("--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["validated"], told["skipped"]) == (2, 1)
    assert machine.bench.runs() == [commits[0], commits[1], commits[1], commits[2]]
    storage = machine.storage()
    assert [run.state for run in Runs(storage).of("2")] == [RunState.INTERRUPTED, RunState.ENDED]
    assert storage.queues.get(QUEUE).last_green_uri == commit_uri(commits[2])
    assert storage.queues.get(QUEUE).in_flight_count == 0
    code, out, _ = machine.finish()
    assert (code, out) == (0, "nothing to do: 3 commits on record in fruit/main\n")
    assert len(machine.bench.runs()) == 4
    assert machine.checkout.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_by_a_signal_it_says_how_to_go_on_and_does(machine: Machine, number: int, code: int) -> None:
    commits = [machine.checkout.commit(name, name=name) for name in ("one", "two")]
    block = machine.bench.block("two")
    stopped = machine.start()
    until(lambda: machine.bench.runs() == commits, "the second commit's command is at work")
    stopped.send_signal(number)
    found, out, err = ended(stopped)
    assert found == code
    assert out.splitlines()[-1].startswith("fruit/main: 1 commit validated: 1 succeeded")
    assert err.splitlines() == [
        "stopping: the running commands have a few seconds to end",
        "stopped with 1 commit to go: the same command goes on from here",
    ]
    assert machine.storage().requests.get("2").state is RequestState.PROCESSING
    block.unlink()
    assert machine.finish()[0] == 0
    assert machine.bench.runs() == [*commits, commits[1]]
    assert machine.storage().requests.get("2").state is RequestState.SUCCEEDED


def test_ctrl_c_on_a_terminal_does_not_end_git_in_the_middle_of_a_checkout(machine: Machine) -> None:
    started = machine.bench.folder / "checking-out"
    machine.checkout.commit("one", _dot_gitattributes="*.bin filter=slow\n", a_dot_bin="x")
    machine.checkout.git("config", "filter.slow.smudge", f"touch {started}; sleep 1; cat")
    machine.checkout.git("config", "filter.slow.required", "true")
    stopped = machine.start()
    until(started.exists, "the commit is being checked out")
    os.killpg(stopped.pid, signal.SIGINT)  # as a terminal does it
    code, _, err = ended(stopped)
    assert (code, err.splitlines()[-1]) == (130, "stopped with 1 commit to go: the same command goes on from here")
    assert machine.finish()[0] == 0


MEET = """
import os, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
with (folder / "diary").open("a") as diary:
    diary.write(os.environ["STRONGROOM_COMMIT"] + "\\n")
end = time.monotonic() + 80
while len((folder / "diary").read_text().split()) < 2:
    if time.monotonic() > end:
        sys.exit("nobody came")
    time.sleep(0.02)
"""
"""Ends only once a second commit has been begun with: by the other process, as each one has but one job."""


def test_two_processes_share_the_work_and_each_commit_is_run_once(machine: Machine) -> None:
    commits = [machine.checkout.commit(f"commit {number}") for number in range(6)]
    meet = (sys.executable, "-c", MEET, str(machine.bench.folder))
    pair = [machine.start("--json", command=meet) for _ in range(2)]
    answers = [ended(process) for process in pair]
    assert [code for code, _, _ in answers] == [0, 0], answers
    assert Counter(machine.bench.diary.read_text().split()) == dict.fromkeys(commits, 1)
    told = [json.loads(out) for _, out, _ in answers]
    assert [one["validated"] > 0 for one in told] == [True, True]
    assert sum(one["validated"] for one in told) == 6
    for one in told:
        assert one["validated"] + one["elsewhere"] + one["skipped"] == 6
    storage = machine.storage()
    for number, commit in enumerate(commits, 1):
        request = storage.requests.get(str(number))
        assert (request.uri, request.state) == (commit_uri(commit), RequestState.SUCCEEDED)
    assert storage.queues.get(QUEUE).last_green_uri == commit_uri(commits[-1])


def test_one_that_waits_takes_over_from_one_that_dies(machine: Machine) -> None:
    commit = machine.checkout.commit("one", name="one")
    block = machine.bench.block("one")
    dies = machine.start()
    until(lambda: machine.bench.runs() == [commit], "the command is at work")
    waits = machine.start("--json")
    assert waits.stderr is not None
    assert waits.stderr.readline() == "waiting for 1 more, which another process is at work on\n"
    dies.kill()
    until(lambda: machine.bench.runs() == [commit, commit], "the other one has taken it over")
    block.unlink()
    code, out, _ = ended(waits)
    [one] = json.loads(out)["commits"]
    assert (code, one["attempt"], one["state"]) == (0, 2, "succeeded")


def test_a_killed_process_leaves_no_command_behind(machine: Machine) -> None:
    machine.checkout.commit("one", name="one")
    machine.bench.block("one")
    pid_file = machine.bench.folder / "pid"
    script = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    killed = machine.start(command=(sys.executable, "-c", script))
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text(), "the command is at work"))
    killed.kill()
    ended(killed)
    until(lambda: not start_of(pid), "the command has ended")
