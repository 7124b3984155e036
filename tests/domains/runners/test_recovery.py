"""The recovery decision, as a pure function: every state, what is seen of it, and how long it has been so."""

from __future__ import annotations

import pytest

from strongroom.domains.runners import (
    EXITED_IDLE,
    ORPHANED,
    Action,
    AttemptState,
    Decision,
    FailureReason,
    ForeignHost,
    Forge,
    Observation,
    Outcome,
    PolicyMismatch,
    Timeouts,
    authorize,
    decide,
)
from tests.domains.runners.samples import OTHER, a_policy, an_attempt, an_attempt_in

S, A = AttemptState, Action
NOT, IDLE, BUSY = Forge.NOT_REGISTERED, Forge.IDLE, Forge.BUSY
LIVE = [state for state in S if not state.is_terminal]
SOON, LATE = -1, 0
"""Milliseconds before the state's timeout."""


def failed(reason: FailureReason) -> Outcome:
    return Outcome.failed(reason)


def limit(state: AttemptState) -> int:
    return {S.STARTING: 300_000, S.IDLE: 300_000}.get(state, 120_000)


def decided(state: AttemptState, alive: bool, forge: Forge, after: int) -> Decision:
    attempt = an_attempt_in(state)
    return decide(attempt, Observation(alive, forge), attempt.last_state_change_at + limit(state) + after)


@pytest.mark.parametrize("after", [SOON, LATE])
@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("forge", Forge)
def test_what_has_ended_is_cleaned_and_what_is_cleaned_is_left_alone(forge: Forge, alive: bool, after: int) -> None:
    for state in (S.FINISHED, S.FAILED, S.ORPHANED):
        assert decided(state, alive, forge, after) == Decision(A.CLEAN)
    assert decided(S.CLEANED, alive, forge, after) == Decision(A.NOTHING)


@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize("alive", [True, False])
def test_nothing_is_destroyed_while_the_forge_can_not_be_reached(state: AttemptState, alive: bool) -> None:
    assert decided(state, alive, Forge.UNREACHABLE, 10**9) == Decision(A.DEFER)


@pytest.mark.parametrize(
    ("state", "alive", "forge", "after", "expected"),
    [
        (S.ALLOCATED, True, NOT, LATE, Decision(A.ADOPT)),
        (S.ALLOCATED, True, IDLE, LATE, Decision(A.ADOPT)),
        (S.ALLOCATED, False, IDLE, LATE, Decision(A.OBSERVE, S.JIT_RECEIVED)),
        (S.ALLOCATED, False, NOT, SOON, Decision(A.WAIT)),
        (S.ALLOCATED, False, NOT, LATE, Decision(A.CONCLUDE, None, failed(FailureReason.JIT_REQUEST_FAILED))),
        (S.JIT_RECEIVED, True, BUSY, LATE, Decision(A.ADOPT)),
        (S.JIT_RECEIVED, False, BUSY, SOON, Decision(A.OBSERVE, S.STARTING)),
        (S.JIT_RECEIVED, False, NOT, SOON, Decision(A.WAIT)),
        (S.JIT_RECEIVED, False, NOT, LATE, Decision(A.CONCLUDE, None, failed(FailureReason.JIT_EXPIRED))),
        (S.STARTING, True, BUSY, LATE, Decision(A.OBSERVE, S.BUSY)),
        (S.STARTING, False, BUSY, SOON, Decision(A.OBSERVE, S.BUSY)),
        (S.STARTING, True, IDLE, LATE, Decision(A.OBSERVE, S.IDLE)),
        (
            S.STARTING,
            False,
            NOT,
            SOON,
            Decision(A.CONCLUDE, None, failed(FailureReason.PROCESS_EXITED_UNEXPECTEDLY)),
        ),
        (S.STARTING, True, NOT, SOON, Decision(A.ADOPT)),
        (S.STARTING, True, NOT, LATE, Decision(A.TERMINATE, None, failed(FailureReason.REGISTRATION_TIMED_OUT))),
        (S.IDLE, True, BUSY, LATE, Decision(A.OBSERVE, S.BUSY)),
        (S.IDLE, False, BUSY, SOON, Decision(A.OBSERVE, S.BUSY)),
        (S.IDLE, False, IDLE, SOON, Decision(A.CONCLUDE, None, ORPHANED)),
        (S.IDLE, True, IDLE, SOON, Decision(A.ADOPT)),
        (S.IDLE, True, IDLE, LATE, Decision(A.TERMINATE, None, EXITED_IDLE)),
        (S.IDLE, True, NOT, LATE, Decision(A.ADOPT)),
        (S.IDLE, False, NOT, LATE, Decision(A.CONCLUDE, None, EXITED_IDLE)),
        (S.IDLE, False, NOT, SOON, Decision(A.CONCLUDE, None, failed(FailureReason.PROCESS_EXITED_UNEXPECTEDLY))),
        (S.BUSY, True, NOT, LATE, Decision(A.ADOPT)),
        (S.BUSY, False, BUSY, SOON, Decision(A.CONCLUDE, None, ORPHANED)),
    ],
)
def test_a_live_attempt_is_judged_by_its_process_its_runner_and_its_time(
    state: AttemptState, alive: bool, forge: Forge, after: int, expected: Decision
) -> None:
    assert decided(state, alive, forge, after) == expected


def test_time_is_counted_from_the_last_change_of_state_and_limits_may_be_others() -> None:
    starting = an_attempt_in(S.STARTING)
    seen = Observation(process_alive=True, forge=NOT)
    now = starting.created_at + 300_000
    assert starting.last_state_change_at > starting.created_at
    assert decide(starting, seen, now).action is A.ADOPT
    assert decide(starting, seen, now, Timeouts(startup_ms=1000)).action is A.TERMINATE


def test_every_outcome_that_is_decided_can_be_had_from_the_state() -> None:
    for state in LIVE:
        for alive in (True, False):
            for forge in Forge:
                for after in (SOON, LATE):
                    decision = decided(state, alive, forge, after)
                    if decision.outcome is not None:
                        assert an_attempt_in(state).conclude(decision.outcome, 0).outcome == decision.outcome


def test_an_agent_touches_only_its_own_hosts_attempts() -> None:
    authorize("h-1", a_policy(), an_attempt())
    with pytest.raises(ForeignHost):
        authorize("h-2", a_policy(), an_attempt())
    with pytest.raises(PolicyMismatch):
        authorize("h-1", a_policy(), an_attempt(policy_id="p-2"))
    with pytest.raises(PolicyMismatch):
        authorize("h-1", a_policy(), an_attempt().replace(fleet=OTHER))
