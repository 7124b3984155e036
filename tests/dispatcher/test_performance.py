"""Attempts at work: what a command gets, what counts as completed, and what its line tells of it."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.dispatcher.attempts import Attempt, Attempts
from strongroom.dispatcher.jobs import create_job
from strongroom.dispatcher.performance import INTERRUPTED, Terms, perform
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Ending, EndState, is_record_line
from strongroom.patterns import digest
from tests.dispatcher.sites import sh, until
from tests.domains.dispatch.samples import OWNER, WORKSPACE

TERMS = Terms(WORKSPACE, "here", grace_s=1.0)
INPUT = '{"commit":"1f3a"}'


class Bench:
    """One claimed run, and its attempt."""

    def __init__(self, folder: Path) -> None:
        self.workspace = dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER)
        job = create_job(self.workspace, "nightly", ["true"]).job
        self.workspace.submit(job.id, "key", INPUT)
        self.dispatcher = self.workspace.dispatcher("here")
        (self.claim,) = self.dispatcher.claim()
        self.attempt: Attempt = Attempts(folder, WORKSPACE).begin(self.claim.run, 1, self.claim.input)

    def perform(
        self, script: str, *, terms: Terms = TERMS, cancel: threading.Event | None = None, command: Any = None
    ) -> Ending:
        return perform(self.claim, command or sh(script), self.attempt, terms, cancel or threading.Event())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "attempts")


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_command_gets_the_run_s_input_and_is_told_which_attempt_it_is(bench: Bench) -> None:
    ending = bench.perform("cat; env | grep ^STRONGROOM_ | sort; pwd")
    claim, attempt = bench.claim, bench.attempt
    assert ending.state is EndState.COMPLETED
    assert attempt.output.read_text() == INPUT + "\n".join(
        [
            "STRONGROOM_ATTEMPT=1",
            f"STRONGROOM_INPUT={attempt.input}",
            f"STRONGROOM_JOB={claim.running.job}",
            f"STRONGROOM_RECORD={attempt.record}",
            f"STRONGROOM_RUN={claim.run}",
            f"STRONGROOM_TOKEN={claim.token}",
            f"STRONGROOM_WORKSPACE={WORKSPACE}",
            f"{attempt.work}\n",
        ]
    )


def test_the_record_line_tells_of_the_attempt_and_lies_in_its_folder(bench: Bench) -> None:
    ending = bench.perform("echo out; echo err >&2")
    running = bench.claim.running
    assert is_record_line(ending.record)
    assert ending.record is not None
    assert bench.attempt.record.read_bytes() == ending.record + b"\n"
    told = json.loads(ending.record)
    assert ending.record == json.dumps(told, sort_keys=True, separators=(",", ":")).encode(), "it is canonical"
    assert told.pop("durationMs") >= 0
    assert told == {
        "recordVersion": "1",
        "workspace": WORKSPACE,
        "run": bench.claim.run,
        "job": running.job,
        "release": running.release,
        "attempt": 1,
        "token": bench.claim.token,
        "holder": "here",
        "startedAtMs": running.started_at_ms,
        "commandDigest": digest(json.dumps(["sh", "-c", "echo out; echo err >&2"], separators=(",", ":")).encode()),
        "inputDigest": digest(INPUT.encode()),
        "exitCode": 0,
        "stdout": {"bytes": 4, "digest": sha256(b"out\n")},
        "stderr": {"bytes": 4, "digest": sha256(b"err\n")},
    }
    assert (bench.attempt.output.read_bytes(), bench.attempt.errors.read_bytes()) == (b"out\n", b"err\n")
    assert ending.result is not None
    assert json.loads(ending.result).items() <= json.loads(ending.record).items()


@pytest.mark.parametrize(
    ("script", "problem", "code"),
    [
        ("exit 7", "its exit code is 7", 7),
        ("kill -KILL $$", "it was ended by signal 9", -9),
    ],
)
def test_a_command_that_does_not_end_well_is_a_failure_with_its_line(
    bench: Bench, script: str, problem: str, code: int
) -> None:
    ending = bench.perform(script)
    assert (ending.state, ending.problem) == (EndState.FAILED, problem)
    assert ending.record is not None
    assert json.loads(ending.record)["exitCode"] == code
    outcome = bench.dispatcher.finish(bench.claim, ending)
    assert (outcome.record, outcome.entry) == (ending.record, None)


def test_a_command_that_is_not_there_is_a_failure(bench: Bench) -> None:
    ending = bench.perform("", command=("no-such-program",))
    assert ending.state is EndState.FAILED
    assert ending.problem == "'no-such-program' could not be started: No such file or directory"


def test_a_command_that_takes_too_long_is_ended_and_a_failure(bench: Bench) -> None:
    ending = bench.perform("sleep 600", terms=Terms(WORKSPACE, "here", timeout_s=0.2, grace_s=1.0))
    assert (ending.state, ending.problem) == (EndState.FAILED, "it was ended after 0.2 s")


def test_a_command_that_is_cancelled_is_interrupted_with_all_that_it_started(bench: Bench) -> None:
    cancel = threading.Event()
    began = bench.attempt.work / "began"

    def stop() -> None:
        until(began.exists, "the command is at work")
        cancel.set()

    threading.Thread(target=stop).start()
    ending = bench.perform("sleep 600 & echo $! >pid; mv pid began; wait", cancel=cancel)
    assert (ending.state, ending.problem) == (EndState.INTERRUPTED, INTERRUPTED)
    child = int(began.read_text())
    until(lambda: not os.path.exists(f"/proc/{child}"), "what the command started is gone")


def test_a_command_may_write_its_own_record_line(bench: Bench) -> None:
    ending = bench.perform("""printf '{"steps":3}\\n' >"$STRONGROOM_RECORD" """)
    assert (ending.state, ending.record) == (EndState.COMPLETED, b'{"steps":3}')
    outcome = bench.dispatcher.finish(bench.claim, ending)
    assert (outcome.record, outcome.entry) == (b'{"steps":3}', 1)


def test_a_command_whose_record_is_not_one_line_has_failed(bench: Bench) -> None:
    ending = bench.perform("""printf 'a\\nb\\n' >"$STRONGROOM_RECORD" """)
    assert (ending.state, ending.record) == (EndState.FAILED, None)
    assert ending.problem == "its record is not exactly one line of at most 65535 bytes"
    assert bench.attempt.record.read_bytes() == b"a\nb\n"
    assert bench.dispatcher.finish(bench.claim, ending).state is EndState.FAILED


def test_why_a_command_failed_goes_before_what_is_wrong_with_its_record(bench: Bench) -> None:
    ending = bench.perform("""echo >"$STRONGROOM_RECORD"; exit 3""")
    assert ending.problem == "its exit code is 3"


def test_what_a_command_wrote_about_a_run_that_failed_is_kept_too(bench: Bench) -> None:
    ending = bench.perform("""printf '{"step":"test"}' >"$STRONGROOM_RECORD"; exit 3""")
    assert (ending.state, ending.record) == (EndState.FAILED, b'{"step":"test"}')
