"""What keeps a program from outliving its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from servers import ServerFailed
from servers.process import Process
from servers.run import Run, current
from tests.servers.asking import lives, processes_in, wait_until

HOUSE = Path(__file__).parents[2]


def run_script(script: str, **options: object) -> Process:
    run = current()
    return Process(["/bin/sh", "-c", script], run=run, folder=run.new_folder("process"), **options)  # type: ignore[arg-type]


def read(process: Process, name: str) -> str:
    path = process.log.with_name(name)
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text().strip()


def test_a_program_gives_its_exit_status_and_its_output() -> None:
    process = run_script("echo out; echo err >&2; exit 3")
    assert process.wait(30)
    assert process.status == 3
    assert process.log.read_text().split() == ["out", "err"]


def test_what_a_program_leaves_behind_goes_with_it() -> None:
    process = run_script("setsid sleep 1000 & echo $! > orphan; exit 0")
    assert process.wait(30)
    assert process.status == 0
    assert not lives(int(read(process, "orphan")))


def test_a_kill_takes_a_program_that_ignores_signals_and_its_orphans() -> None:
    process = run_script("trap '' TERM INT; (setsid sleep 1000 & echo $! > orphan); while true; do sleep 1000; done")
    orphan = int(read(process, "orphan"))
    process.kill()
    assert process.status == -signal.SIGKILL
    assert not lives(orphan)
    assert processes_in(str(process.log.parent)) == []


def test_a_program_is_bidden_farewell_when_it_ends_and_not_when_it_is_killed() -> None:
    script = "trap 'echo farewell; exit 5' QUIT; echo > ready; while true; do sleep 0.01; done"
    ended, killed = (run_script(script, farewell=signal.SIGQUIT) for _ in range(2))
    for process in (ended, killed):
        wait_until(process.log.with_name("ready").exists)
    ended.end()
    killed.kill()
    assert (ended.status, ended.log.read_text()) == (5, "farewell\n")
    assert (killed.status, killed.log.read_text()) == (-signal.SIGKILL, "")


def test_a_program_does_not_outlive_its_keeper() -> None:
    process = run_script("exec sleep 1000")
    keeper = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not lives(process.pid))
    assert not process.running


def test_a_program_that_is_not_there_is_an_error_that_names_it() -> None:
    run = current()
    with pytest.raises(ServerFailed, match="/not/there could not be run"):
        Process(["/not/there"], run=run, folder=run.new_folder("process"))


def test_a_program_sees_nothing_of_the_testers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "sesame")
    process = run_script("env")
    assert process.wait(30)
    assert "sesame" not in process.log.read_text()


def test_what_is_made_once_is_made_by_the_first_and_known_to_all(tmp_path: Path) -> None:
    made: list[int] = []
    run = Run(tmp_path / "run", os.getpid())

    def make() -> int:
        made.append(1)
        return len(made)

    assert [Run(run.folder, run.owner).once("thing", make) for _ in range(3)] == [1, 1, 1]


def test_what_could_not_be_made_is_not_tried_again(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", os.getpid())
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise ServerFailed("the disk is full")

    for _ in range(2):
        with pytest.raises(ServerFailed, match="the disk is full"):
            run.once("thing", fail)
    assert len(tries) == 1


OWNER = """
import json, signal, sys
from servers.process import Process
from servers.run import current

run = current()
ignoring = ["/bin/sh", "-c", "trap '' TERM; while true; do sleep 1000; done"]
processes = [Process(ignoring, run=run, folder=run.new_folder("process")) for _ in range(2)]
print(json.dumps([str(run.folder), [process.pid for process in processes]]), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ending", ["killed", "exits"])
def test_nothing_is_left_of_a_run_when_its_owner_is_gone(ending: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=HOUSE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        folder, pids = json.loads(owner.stdout.readline())
        assert all(map(lives, pids))
        if ending == "killed":
            owner.kill()
        owner.stdin.close()
        assert owner.wait(30) == (-signal.SIGKILL if ending == "killed" else 0)
    wait_until(lambda: not Path(folder).exists())
    assert not any(map(lives, pids))
    assert processes_in(folder) == []
