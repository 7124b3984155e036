from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from strongroom.errors import InvalidArgument
from strongroom.processes import execution
from strongroom.processes.execution import Execution, find_command, run
from strongroom.processes.logs import TAIL_BYTES, Kept

FOREVER = "while :; do sleep 0.02; done"
# The supervisor has said what it started, and waits.
SUPERVISED = "until grep -q '^State:.S' /proc/$PPID/status; do sleep 0.02; done"

HOLD = """
import sys
from strongroom.processes.execution import run
run(["sh", "-c", sys.argv[1]], sys.argv[2], log_path=sys.argv[3], grace_s=0.2)
"""


class Ready(threading.Event):
    """An event that the command itself sets, by making a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def is_set(self) -> bool:
        return self.path.exists()


class Shell:
    """Runs shell scripts in a folder, with a log beside it."""

    def __init__(self, tmp_path: Path) -> None:
        self.cwd = tmp_path / "work"
        self.cwd.mkdir()
        self.log = tmp_path / "log"
        self.ready = Ready(self.cwd / "ready")

    def __call__(self, script: str, **options: Any) -> Execution:
        return self.run(["sh", "-c", script], **options)

    def run(self, command: list[str], **options: Any) -> Execution:
        return run(command, self.cwd, log_path=self.log, **options)

    def python(self, script: str, **options: Any) -> Execution:
        return self.run([sys.executable, "-c", script], **options)


@pytest.fixture
def sh(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def eventually(true: Callable[[], bool]) -> bool:
    """Whether it is so within half a minute, which is but a limit for the broken case."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.01)
    return False


