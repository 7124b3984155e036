"""Runner attempts: one try to run a job, from its allocation to its cleanup. The state machine is pure functions.

An attempt that has ended still owns its directory, and a persistent one its slot, until it is cleaned. Transitions do
not ask whether time moves forward: clocks do not always, and the store repairs what that leaves behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from strongroom.domains.runners.hosts import FleetName, Id, Path
from strongroom.domains.runners.refusals import (
    BusyCannotBeCleaned,
    EphemeralWithSlot,
    IllegalTransition,
    Invalid,
    LiveWithOutcome,
    LiveWithTerminalTime,
    OutcomeOfAnotherState,
    OutcomeUnreachable,
    PersistentWithoutSlot,
    ReasonMismatch,
    SlotNotPositive,
    TerminalWithoutOutcome,
    TerminalWithoutTime,
)
from strongroom.domains.runners.words import ATTEMPT_EDGES, AttemptState, FailureReason, OutcomeKind, WorkspaceMode
from strongroom.records import Integer, Millis, Record, Text

MAX_SLOT: Final = 65_535
"""The highest slot that a policy can have; the lowest is 1."""


def _reason_fits(kind: OutcomeKind | None, reason: FailureReason | None, detail: str) -> bool:
    return (kind is OutcomeKind.FAILED) == (reason is not None) and (reason is FailureReason.OTHER) == bool(detail)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. `ReasonMismatch` unless a failure has a reason, and `other` a text of its own."""

    kind: OutcomeKind
    reason: FailureReason | None = None
    detail: str = ""
    """What `other` is: 4,096 bytes at most. It may hold anything that a process printed, and is never shown."""

    def __post_init__(self) -> None:
        if not _reason_fits(self.kind, self.reason, self.detail):
            raise ReasonMismatch

    def __repr__(self) -> str:
        return f"Outcome({': '.join([self.kind, *([self.reason] if self.reason else [])])})"

    @classmethod
    def failed(cls, reason: FailureReason, detail: str = "") -> Outcome:
        """A failure."""
        return cls(OutcomeKind.FAILED, reason, detail)


COMPLETED_JOB: Final = Outcome(OutcomeKind.COMPLETED_JOB)
EXITED_IDLE: Final = Outcome(OutcomeKind.EXITED_IDLE_WITHOUT_WORK)
ORPHANED: Final = Outcome(OutcomeKind.ORPHANED)


