"""Every run's state explained by the journal: its entries are gone through in order, and each run held to them.

The journal alone says where each run must stand, under which token and attempt, and at which place of the run chain it
is. `strongroom verify` looks at rows, the chain's own check at lines; this holds both to the history.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from strongroom.domains.dispatch import Absent, JournalEntry, JournalKind, RunState, RunSummary, Workspace

_PAGE: Final = 1000
_PASSES: Final = 5
"""How often a run that moves meanwhile is looked at again: it has not that many moves ahead of it."""

_BEFORE: Final[dict[JournalKind, tuple[str, ...]]] = {
    JournalKind.RUN_QUEUED: ("",),
    JournalKind.RUN_STARTED: (RunState.QUEUED, RunState.RUNNING),
    JournalKind.RUN_EXPIRED: (RunState.QUEUED,),
    JournalKind.RUN_COMPLETED: (RunState.RUNNING,),
    JournalKind.RUN_FAILED: (RunState.RUNNING,),
    JournalKind.RUN_INTERRUPTED: (RunState.RUNNING,),
}
_AFTER: Final[dict[JournalKind, RunState]] = {
    JournalKind.RUN_QUEUED: RunState.QUEUED,
    JournalKind.RUN_STARTED: RunState.RUNNING,
    JournalKind.RUN_EXPIRED: RunState.FAILED,
    JournalKind.RUN_COMPLETED: RunState.COMPLETED,
    JournalKind.RUN_FAILED: RunState.FAILED,
    JournalKind.RUN_INTERRUPTED: RunState.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Told:
    """Where a run stands, as the journal tells it or as the store has it."""

    number: int
    state: RunState
    attempt: int = 0
    token: int = 0
    entry: int | None = None
    """Its place in the run chain."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    entries: int
    """How many entries the journal has: their places are 1 to this, without a gap."""
    runs: int
    findings: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether each run's state follows from the journal, and nothing else does."""
        return not self.findings


@dataclass(slots=True)
class _Replay:
    """The journal, read up to a place."""

    workspace: Workspace
    place: int = 0
    runs: dict[str, Told] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def read_on(self) -> None:
        more = True
        while more:
            page = self.workspace.journal.page(after=self.place, limit=_PAGE)
            for entry in page.items:
                if entry.kind in _AFTER:
                    self._take(entry)
            self.place, more = page.next, page.more

    def _take(self, entry: JournalEntry) -> None:
        known = self.runs.get(entry.run)
        before = "" if known is None else str(known.state)
        after = _AFTER[entry.kind]
        if before not in _BEFORE[entry.kind] or (entry.from_state, entry.to_state) != (before, after):
            self.findings.append(
                f"entry {entry.sequence}: {entry.run} goes from {entry.from_state or 'nothing'} to {entry.to_state}, "
                f"but it was {before or 'nothing'}"
            )
        detail = msgspec.json.decode(entry.detail) if entry.detail else {}
        started = entry.kind is JournalKind.RUN_STARTED
        self.runs[entry.run] = Told(
            entry.sequence if known is None else known.number,
            after,
            detail.get("attempt", 0) if started else known.attempt if known else 0,
            entry.sequence if started else known.token if known else 0,
            detail.get("chainSequence"),
        )


def audit(workspace: Workspace) -> Audit:
    """Hold every run of a workspace to the journal. Others may be at work meanwhile.

    Raises `Unreadable` where a place of the journal or a part of a run is missing or is not what was written.
    """
    replay = _Replay(workspace)
    replay.read_on()
    held: dict[str, Told] = {}
    after = 0
    while True:
        page = workspace.runs.list(after=after, limit=_PAGE)
        held.update((run.id, _told(run)) for run in page.items)
        if not page.next:
            break
        after = page.next
    replay.read_on()
    # One that was begun or moved between the two readings is looked at again.
    differing = [run for run in {**replay.runs, **held} if replay.runs.get(run) != held.get(run)]
    for _ in range(_PASSES):
        for run in differing:
            if (now := _find(workspace, run)) is not None:
                held[run] = now
        replay.read_on()
        differing = [run for run in differing if replay.runs.get(run) != held.get(run)]
    findings = [
        *replay.findings,
        *(
            f"{run} is {_shown(held.get(run), 'not there')}, "
            f"but the journal tells of {_shown(replay.runs.get(run), 'no such run')}"
            for run in differing
        ),
    ]
    return Audit(replay.place, len(held), tuple(findings))


def _find(workspace: Workspace, run: str) -> Told | None:
    try:
        return _told(workspace.runs.get(run))
    except Absent:
        return None


def _told(run: RunSummary) -> Told:
    return Told(run.number, run.state, run.attempt, run.token, run.entry)


def _shown(told: Told | None, nothing: str) -> str:
    if told is None:
        return nothing
    return f"{told.state} (attempt {told.attempt}, token {told.token}, chain {told.entry or '-'})"