def runs(pid: int) -> bool:
    """Whether the process exists and is not just waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids(path: Path, count: int) -> list[int]:
    assert eventually(lambda: path.exists() and len(path.read_text().split()) == count)
    return [int(pid) for pid in path.read_text().split()]


def test_a_command_that_ends_tells_its_exit_code(sh: Shell) -> None:
    done = sh("echo out; echo err >&2; exit 3")
    assert (done.started, done.exit_code, done.timed_out, done.cancelled) == (True, 3, False, False)
    assert (done.tail, done.reason) == ("out\nerr\n", "")
    assert done.duration_ms > 0
    assert sh.log.read_bytes() == b"out\nerr\n"
    assert sh("true").exit_code == 0


def test_a_command_that_a_signal_ended_tells_the_signal(sh: Shell) -> None:
    assert sh("kill -SEGV $$").exit_code == -signal.SIGSEGV
    assert sh("kill -TERM $$").exit_code == -signal.SIGTERM


def test_a_command_that_kills_its_whole_group_is_told_as_such(sh: Shell) -> None:
    assert sh("kill -KILL 0").exit_code == -signal.SIGKILL


def test_a_command_runs_in_its_folder_without_input(sh: Shell) -> None:
    assert sh("pwd; cat; echo end").tail == f"{sh.cwd}\nend\n"


def test_input_and_errors_have_files_of_their_own_where_they_are_named(sh: Shell, tmp_path: Path) -> None:
    given, errors = tmp_path / "given", tmp_path / "errors"
    given.write_bytes(b"apples\0pears")
    done = sh("cat; echo oops >&2; exit 3", input_path=given, errors_path=errors)
    assert (done.exit_code, sh.log.read_bytes(), errors.read_bytes()) == (3, b"apples\0pears", b"oops\n")
    assert done.output == Kept(12, 12, f"sha256:{hashlib.sha256(sh.log.read_bytes()).hexdigest()}")
    assert done.errors == Kept(5, 5, f"sha256:{hashlib.sha256(errors.read_bytes()).hexdigest()}")


def test_the_digest_of_a_cut_log_is_that_of_the_file(sh: Shell) -> None:
    done = sh("seq 100000", max_log_bytes=8192)
    kept = sh.log.read_bytes()
    assert done.output == Kept(588895, len(kept), f"sha256:{hashlib.sha256(kept).hexdigest()}")
    assert len(kept) < 9000


def test_an_input_that_cannot_be_read_is_refused(sh: Shell, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="the input"):
        sh("true", input_path=tmp_path / "missing")


def test_arguments_are_passed_on_as_they_are(sh: Shell) -> None:
    arguments = ["", " ", "$HOME", "*", "--", "-c", "'\"", "é\n", os.fsdecode(b"\xff")]
    script = "import os, sys; print([os.fsencode(word) for word in sys.argv[1:]])"
    done = sh.run([sys.executable, "-c", script, *arguments]).tail
    assert done == f"{[os.fsencode(word) for word in arguments]}\n"


@pytest.mark.parametrize("locale", [{}, {"LC_CTYPE": "C"}, {"LC_ALL": "C"}, {"LANG": "de_DE"}])
def test_the_environment_is_this_process_own_and_what_was_added(
    sh: Shell, monkeypatch: pytest.MonkeyPatch, locale: dict[str, str]
) -> None:
    for name in ("LC_CTYPE", "LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in locale.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KEPT", "k")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    sh.run(["env", "-0"], env={"ADDED": "a=1"})
    seen = dict(entry.split("=", 1) for entry in os.fsdecode(sh.log.read_bytes()).split("\0")[:-1])
    expected = {name: value for name, value in os.environ.items() if name != "GIT_DIR"} | {"ADDED": "a=1"}
    assert seen == expected


def test_signals_are_at_their_defaults_in_the_command(sh: Shell) -> None:
    ignored = next(line for line in sh("cat /proc/self/status").tail.splitlines() if line.startswith("SigIgn"))
    assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 0  # Those above are the C library's own.


def test_no_file_is_open_in_the_command_but_its_input_and_output(sh: Shell) -> None:
    assert sh.python(
        "import os; print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))"
    ).tail == ("['0', '1', '2'] 4\n")


def test_a_timeout_ends_a_command(sh: Shell) -> None:
    done = sh(FOREVER, timeout_s=0.2)
    assert (done.started, done.exit_code, done.timed_out, done.cancelled) == (True, None, True, False)


def test_a_command_can_be_cancelled(sh: Shell) -> None:
    done = sh(f"echo begun; echo $$ > pids; touch ready; {FOREVER}", cancel=sh.ready, timeout_s=100)
    assert (done.started, done.exit_code, done.timed_out, done.cancelled) == (True, None, False, True)
    assert done.tail.startswith("begun\n")
    assert not any(map(runs, pids(sh.cwd / "pids", 1)))


def test_a_command_may_clean_up_after_sigterm(sh: Shell) -> None:
    script = f"trap 'sleep 0.1; echo cleaned; exit 0' TERM; touch ready; {FOREVER}"
    done = sh(script, cancel=sh.ready, grace_s=60)
    assert (done.exit_code, done.cancelled) == (None, True)
    assert done.tail.endswith("cleaned\n")


def test_children_get_the_grace_even_if_the_command_ends_at_once(sh: Shell) -> None:
    child = f"trap 'sleep 0.2; echo cleaned; exit' TERM; touch ready; {FOREVER}"
    done = sh.run(["sh", "-c", 'sh -c "$1" & wait', "sh", child], cancel=sh.ready, grace_s=60)
    assert done.tail.endswith("cleaned\n")


def test_a_command_that_ignores_sigterm_is_killed(sh: Shell) -> None:
    done = sh(f"trap '' TERM; echo $$ > pids; touch ready; {FOREVER}", cancel=sh.ready, grace_s=0.1)
    assert done.cancelled
    assert not any(map(runs, pids(sh.cwd / "pids", 1)))


def test_what_was_cancelled_before_it_began_ends_at_once(sh: Shell) -> None:
    cancel = threading.Event()
    cancel.set()
    assert sh(FOREVER, cancel=cancel).cancelled


def test_no_child_outlives_a_cancelled_command(sh: Shell) -> None:
    children = f"(trap '' TERM; {FOREVER}) & echo $! >> pids; sleep 1000 & echo $! >> pids"
    sh(f"{children}; touch ready; {FOREVER}", cancel=sh.ready, grace_s=0.1)
    assert eventually(lambda: not any(map(runs, pids(sh.cwd / "pids", 2))))


def test_no_child_outlives_a_command_that_ends(sh: Shell) -> None:
    done = sh("(trap '' TERM; sleep 1000) & echo $! > pids; exit 0")
    assert done.exit_code == 0
    assert eventually(lambda: not any(map(runs, pids(sh.cwd / "pids", 1))))


def test_a_daemon_that_holds_the_output_is_not_waited_for(sh: Shell) -> None:
    daemon = (
        "import os, time; os.setsid(); open('pids', 'w').write(str(os.getpid())); open('ready', 'w'); time.sleep(1000)"
    )
    done = sh(
        f'{sys.executable} -c "$DAEMON" & while [ ! -e ready ]; do sleep 0.02; done; echo main', env={"DAEMON": daemon}
    )
    (pid,) = pids(sh.cwd / "pids", 1)
    assert runs(pid)
    os.kill(pid, signal.SIGKILL)
    assert (done.exit_code, done.tail) == (0, "main\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_and_its_children_end_with_a_killed_validator(sh: Shell, number: signal.Signals) -> None:
    script = f"sleep 1000 & echo $! >> pids; echo $$ >> pids; {FOREVER}"
    sources = str(Path(__file__).parents[2] / "src")
    validator = subprocess.Popen(
        [sys.executable, "-c", HOLD, script, str(sh.cwd), str(sh.log)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([sources, os.environ.get("PYTHONPATH", "")])},
    )
    started = pids(sh.cwd / "pids", 2)
    validator.send_signal(number)
    validator.wait()
    assert eventually(lambda: not any(map(runs, started)))


def test_an_interrupted_call_ends_the_command(sh: Shell) -> None:
    class Interrupting(threading.Event):
        def is_set(self) -> bool:
            if sh.ready.is_set():
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        sh(f"sleep 1000 & echo $$ $! > pids; touch ready; {FOREVER}", cancel=Interrupting(), grace_s=0.1)
    assert eventually(lambda: not any(map(runs, pids(sh.cwd / "pids", 2))))


def test_a_killed_supervisor_takes_the_command_with_it(sh: Shell) -> None:
    done = sh(f"sleep 1000 & echo $$ $! > pids; {SUPERVISED}; kill -KILL $PPID; {FOREVER}")
    assert (done.started, done.exit_code) == (True, None)
    assert "its supervisor was killed" in done.reason
    assert eventually(lambda: not any(map(runs, pids(sh.cwd / "pids", 2))))


def test_a_supervisor_that_hangs_is_given_up(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_PATIENCE_S", 0.2)
    done = sh(f"echo $$ > pids; {SUPERVISED}; kill -STOP $PPID; touch ready; {FOREVER}", cancel=sh.ready, grace_s=0.1)
    assert (done.cancelled, done.exit_code) == (True, None)
    assert "is stuck" in done.reason
    assert eventually(lambda: not any(map(runs, pids(sh.cwd / "pids", 1))))


def test_commands_run_side_by_side(sh: Shell, tmp_path: Path) -> None:
    def one(number: int) -> tuple[int | None, str]:
        done = run(["sh", "-c", f"echo {number}; exit {number}"], sh.cwd, log_path=tmp_path / f"log{number}")
        return done.exit_code, done.tail

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(12))) == [(number, f"{number}\n") for number in range(12)]


def test_a_command_that_is_not_there_is_an_outcome(sh: Shell) -> None:
    done = sh.run(["./build.sh"])
    assert (done.started, done.exit_code, done.tail) == (False, 127, "")
    assert done.reason == "'./build.sh' could not be started: No such file or directory"


def test_a_command_that_cannot_be_executed_is_an_outcome(sh: Shell) -> None:
    script = sh.cwd / "build.sh"
    script.write_text("echo built\n")
    assert sh.run(["./build.sh"]).exit_code == 126
    script.chmod(0o755)
    done = sh.run(["./build.sh"])
    assert (done.started, done.exit_code) == (False, 126)
    assert "a script begins with a line such as '#!/bin/sh'" in done.reason
    script.write_text("#!/bin/sh\necho built\n")
    assert sh.run(["./build.sh"]).tail == "built\n"


def test_a_command_that_is_too_long_is_an_outcome(sh: Shell) -> None:
    done = sh.run(["true", "x" * 4_000_000])
    assert (done.started, done.exit_code) == (False, 126)
    assert "Argument list too long" in done.reason


def test_a_long_log_keeps_its_beginning_and_end(sh: Shell) -> None:
    done = sh.python("print('first'); [print(number) for number in range(200000)]; print('last')", max_log_bytes=10_000)
    log = sh.log.read_bytes()
    whole = len("first\nlast\n") + sum(len(f"{number}\n") for number in range(200_000))
    mark = b"\n[... %d bytes left out ...]\n" % (whole - 10_000)
    assert done.exit_code == 0
    assert log.startswith(b"first\n0\n1\n")
    assert log[5000 : 5000 + len(mark)] == mark
    assert log.endswith(b"199999\nlast\n")
    assert len(log) == 10_000 + len(mark)
    assert done.tail == log[-TAIL_BYTES:].decode()


@pytest.mark.parametrize("size", [0, 1, 4999, 5000, 5001, 9999, 10_000])
def test_a_log_within_its_limit_is_whole(sh: Shell, size: int) -> None:
    output = "".join(chr(97 + at % 26) for at in range(size))
    done = sh.run(["printf", "%s", output], max_log_bytes=10_000)
    assert sh.log.read_text() == output
    assert done.tail == output[-TAIL_BYTES:]


def test_output_that_is_no_text_is_decoded_all_the_same(sh: Shell) -> None:
    assert sh(r"printf 'a\000b\377c\303\251'").tail == "a\ufffdb\ufffdcé"


def test_a_full_disk_does_not_stop_a_command(sh: Shell) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    done = run(["sh", "-c", "seq 100000; exit 4"], sh.cwd, log_path="/dev/full")
    assert done.exit_code == 4
    assert done.tail.endswith("100000\n")
    assert done.reason.startswith("the log is incomplete: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_s": 0}, "timeout"),
        ({"timeout_s": float("nan")}, "timeout"),
        ({"timeout_s": float("inf")}, "timeout"),
        ({"grace_s": -1}, "grace"),
        ({"grace_s": float("nan")}, "grace"),
        ({"max_log_bytes": 100}, "a log must be allowed"),
        ({"env": {"A": "\0"}}, "environment"),
        ({"env": {"A=B": "c"}}, "environment"),
        ({"env": {"A": "\ud800"}}, "environment"),
    ],
)
def test_a_limit_or_environment_that_cannot_be_is_refused(sh: Shell, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        sh("true", **options)


@pytest.mark.parametrize("command", [[], [""], "true", ["true", "\0"], ["true", "\ud800"]])
def test_what_is_no_command_is_refused(sh: Shell, command: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="command"):
        sh.run(command)


def test_a_folder_or_log_that_cannot_be_is_refused(sh: Shell, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a folder"):
        run(["true"], tmp_path / "missing", log_path=sh.log)
    with pytest.raises(InvalidArgument, match="cannot be written"):
        run(["true"], sh.cwd, log_path=tmp_path / "missing" / "log")


def test_a_command_is_checked_before_anything_is_run(tmp_path: Path) -> None:
    script = tmp_path / "build.sh"
    find_command(["sh", "-c", "true"])
    find_command([sys.executable])
    find_command(["./build.sh"])
    for command, cwd in [(["no-such-program-here"], None), ([str(script)], None), (["./build.sh"], tmp_path)]:
        with pytest.raises(InvalidArgument, match="not found or not executable"):
            find_command(command, cwd)
    script.touch()
    with pytest.raises(InvalidArgument, match="not found or not executable"):
        find_command([str(script)])
    script.chmod(0o755)
    find_command([str(script)])
    find_command(["./build.sh"], tmp_path)
    with pytest.raises(InvalidArgument):
        find_command([])


def test_a_command_ignores_no_signal_because_python_does(sh: Shell) -> None:
    assert sh("grep SigIgn /proc/self/status").tail.split()[1].strip("0") == ""