class RunnerAttempt(Record):
    """One attempt. Make one with `allocate`; every method gives a new record, `now` in Unix milliseconds."""

    fleet: FleetName
    id: Id
    policy_id: Id
    """Its policy, which may be gone: the attempt stays until it is removed."""
    github_runner_id: Annotated[int, Integer(0)] | None
    state: AttemptState
    outcome_kind: OutcomeKind | None
    failure_reason: FailureReason | None
    failure_detail: Annotated[str, Text(4096, sensitive=True)]
    process_id: Annotated[int, Integer(0, 2**32 - 1)] | None
    runtime_path: Path
    """The directory that its cleanup deletes."""
    workspace_mode: WorkspaceMode
    workspace_slot: Annotated[int, Integer(0, MAX_SLOT)] | None
    created_at: Annotated[int, Millis()]
    terminal_at: Annotated[int, Millis()] | None
    last_state_change_at: Annotated[int, Millis()]
    """When it came into its state: every timeout of the recovery is counted from here."""

    @classmethod
    def allocate(
        cls, fleet: str, id: str, policy_id: str, *, runtime_path: str, now: int, slot: int | None = None
    ) -> Self:
        """A new attempt: in a persistent workspace's slot (1 to 65,535), or ephemeral without one.

        Raises `SlotNotPositive`; other limits are checked on writing.
        """
        mode = WorkspaceMode.EPHEMERAL if slot is None else WorkspaceMode.PERSISTENT
        state = AttemptState.ALLOCATED
        return cls(
            fleet, id, policy_id, None, state, None, None, "", None, runtime_path, mode, slot, now, None, now
        ).checked()

    def __repr__(self) -> str:
        return f"<runner attempt {self.id!r} of {self.policy_id!r} in {self.fleet!r}: {self.state}>"

    def checked(self) -> Self:
        """The attempt itself; raises what is wrong with it: see `attempt_refusal`."""
        if (refusal := attempt_refusal(self)) is not None:
            raise refusal
        return self

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it has not."""
        if self.outcome_kind is None:
            return None
        return Outcome(self.outcome_kind, self.failure_reason, self.failure_detail)

    @property
    def is_ephemeral(self) -> bool:
        """Whether its directory lies under the host's runner root, and goes with it."""
        return self.workspace_mode is WorkspaceMode.EPHEMERAL

    @property
    def holds_slot_lease(self) -> bool:
        """Whether it holds the slot that it was allocated in: until it is cleaned, and no longer."""
        return not self.is_ephemeral and self.state.is_uncleaned

    @property
    def slot_directory(self) -> str | None:
        """The name of its slot's directory, such as ``s3``; None for an ephemeral attempt."""
        return None if self.workspace_slot is None else f"s{self.workspace_slot}"

    # The state machine; each raises `IllegalTransition` where there is no such edge.

    def jit_received(self, now: int) -> Self:
        """From allocated: the forge has sent its just-in-time configuration."""
        return self._to(AttemptState.JIT_RECEIVED, now)

    def started(self, process_id: int, now: int) -> Self:
        """From jit_received: its process runs."""
        return self._to(AttemptState.STARTING, now, process_id=process_id)

    def registered_idle(self, github_runner_id: int, now: int) -> Self:
        """From starting: the forge knows the runner, and has nothing for it yet."""
        return self._to(AttemptState.IDLE, now, github_runner_id=github_runner_id)

    def assigned_job(self, github_runner_id: int, now: int) -> Self:
        """From starting or idle: a job runs."""
        return self._to(AttemptState.BUSY, now, github_runner_id=github_runner_id)

    def conclude(self, outcome: Outcome, now: int) -> Self:
        """From every live state: state, outcome and end time together.

        A job can be completed by a busy attempt only, and an idle one only can exit without work: else
        `OutcomeUnreachable`, as from every terminal state.
        """
        needed = _NEEDED.get(outcome.kind)
        if self.state.is_terminal or needed not in (None, self.state):
            raise OutcomeUnreachable(self.state, outcome.kind)
        return self._to(
            outcome.kind.state,
            now,
            outcome_kind=outcome.kind,
            failure_reason=outcome.reason,
            failure_detail=outcome.detail,
            terminal_at=now,
        )

    def clean(self, now: int) -> Self:
        """From finished, failed or orphaned: its directory is gone. `BusyCannotBeCleaned` where a job runs."""
        if self.state is AttemptState.BUSY:
            raise BusyCannotBeCleaned
        return self._to(AttemptState.CLEANED, now)

    def _to(self, state: AttemptState, now: int, **changes: Any) -> Self:
        if state not in ATTEMPT_EDGES[self.state]:
            raise IllegalTransition(self.state, state)
        return self.replace(state=state, last_state_change_at=now, **changes)


_NEEDED: Final = {
    OutcomeKind.COMPLETED_JOB: AttemptState.BUSY,
    OutcomeKind.EXITED_IDLE_WITHOUT_WORK: AttemptState.IDLE,
}
"""The one state that an outcome can be had from, where it is only one."""


def attempt_refusal(attempt: RunnerAttempt) -> Invalid | None:
    """What is wrong with an attempt whose columns are each in their limits; None if nothing is.

    Times that run backwards are not refused: see `repaired`.
    """
    return _workspace_refusal(attempt) or _outcome_refusal(attempt) or _time_refusal(attempt)


def repaired(attempt: RunnerAttempt) -> tuple[RunnerAttempt, int]:
    """The attempt with no time before `created_at`, and how many of its times had to be moved up to it.

    A clock that was set back between two transitions leaves such times; to refuse them would lose the attempt.
    """
    begin, changed, ended = attempt.created_at, attempt.last_state_change_at, attempt.terminal_at
    moved = {}
    if changed < begin:
        moved["last_state_change_at"] = begin
    if ended is not None and ended < begin:
        moved["terminal_at"] = begin
    return (attempt.replace(**moved) if moved else attempt), len(moved)


def _workspace_refusal(attempt: RunnerAttempt) -> Invalid | None:
    slot = attempt.workspace_slot
    if attempt.is_ephemeral:
        return None if slot is None else EphemeralWithSlot()
    if slot is None:
        return PersistentWithoutSlot()
    return SlotNotPositive() if slot == 0 else None


def _outcome_refusal(attempt: RunnerAttempt) -> Invalid | None:
    state, kind = attempt.state, attempt.outcome_kind
    if kind is None:
        if state.is_terminal:
            return TerminalWithoutOutcome(state)
    elif not state.is_terminal:
        return LiveWithOutcome(state)
    elif state not in (kind.state, AttemptState.CLEANED):
        return OutcomeOfAnotherState(state, kind)
    return None if _reason_fits(kind, attempt.failure_reason, attempt.failure_detail) else ReasonMismatch()


def _time_refusal(attempt: RunnerAttempt) -> Invalid | None:
    state = attempt.state
    if state.is_terminal == (attempt.terminal_at is not None):
        return None
    return TerminalWithoutTime(state) if state.is_terminal else LiveWithTerminalTime(state)
