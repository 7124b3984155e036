"""One attempt of one run: its command is run in the attempt's folder, and a line tells what came of it.

The line lies flushed in the folder before the store is asked to keep it. A command may write a line of its own instead,
to the file that `STRONGROOM_RECORD` names.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from strongroom.dispatcher.attempts import Attempt, RecordUnfit
from strongroom.domains.dispatch import Claim, Ending, EndState
from strongroom.patterns import digest
from strongroom.processes import execution
from strongroom.processes.execution import GRACE_S, Execution
from strongroom.processes.logs import Kept

INTERRUPTED: Final = "it was stopped together with its dispatcher"


@dataclass(frozen=True, slots=True)
class Terms:
    """How commands are run.

    Arguments:
        workspace: the name that commands are told.
        holder: who runs them.
        timeout_s: after how many seconds a command is ended; None for never.
        grace_s: the seconds between SIGTERM and SIGKILL.
    """

    workspace: str
    holder: str
    timeout_s: float | None = None
    grace_s: float = GRACE_S


def perform(claim: Claim, command: Sequence[str], attempt: Attempt, terms: Terms, cancel: threading.Event) -> Ending:
    """Run the command of a claim in its attempt's folder, to its end or until `cancel` is set.

    Exit code 0 is a completion, anything else a failure with a problem; a command that was cancelled is interrupted.
    Raises as `execution.run` and `Attempt.keep_record`.
    """
    done = execution.run(
        command,
        attempt.work,
        log_path=attempt.output,
        errors_path=attempt.errors,
        input_path=attempt.input,
        env={
            "STRONGROOM_WORKSPACE": terms.workspace,
            "STRONGROOM_JOB": claim.running.job,
            "STRONGROOM_RUN": claim.run,
            "STRONGROOM_ATTEMPT": str(claim.running.attempt),
            "STRONGROOM_TOKEN": str(claim.token),
            "STRONGROOM_INPUT": str(attempt.input),
            "STRONGROOM_RECORD": str(attempt.record),
        },
        timeout_s=terms.timeout_s,
        grace_s=terms.grace_s,
        cancel=cancel,
    )
    problem = _problem(done, terms)
    result = _result(done)
    record: bytes | None = None
    try:
        record = attempt.keep_record(_line(claim, command, terms, result))
    except RecordUnfit as unfit:
        problem = problem or str(unfit)
    ended = EndState.FAILED if problem else EndState.COMPLETED
    state = EndState.INTERRUPTED if done.cancelled else ended
    return Ending(state=state, problem=problem or None, result=_canonical(result).decode(), record=record)


def _problem(done: Execution, terms: Terms) -> str:
    if done.cancelled:
        return INTERRUPTED
    if done.timed_out:
        return f"it was ended after {terms.timeout_s:g} s"
    if not done.started or done.exit_code is None:
        return done.reason.replace("\0", "\ufffd")
    if done.exit_code < 0:
        return f"it was ended by signal {-done.exit_code}"
    return f"its exit code is {done.exit_code}" if done.exit_code else ""


def _result(done: Execution) -> dict[str, Any]:
    return {
        "durationMs": done.duration_ms,
        "exitCode": done.exit_code,
        "stderr": _stream(done.errors),
        "stdout": _stream(done.output),
    }


def _stream(kept: Kept | None) -> dict[str, Any] | None:
    return None if kept is None else {"bytes": kept.written, "digest": kept.digest}


def _line(claim: Claim, command: Sequence[str], terms: Terms, result: dict[str, Any]) -> bytes:
    running = claim.running
    return _canonical(
        {
            "recordVersion": "1",
            "workspace": terms.workspace,
            "run": claim.run,
            "job": running.job,
            "release": running.release,
            "attempt": running.attempt,
            "token": running.token,
            "holder": terms.holder,
            "startedAtMs": running.started_at_ms,
            "commandDigest": digest(_canonical(list(command))),
            "inputDigest": digest(claim.input.encode()),
            **result,
        }
    )


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")
