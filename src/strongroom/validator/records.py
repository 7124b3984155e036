"""What the validator keeps beside Stovepipe's own records: who is at work on a commit, and what each run came to.

A claim says which process validates a commit, and outlives it: a dead holder's claim is taken over under the next
attempt number, the fencing token that keeps the attempts' builds and runs apart. A run is one execution of the
command. All of it is written one record at a time, so that it holds on a plain key-value store.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from strongroom.domains.stovepipe import BuildStrategy
from strongroom.patterns import Subject
from strongroom.records import NEVER, VERSIONED, Identifier, Integer, Millis, Real, Record, Schema, Table, Text

LARGEST: Final = 2**31 - 1
"""The highest attempt, version or count."""

QueueName = Annotated[str, Identifier(255)]
Uri = Annotated[str, Identifier(255)]
RequestId = Annotated[str, Identifier(255)]
Attempt = Annotated[int, Integer(1, LARGEST)]
Count = Annotated[int, Integer(0, LARGEST)]


class Claim(Record):
    """One commit of a queue, and who is at work on it. Never deleted: attempts only ever count up."""

    queue: QueueName
    uri: Uri
    attempt: Attempt
    """How often the commit was claimed. What an older attempt brings forth is told from the present one's by it."""
    holder: Annotated[str, Identifier(64, empty=True)]
    """The holder's random name; empty while nobody is at work on the commit."""
    host: Annotated[str, Text(512)]
    """Where the holder's `process` means something: the host, its boot, and the process id's namespace."""
    process: Annotated[int, Integer(0)]
    """The holder's process id."""
    process_start: Annotated[str, Text(64)]
    """When that process began, as its host counts: it tells the process from a later one of the same id."""
    heartbeat_at: Annotated[int, Millis()]
    """When the holder last said that it is alive, by the engine's clock."""
    recorded: bool = False
    """Whether all that is to be known of the commit is on record: then it is never claimed again."""
    version: Annotated[int, Integer(1)] = 1


class RunState(StrEnum):
    """Where one execution of the command stands."""

    RUNNING = "running"
    """It was begun. If its claim has another holder by now, nobody waits for it any more."""
    ENDED = "ended"
    """It came to an end, or to its timeout, and what it showed is kept."""
    INTERRUPTED = "interrupted"
    """It was stopped, or what came of it can't be known: it says nothing of the commit."""


class Run(Record):
    """One execution of the command for a commit, under one attempt."""

    queue: QueueName
    request_id: RequestId
    attempt: Attempt
    uri: Uri
    subject: Annotated[str, Text(4096)]
    """The commit's subject line."""
    build: Annotated[str, Identifier(255)]
    strategy: BuildStrategy
    base_uri: Annotated[str, Identifier(255, empty=True)]
    command_digest: Annotated[str, Identifier(64)]
    """Names the command without showing it: its arguments may hold secrets."""
    log_path: Annotated[str, Text(8192)]
    """Where the whole output is, on the host that ran it; bytes that are no UTF-8 are shown as U+FFFD."""
    started_at: Annotated[int, Millis()]
    state: RunState = RunState.RUNNING
    exit_code: Annotated[int | None, Integer(-255, 255)] = None
    """As `Execution` has it; None before its end, and where it was stopped."""
    timed_out: bool = False
    duration_ms: Annotated[int, Millis()] = 0
    reason: Annotated[str, Text(4096)] = ""
    """Why it did not start, or its log is incomplete; else empty."""
    tail: Annotated[str, Text(16384)] = ""
    """The last of its output."""
    report_fault: Annotated[str, Text(4096)] = ""
    """What is wrong with the test report that was asked for; empty for none, and where none was asked for."""
    analysed: bool = False
    """Whether the report tells of every issue there is: only then is an issue that it does not show a resolved one."""
    cases: Count = 0
    """How many tests the report has."""
    failures: Count = 0
    """How many of them failed or had an error."""
    version: Annotated[int, Integer(1, LARGEST)] = 1


class RunProject(Record):
    """How broken a run's report shows one project to be. Written before its run ends."""

    queue: QueueName
    request_id: RequestId
    attempt: Attempt
    project: Annotated[str, Identifier(255)]
    degree: Annotated[float, Real(0.0, 1.0)]


def _claim_rule(claim: Claim) -> str | None:
    if claim.recorded and claim.holder:
        return "a commit that is on record has no holder"
    return None


def _run_rule(run: Run) -> str | None:
    if run.state is not RunState.ENDED and (run.exit_code is not None or run.timed_out):
        return "only a run that ended has an exit code or a timeout"
    if run.state is RunState.ENDED and (run.exit_code is None) != run.timed_out:
        return "a run ended with an exit code or with its timeout"
    return None


CLAIMS: Final = Table(
    "validator_claims", Claim, key=("queue", "uri"), scope=1, changes=VERSIONED("version"), rule=_claim_rule
)
RUNS: Final = Table(
    "validator_runs",
    Run,
    key=("queue", "request_id", "attempt"),
    scope=1,
    changes=VERSIONED("version"),
    rule=_run_rule,
)
RUN_PROJECTS: Final = Table(
    "validator_run_projects",
    RunProject,
    key=("queue", "request_id", "attempt", "project"),
    scope=1,
    changes=NEVER,
)

SCHEMA: Final = Schema("validator", CLAIMS, RUNS, RUN_PROJECTS)
"""All tables of the validator's own."""

SUBJECT: Final = Subject(SCHEMA)
"""What must hold in them, for the operator's tools."""
