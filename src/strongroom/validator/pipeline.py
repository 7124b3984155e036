"""One commit, from its claim to the last record of it: Stovepipe's flows around one execution of the command.

Every step finds what an earlier attempt has left and goes on from there. The command's end is kept before anything
is concluded from it, so that whatever is stopped after it is finished without running the command again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from strongroom.domains.stovepipe import (
    BuildStatus,
    NotFound,
    OutcomeReason,
    Request,
    Storage,
    ValidationFact,
)
from strongroom.domains.stovepipe.flows import (
    Verdict,
    build,
    build_signal,
    dead_letter,
    process,
    reconcile_issues,
    record,
)
from strongroom.domains.stovepipe.records import ISSUE_MARKS
from strongroom.engine import Backoff, retry
from strongroom.errors import AlreadyExists, Unavailable, VersionMismatch
from strongroom.patterns import ScopedTable
from strongroom.processes import execution
from strongroom.processes.execution import Execution
from strongroom.validator import junit
from strongroom.validator.analysis import Analysis, analyse
from strongroom.validator.claims import ClaimLost, Hold
from strongroom.validator.history import History, commit_of
from strongroom.validator.recipe import Recipe, make_folder
from strongroom.validator.records import Run, RunState
from strongroom.validator.repository import Commit
from strongroom.validator.runs import Runs
from strongroom.validator.worktrees import Worktrees

SLOTS: Final = 10_000
"""More than any queue has at work: each process limits itself by its own number of jobs, and the slots count them."""

PATIENT: Final = Backoff(attempts=12, first_ms=200, cap_ms=5_000)
"""For an engine that is away just when a command has ended: what that came to may have taken hours."""


class Interrupted(Exception):
    """The command was stopped. The commit stays to be validated, by the next attempt."""


@dataclass(frozen=True, slots=True)
class Validated:
    """What is on record of a commit that was validated."""

    commit: Commit
    request: Request
    reason: OutcomeReason | None
    fact: ValidationFact | None
    """The whole repository's; None where nothing is proved, as after a timeout."""
    run: Run | None
    """The execution that decided; None where the outcome is from somewhere else."""
    opened: int = 0
    """How many issues this call opened,"""
    resolved: int = 0
    """and how many it resolved."""
    unplaced: int = 0
    """How many tests this call found in the report if the rule gave none of them a project; else 0."""


