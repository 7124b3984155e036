"""Runner attempts as values: their state machine, their outcomes, and what they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.domains.runners import (
    COMPLETED_JOB,
    EXITED_IDLE,
    ORPHANED,
    AttemptState,
    BusyCannotBeCleaned,
    EphemeralWithSlot,
    FailureReason,
    IllegalTransition,
    Invalid,
    LiveWithOutcome,
    LiveWithTerminalTime,
    Outcome,
    OutcomeKind,
    OutcomeOfAnotherState,
    OutcomeUnreachable,
    PersistentWithoutSlot,
    ReasonMismatch,
    RunnerAttempt,
    SlotNotPositive,
    TerminalWithoutOutcome,
    TerminalWithoutTime,
    WorkspaceMode,
)
from strongroom.domains.runners.attempts import repaired
from tests.domains.runners.samples import FLEET, NOW, an_attempt, an_attempt_in

S = AttemptState

STEPS: dict[str, tuple[Callable[[RunnerAttempt], RunnerAttempt], set[AttemptState], AttemptState]] = {
    "jit_received": (lambda a: a.jit_received(NOW + 9), {S.ALLOCATED}, S.JIT_RECEIVED),
    "started": (lambda a: a.started(1, NOW + 9), {S.JIT_RECEIVED}, S.STARTING),
    "registered_idle": (lambda a: a.registered_idle(2, NOW + 9), {S.STARTING}, S.IDLE),
    "assigned_job": (lambda a: a.assigned_job(2, NOW + 9), {S.STARTING, S.IDLE}, S.BUSY),
    "clean": (lambda a: a.clean(NOW + 9), {S.FINISHED, S.FAILED, S.ORPHANED}, S.CLEANED),
}
LIVE = {state for state in S if not state.is_terminal}
FAILED = Outcome.failed(FailureReason.PROCESS_EXITED_UNEXPECTEDLY)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", S)
def test_a_step_leads_where_the_state_machine_says_and_from_nowhere_else(name: str, state: AttemptState) -> None:
    step, sources, target = STEPS[name]
    attempt = an_attempt_in(state)
    if state in sources:
        moved = step(attempt)
        assert (moved.state, moved.last_state_change_at, moved.created_at) == (target, NOW + 9, NOW)
        assert moved.checked() is moved
    elif (name, state) == ("clean", S.BUSY):
        with pytest.raises(BusyCannotBeCleaned):
            step(attempt)
    else:
        with pytest.raises(IllegalTransition) as caught:
            step(attempt)
        assert (caught.value.found, caught.value.to) == (state, target)


@pytest.mark.parametrize(
    ("outcome", "sources", "target"),
    [
        (COMPLETED_JOB, {S.BUSY}, S.FINISHED),
        (EXITED_IDLE, {S.IDLE}, S.FINISHED),
        (FAILED, LIVE, S.FAILED),
        (ORPHANED, LIVE, S.ORPHANED),
    ],
)
@pytest.mark.parametrize("state", S)
def test_an_outcome_is_had_only_from_where_it_can_come(
    outcome: Outcome, sources: set[AttemptState], target: AttemptState, state: AttemptState
) -> None:
    attempt = an_attempt_in(state)
    if state not in sources:
        with pytest.raises(OutcomeUnreachable):
            attempt.conclude(outcome, NOW + 9)
        return
    concluded = attempt.conclude(outcome, NOW + 9)
    assert (concluded.state, concluded.outcome) == (target, outcome)
    assert concluded.terminal_at == concluded.last_state_change_at == NOW + 9
    assert concluded.checked() is concluded
    cleaned = concluded.clean(NOW + 10)
    assert (cleaned.outcome, cleaned.terminal_at) == (outcome, NOW + 9)


def test_an_exit_without_work_is_no_failure() -> None:
    idle = an_attempt_in(S.IDLE)
    assert idle.conclude(EXITED_IDLE, NOW).state is S.FINISHED
    assert idle.conclude(FAILED, NOW).state is S.FAILED


def test_a_failure_has_a_reason_and_other_has_a_text() -> None:
    assert Outcome.failed(FailureReason.OTHER, "out of ink").detail == "out of ink"
    for kind, reason, detail in (
        (OutcomeKind.FAILED, None, ""),
        (OutcomeKind.ORPHANED, FailureReason.JIT_EXPIRED, ""),
        (OutcomeKind.FAILED, FailureReason.OTHER, ""),
        (OutcomeKind.FAILED, FailureReason.JIT_EXPIRED, "out of ink"),
        (OutcomeKind.COMPLETED_JOB, None, "out of ink"),
    ):
        with pytest.raises(ReasonMismatch):
            Outcome(kind, reason, detail)


def test_what_an_attempt_failed_of_is_in_no_representation() -> None:
    failed = an_attempt().conclude(Outcome.failed(FailureReason.OTHER, "password=hunter2"), NOW)
    assert "hunter2" not in repr(failed) + repr(failed.outcome)
    assert "other" in repr(failed.outcome)


def test_a_slot_is_held_until_the_attempt_is_cleaned_and_never_by_an_ephemeral_one() -> None:
    for state in S:
        assert an_attempt_in(state, slot=3).holds_slot_lease == (state is not S.CLEANED)
        assert not an_attempt_in(state).holds_slot_lease
    assert an_attempt(slot=3).slot_directory == "s3"
    assert an_attempt().slot_directory is None


def test_slots_are_numbered_from_one() -> None:
    with pytest.raises(SlotNotPositive):
        RunnerAttempt.allocate(FLEET, "a-1", "p-1", runtime_path="/srv/x", now=NOW, slot=0)


@pytest.mark.parametrize(
    ("attempt", "refusal"),
    [
        (an_attempt().replace(workspace_slot=1), EphemeralWithSlot),
        (an_attempt().replace(workspace_mode=WorkspaceMode.PERSISTENT), PersistentWithoutSlot),
        (an_attempt(slot=1).replace(workspace_slot=0), SlotNotPositive),
        (an_attempt_in(S.FINISHED).replace(outcome_kind=None), TerminalWithoutOutcome),
        (an_attempt_in(S.CLEANED).replace(outcome_kind=None), TerminalWithoutOutcome),
        (an_attempt_in(S.BUSY).replace(outcome_kind=OutcomeKind.COMPLETED_JOB), LiveWithOutcome),
        (an_attempt_in(S.FINISHED).replace(state=S.FAILED), OutcomeOfAnotherState),
        (an_attempt_in(S.FAILED).replace(failure_reason=None), ReasonMismatch),
        (an_attempt_in(S.BUSY).replace(failure_detail="x"), ReasonMismatch),
        (an_attempt_in(S.FINISHED).replace(terminal_at=None), TerminalWithoutTime),
        (an_attempt_in(S.IDLE).replace(terminal_at=NOW), LiveWithTerminalTime),
    ],
)
def test_an_attempt_that_contradicts_itself_is_refused(attempt: RunnerAttempt, refusal: type[Invalid]) -> None:
    with pytest.raises(refusal):
        attempt.checked()


def test_times_before_the_beginning_are_moved_up_to_it() -> None:
    finished = an_attempt_in(S.FINISHED)
    assert repaired(finished) == (finished, 0)
    skewed = finished.replace(last_state_change_at=NOW - 5, terminal_at=NOW - 7)
    whole, repairs = repaired(skewed)
    assert (whole.last_state_change_at, whole.terminal_at, repairs) == (NOW, NOW, 2)
