"""Jobs, runs and journal entries as answers show them: lines for people, objects for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from strongroom import operations
from strongroom.cli.output import Part, when
from strongroom.domains.dispatch import JournalEntry, Run, RunState, RunSummary
from strongroom.domains.dispatch.records import JOURNAL

_STYLES: Final = {
    RunState.COMPLETED: "green",
    RunState.FAILED: "red",
    RunState.INTERRUPTED: "yellow",
    RunState.QUEUED: "dim",
}


def state_part(state: RunState) -> Part:
    """A run's state, in a column."""
    return (state.value.ljust(11), _STYLES.get(state, ""))


def run_object(run: RunSummary) -> dict[str, Any]:
    """A run, or what a listing shows of it, as an object. Bytes are shown as text."""
    fields = asdict(run)
    if isinstance(run, Run):
        fields["record"] = None if run.record is None else run.record.decode("utf-8", "backslashreplace")
    return fields | {"state": run.state.value}


def took(run: RunSummary) -> str:
    """How long a run took, or has been running."""
    if run.started_at_ms is None or run.finished_at_ms is None:
        return "-"
    return f"{max(0, run.finished_at_ms - run.started_at_ms) / 1000:.1f} s"


def entry_object(entry: JournalEntry) -> dict[str, Any]:
    """A journal's entry as an object; its detail is one too."""
    fields = operations.shown_record(JOURNAL, entry)
    return fields | {"detail": msgspec.json.decode(entry.detail) if entry.detail else {}}


def entry_parts(entry: JournalEntry) -> list[Part]:
    """A journal's entry as a line."""
    about = [name for name in (entry.run or entry.occurrence or entry.trigger or entry.job or entry.release,) if name]
    parts: list[Part] = [(f"{entry.sequence:>6}", "bold"), f"  {when(entry.at_ms)}  {entry.kind.value:<20}"]
    parts += [f"  {name}" for name in about]
    if entry.reason:
        parts.append(f"  {entry.reason}")
    if entry.detail:
        parts.append((f"  {entry.detail}", "dim"))
    return parts