class Pipeline:
    """Validates the commits of one queue. Safe to use from several threads, one commit each."""

    def __init__(self, storage: Storage, history: History, worktrees: Worktrees, recipe: Recipe) -> None:
        self.runs = Runs(storage)
        self._storage = storage
        self._marks = ScopedTable(storage.engine, ISSUE_MARKS, (storage.queue,))
        self._history = history
        self._worktrees = worktrees
        self._recipe = recipe

    def validate(self, commit: Commit, request_id: str, hold: Hold) -> Validated:
        """Bring the commit's request to its end, and all that follows from it on record.

        Raises `Interrupted` and `ClaimLost`, the request still to be ended, when the hold was cancelled or lost;
        `Unavailable` where the commit can't be checked out or the command's fate is not known; and as the flows.
        """
        processed = process(self._storage, request_id, slots=SLOTS, coalesce=False, baseline=self._history.baseline)
        if processed.verdict in (Verdict.HELD, Verdict.WAITING):
            raise Unavailable(f"the queue {self._storage.queue} lets no more requests in: {processed.verdict}")
        run, unplaced = self._ended_run(request_id), 0
        if run is None and processed.verdict is Verdict.BUILD:
            run, unplaced = self._execute(commit, processed.request, hold)
        opened, resolved = self._conclude(request_id, run, hold)
        hold.finish()
        found = load(self._storage, self.runs, commit, request_id)
        return replace(found, opened=opened, resolved=resolved, unplaced=unplaced)

    def _ended_run(self, request_id: str) -> Run | None:
        """The run that counts, if there is one; all others are given up, so that none of them can come to count."""
        while True:
            runs = self.runs.of(request_id)
            for run in runs:
                if run.state is RunState.ENDED:
                    return run
            going = [run for run in runs if run.state is RunState.RUNNING]
            if all(self.runs.interrupt(run, reason="its process is gone") for run in going):
                return None

    def _execute(self, commit: Commit, request: Request, hold: Hold) -> tuple[Run | None, int]:
        """The run once it has ended, with its report's `unplaced`; None if someone else ended the request before."""
        with self._worktrees.checkout(commit.id) as folder:
            built = build(self._storage, request.id, lambda request: _build_id(request.id, hold.attempt))
            if built is None:
                return None, 0
            hold.renew()
            run = self._start(commit, request, built.id, hold.attempt)
            build_signal(self._storage, built.id, BuildStatus.RUNNING)
            done = self._run_command(run, folder, hold)
            analysis = self._analyse(folder, done)
        return self._end(run, done, analysis, hold), analysis.unplaced

    def _start(self, commit: Commit, request: Request, build_id: str, attempt: int) -> Run:
        assert request.build_strategy is not None
        run = Run(
            self._storage.queue,
            request.id,
            attempt,
            uri=request.uri,
            subject=commit.subject.replace("\0", "\ufffd"),
            build=build_id,
            strategy=request.build_strategy,
            base_uri=request.base_uri,
            command_digest=self._recipe.digest,
            log_path=os.fsencode(self._log_path(build_id)).decode("utf-8", "replace"),
            started_at=self._storage.engine.now(),
        )
        try:
            self.runs.start(run)
        except AlreadyExists as fault:
            raise ClaimLost(f"attempt {attempt} at {commit.id} has a run already") from fault
        return run

    def _log_path(self, build_id: str) -> Path:
        return self._recipe.log_path(self._storage.queue, build_id)

    def _run_command(self, run: Run, folder: Path, hold: Hold) -> Execution:
        if self._recipe.junit:
            junit.discard_reports(folder, self._recipe.junit)
        log_path = self._log_path(run.build)
        make_folder(log_path.parent)
        environment = {
            "STRONGROOM_COMMIT": commit_of(run.uri),
            "STRONGROOM_QUEUE": run.queue,
            "STRONGROOM_REQUEST": run.request_id,
            "STRONGROOM_STRATEGY": str(run.strategy),
            "STRONGROOM_BASE": commit_of(run.base_uri),
        }
        return execution.run(
            self._recipe.command,
            folder,
            log_path=log_path,
            env=environment,
            timeout_s=self._recipe.timeout_s,
            cancel=hold.cancel,
        )

    def _analyse(self, folder: Path, done: Execution) -> Analysis:
        if not self._recipe.junit or done.exit_code is None:
            return Analysis()
        return analyse(folder, self._recipe.junit, self._recipe.rule, succeeded=done.exit_code == 0)

    def _end(self, run: Run, done: Execution, analysis: Analysis, hold: Hold) -> Run:
        if done.exit_code is None and not done.timed_out:
            self.runs.interrupt(run, done)
            if done.cancelled:
                raise Interrupted
            raise Unavailable(f"what came of the command at {commit_of(run.uri)} is not known: {done.reason}")

        def keep() -> Run:
            hold.renew()
            return self.runs.end(run, done, analysis)

        try:
            return retry(keep, on=Unavailable, backoff=PATIENT)
        except VersionMismatch as fault:
            raise ClaimLost(f"the run {run.build} was given up by another holder") from fault

    def _conclude(self, request_id: str, run: Run | None, hold: Hold) -> tuple[int, int]:
        """Write the outcome and all that follows from it: how many issues were opened, and how many resolved."""
        storage = self._storage
        if run is not None:
            if run.timed_out:
                # Nothing was found out about the commit: that is no broken one, and no cancelled one either.
                reason = OutcomeReason.VALIDATION_TIMEOUT
                retry(lambda: dead_letter(storage, request_id, reason=reason))
            build_signal(storage, run.build, _status(run))
        projects = {} if run is None else self.runs.projects(run)
        record(storage, request_id, projects, advance=self._history.advances)
        opened = resolved = 0
        if run is not None and run.analysed and self._is_newest(run.uri):
            # What the run showed was kept as the build's observations before it ended.
            reconciled = reconcile_issues(storage, run.build, ())
            opened, resolved = len(reconciled.opened), len(reconciled.resolved)
        self._cancel_others(request_id, run, hold.attempt)
        return opened, resolved

    def _is_newest(self, uri: str) -> bool:
        """Whether no commit that came of this one has had its issues reconciled."""
        mark = self._marks.find()
        return mark is None or not self._history.precedes(uri, self._storage.requests.get(mark.request_id).uri)

    def _cancel_others(self, request_id: str, run: Run | None, attempts: int) -> None:
        # Only now: before the outcome, a cancelled build would have been taken for it.
        for attempt in range(1, attempts + 1):
            other = _build_id(request_id, attempt)
            if run is None or other != run.build:
                with suppress(NotFound):
                    build_signal(self._storage, other, BuildStatus.CANCELLED)


def load(storage: Storage, runs: Runs, commit: Commit, request_id: str) -> Validated:
    """What is on record of the commit's request."""
    request = storage.requests.get(request_id)
    fact = None
    with suppress(NotFound):
        fact = storage.facts.get(request.uri)
    reason = storage.request_summaries.get(request_id).outcome_reason
    ended = [run for run in runs.of(request_id) if run.state is RunState.ENDED]
    return Validated(commit, request, reason, fact, ended[0] if ended else None)


def _build_id(request_id: str, attempt: int) -> str:
    return f"{request_id}.{attempt}"


def _status(run: Run) -> BuildStatus:
    if run.timed_out:
        return BuildStatus.CANCELLED
    return BuildStatus.SUCCEEDED if run.exit_code == 0 else BuildStatus.FAILED
