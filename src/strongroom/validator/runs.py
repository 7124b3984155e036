"""Runs: what each execution of the command came to, kept before anything is concluded from it.

A run's row is what makes one end of it count. Its own process ends it, by compare-and-set; whoever takes the commit
over marks it as interrupted first, by compare-and-set too. So a run that has ended is never run again, and one that
was given up can't end any more.
"""

from __future__ import annotations

from contextlib import suppress

from strongroom.domains.stovepipe import Storage
from strongroom.errors import AlreadyExists, VersionMismatch
from strongroom.patterns import ScopedTable
from strongroom.processes.execution import Execution
from strongroom.records import MAX_LIMIT
from strongroom.validator.analysis import Analysis
from strongroom.validator.records import RUN_PROJECTS, RUNS, Run, RunProject, RunState

_FAULT_BYTES = 4096


class Runs:
    """The runs of one queue. Safe to use from several threads."""

    def __init__(self, storage: Storage) -> None:
        """The engine of `storage` is prepared for the validator's schema."""
        self._storage = storage
        self._rows = ScopedTable(storage.engine, RUNS, (storage.queue,))
        self._projects = ScopedTable(storage.engine, RUN_PROJECTS, (storage.queue,))

    def start(self, run: Run) -> None:
        """Keep a run that is about to begin; `AlreadyExists` if its attempt has one."""
        self._rows.insert(run)

    def of(self, request_id: str) -> list[Run]:
        """The request's runs, first attempt first."""
        return self._rows.scan(request_id, limit=MAX_LIMIT)

    def end(self, run: Run, execution: Execution, analysis: Analysis) -> Run:
        """Keep what a run came to, projects and issues first: the run as it is stored then. May be tried again.

        Raises `VersionMismatch`, the run as it was, if it has been given up meanwhile.
        """
        for project, degree in analysis.projects.items():
            with suppress(AlreadyExists):
                self._projects.insert(RunProject(run.queue, run.request_id, run.attempt, project, degree))
        for issue in analysis.issues:
            with suppress(AlreadyExists):
                self._storage.build_issues.create(run.build, issue)
        return self._update(
            run,
            _with_execution(run, execution).replace(
                state=RunState.ENDED,
                exit_code=execution.exit_code,
                timed_out=execution.timed_out,
                report_fault=_fitting(analysis.fault),
                analysed=analysis.complete,
                cases=analysis.cases,
                failures=analysis.failures,
            ),
        )

    def interrupt(self, run: Run, execution: Execution | None = None, *, reason: str = "") -> Run | None:
        """Give up a run, as it was stopped or its process is gone; None if it has ended or was given up meanwhile."""
        changed = run if execution is None else _with_execution(run, execution)
        changed = changed.replace(state=RunState.INTERRUPTED, reason=_fitting(reason or changed.reason))
        try:
            return self._update(run, changed)
        except VersionMismatch:
            return None

    def projects(self, run: Run) -> dict[str, float]:
        """The failed share of each project in a run's report."""
        shares: dict[str, float] = {}
        while True:
            after = (max(shares),) if shares else None
            page = self._projects.scan(run.request_id, run.attempt, after=after, limit=MAX_LIMIT)
            shares |= {entry.project: entry.degree for entry in page}
            if len(page) < MAX_LIMIT:
                return shares

    def _update(self, run: Run, changed: Run) -> Run:
        changed = changed.replace(version=run.version + 1)
        self._rows.update(changed, expect=run.version)
        return changed


def _with_execution(run: Run, execution: Execution) -> Run:
    return run.replace(
        duration_ms=execution.duration_ms,
        tail=execution.tail,
        reason=_fitting(execution.reason.replace("\0", "\ufffd")),
    )


def _fitting(text: str) -> str:
    """As much of the beginning as the column holds, of text that any byte may have come from."""
    return text.encode("utf-8", "replace").replace(b"\0", b"?")[:_FAULT_BYTES].decode("utf-8", "ignore")
