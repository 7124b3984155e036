"""Validated commits as `validate` and `report` show them, to people and to programs."""

from __future__ import annotations

from typing import Any, Final

from strongroom.domains.stovepipe import OutcomeReason, RequestState, ValidationFact
from strongroom.validator.history import commit_of
from strongroom.validator.records import Run, RunState

_SHORT: Final = 10
_STYLES: Final = {
    RequestState.SUCCEEDED: "green",
    RequestState.FAILED: "bold red",
    RequestState.CANCELLED: "yellow",
    RequestState.SUPERSEDED: "dim",
}


def short(uri: str) -> str:
    """A commit as people name it: the beginning of its hash; a uri that names none is shown as it is."""
    return commit_of(uri)[:_SHORT] or uri


def style(state: RequestState) -> str:
    """The style that a state is shown in."""
    return _STYLES.get(state, "")


def outcome(state: RequestState, reason: OutcomeReason | None, run: Run | None) -> str:
    """A state in a few words: with the exit code of a build that failed, or what else it failed of."""
    if state is not RequestState.FAILED:
        return state.value
    if reason is OutcomeReason.BUILD_FAILED and run is not None and run.exit_code is not None:
        code = run.exit_code
        return f"failed (signal {-code})" if code < 0 else f"failed (exit {code})"
    return "failed" if reason is None else f"failed ({_FAILURES.get(reason, reason.value)})"


_FAILURES: Final = {
    OutcomeReason.VALIDATION_TIMEOUT: "timeout",
    OutcomeReason.PROCESSING_FAILED: "processing",
}


def duration(run: Run | None) -> str:
    """How long a run took; "-" for one that has not ended."""
    if run is None or run.state is RunState.RUNNING:
        return "-"
    seconds = run.duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def commit_object(
    uri: str,
    request_id: str,
    state: RequestState,
    reason: OutcomeReason | None,
    fact: ValidationFact | None,
    run: Run | None,
) -> dict[str, Any]:
    """A commit as JSON answers have it. What is not known, or not proved, is null."""
    return {
        "commit": commit_of(uri) or None,
        "uri": uri,
        "subject": None if run is None else run.subject,
        "request": request_id,
        "state": state.value,
        "reason": None if reason is None else reason.value,
        "degree": None if fact is None else fact.degree,
        **_run_object(run),
    }


def _run_object(run: Run | None) -> dict[str, Any]:
    if run is None:
        names = "build attempt strategy base started_at duration_ms exit_code timed_out tests failures report_fault log"
        return dict.fromkeys(names.split())
    return {
        "build": run.build,
        "attempt": run.attempt,
        "strategy": run.strategy.value,
        "base": commit_of(run.base_uri) or None,
        "started_at": run.started_at,
        "duration_ms": run.duration_ms,
        "exit_code": run.exit_code,
        "timed_out": run.timed_out,
        "tests": run.cases,
        "failures": run.failures,
        "report_fault": run.report_fault or None,
        "log": run.log_path,
    }
