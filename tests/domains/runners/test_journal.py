"""The journal of attempts: what stays as it was first written, what is repaired, and who is in which list."""

from __future__ import annotations

import logging

import pytest

from strongroom.domains import runners
from strongroom.domains.runners import (
    COMPLETED_JOB,
    EXITED_IDLE,
    Action,
    AttemptState,
    FailureReason,
    Forge,
    Observation,
    Outcome,
    RunnerAttempt,
    WorkspaceMode,
    decide,
    reading,
)
from tests.domains.runners.samples import NOW, a_policy, an_attempt, an_attempt_in

S = AttemptState


def test_attempts_in_every_state_come_back_and_five_of_them_are_active(store: runners.RunnerStore) -> None:
    attempts = {state: an_attempt_in(state, f"a-{state}") for state in S}
    for attempt in attempts.values():
        assert store.record_attempt(attempt) == attempt
    assert {store.attempt(f"a-{state}") for state in S} == set(attempts.values())
    active, uncleaned = store.active_attempts_for_policy("p-1"), store.uncleaned_attempts_for_policy("p-1")
    assert {attempt.state for attempt in active} == {state for state in S if state.counts_against_capacity}
    assert {attempt.state for attempt in uncleaned} == {state for state in S if state.is_uncleaned}
    assert {attempt.state for attempt in store.attempts_for_policy("p-1")} == set(S)
    assert store.clock_skew_repairs == 0


def test_the_fleet_s_uncleaned_attempts_are_those_of_every_policy_and_mode(store: runners.RunnerStore) -> None:
    kept = []
    for number, state in enumerate(S):
        for policy, slot in (("p-1", None), ("gone", number + 1)):
            attempt = an_attempt_in(state, f"{state}-{policy}", policy, slot=slot, now=NOW - number)
            store.record_attempt(attempt)
            kept += [attempt] if state.is_uncleaned else []
    assert len(kept) == 16
    assert store.uncleaned_attempts() == sorted(kept, key=lambda attempt: (attempt.created_at, attempt.id))


def test_every_outcome_comes_back(store: runners.RunnerStore) -> None:
    outcomes = [Outcome.failed(r, "é\n" * 9 if r is FailureReason.OTHER else "") for r in FailureReason]
    for number, outcome in enumerate(outcomes):
        store.record_attempt(an_attempt(f"a-{number}").conclude(outcome, NOW))
    store.record_attempt(an_attempt_in(S.IDLE, "idle").conclude(EXITED_IDLE, NOW + 9))
    store.record_attempt(an_attempt_in(S.FINISHED, "job"))
    found = {attempt.id: attempt.outcome for attempt in store.attempts()}
    assert found == {f"a-{n}": o for n, o in enumerate(outcomes)} | {"idle": EXITED_IDLE, "job": COMPLETED_JOB}


def test_attempts_are_listed_oldest_first_whatever_their_order_of_arrival(store: runners.RunnerStore) -> None:
    for id, age in (("c", 1), ("é", 5), ("a", 3), ("b", 3)):
        store.record_attempt(an_attempt(id, now=NOW - age))
    store.record_attempt(an_attempt("other", "p-2", now=NOW - 9))
    assert [attempt.id for attempt in store.attempts()] == ["other", "é", "a", "b", "c"]
    for listing in (
        store.attempts_for_policy("p-1"),
        store.active_attempts_for_policy("p-1"),
        store.uncleaned_attempts_for_policy("p-1"),
    ):
        assert [attempt.id for attempt in listing] == ["é", "a", "b", "c"]


def test_an_attempt_is_removed_once(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt(slot=1))
    store.record_attempt(an_attempt("a-2"))
    assert store.remove_attempt("a-1")
    assert not store.remove_attempt("a-1")
    assert store.attempt("a-1") is None
    assert store.attempts_for_policy("p-1") == [an_attempt("a-2")]
    assert store.slot_leases_for_policy("p-1") == []
    assert store.remove_attempt("a-2")
    assert store.uncleaned_ephemeral_attempts() == []


def test_when_and_where_an_attempt_was_allocated_is_written_once(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt(slot=2))
    later = an_attempt_in(S.BUSY, slot=3, now=NOW + 50).replace(runtime_path="/srv/elsewhere")
    stored = store.record_attempt(later)
    assert stored == later.replace(created_at=NOW, workspace_slot=2)
    assert store.attempt("a-1") == stored
    ephemeral = an_attempt_in(S.IDLE).replace(created_at=NOW + 1)
    stored = store.record_attempt(ephemeral)
    assert (stored.workspace_mode, stored.workspace_slot, stored.state) == (WorkspaceMode.PERSISTENT, 2, S.IDLE)
    assert store.slot_leases_for_policy("p-1") == [stored]
    assert store.uncleaned_ephemeral_attempts() == []


def test_an_attempt_that_moves_to_another_policy_is_counted_there(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt(slot=2))
    moved = store.record_attempt(an_attempt(policy_id="p-2", slot=2))
    assert store.attempts_for_policy("p-1") == store.slot_leases_for_policy("p-1") == []
    assert store.active_attempts_for_policy("p-2") == store.slot_leases_for_policy("p-2") == [moved]


def test_an_attempts_policy_need_not_exist(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt(policy_id="gone"))
    store.record_attempt(an_attempt("persistent", policy_id="gone", slot=1))
    assert store.uncleaned_ephemeral_attempts() == [an_attempt(policy_id="gone")]


def test_an_attempt_under_a_revision_is_written_while_the_policy_has_it(store: runners.RunnerStore) -> None:
    with pytest.raises(runners.NotFound) as missing:
        store.record_attempt(an_attempt(), while_revision=0)
    assert missing.value.what == "policy"
    store.insert_policy(a_policy(revision=3))
    with pytest.raises(runners.StaleRevision) as stale:
        store.record_attempt(an_attempt(), while_revision=2)
    assert (stale.value.expected, stale.value.found) == (2, 3)
    assert store.attempts() == store.attempts_for_policy("p-1") == []
    store.record_attempt(an_attempt(), while_revision=3)
    assert store.attempts() == [an_attempt()]


def test_times_before_the_beginning_are_repaired_on_writing_counted_and_told(
    store: runners.RunnerStore, caplog: pytest.LogCaptureFixture
) -> None:
    skewed = an_attempt_in(S.FINISHED).replace(last_state_change_at=NOW - 1, terminal_at=NOW - 2)
    with caplog.at_level(logging.WARNING, "strongroom.runners"):
        stored = store.record_attempt(skewed)
    assert (stored.last_state_change_at, stored.terminal_at) == (NOW, NOW)
    assert store.clock_skew_repairs == 2
    assert len(caplog.records) == 1
    assert store.attempt("a-1") == stored
    assert store.attempts() == [stored]
    assert store.clock_skew_repairs == 2  # nothing is left to repair on reading


def test_times_are_held_against_the_beginning_that_is_stored(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt())
    stored = store.record_attempt(an_attempt(now=NOW - 100).jit_received(NOW - 50))
    assert (stored.created_at, stored.last_state_change_at) == (NOW, NOW)
    assert store.clock_skew_repairs == 1


def test_a_journal_that_is_read_again_leads_to_the_same_decisions(
    store: runners.RunnerStore, beside: runners.RunnerStore
) -> None:
    attempts = [an_attempt_in(state, f"a-{state}") for state in S]
    for attempt in attempts:
        store.record_attempt(attempt)
    reloaded = beside.attempts()
    seen = Observation(process_alive=False, forge=Forge.NOT_REGISTERED)
    now = NOW + 120_001  # a millisecond before or behind the limits that count from the change of state
    assert {a.id: decide(a, seen, now) for a in reloaded} == {a.id: decide(a, seen, now) for a in attempts}
    away = Observation(process_alive=False, forge=Forge.UNREACHABLE)
    assert {decide(a, away, now).action for a in reloaded if not a.state.is_terminal} == {Action.DEFER}


def test_what_was_recorded_outlives_whoever_recorded_it(
    store: runners.RunnerStore, beside: runners.RunnerStore
) -> None:
    store.insert_policy(a_policy(state=runners.PolicyState.REPAIR_REQUIRED, enabled=True))
    store.record_attempt(an_attempt_in(S.BUSY, slot=7))
    assert beside.attempts() == [an_attempt_in(S.BUSY, slot=7)]
    found = beside.policy("p-1")
    assert found is not None
    assert (found.state, found.may_start_runners) == (runners.PolicyState.REPAIR_REQUIRED, False)


def test_counts_and_lists_are_whole_over_many_pages(
    store: runners.RunnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", 5)
    monkeypatch.setattr(reading, "MAX_LIMIT", 10)
    store.insert_policy(a_policy())
    attempts = [an_attempt(f"a-{number:04}", slot=number + 1) for number in range(12)]
    for attempt in attempts:
        store.record_attempt(attempt)
    assert store.slot_leases_for_policy("p-1") == store.attempts() == attempts
    with pytest.raises(runners.ActiveCountChanged) as caught:
        store.update_policy_confirming_active_count(a_policy(), 0, 65_535)
    assert caught.value.found == 12


def test_a_record_that_says_the_same_again_is_no_change(store: runners.RunnerStore) -> None:
    attempt: RunnerAttempt = an_attempt_in(S.BUSY, slot=1)
    assert store.record_attempt(attempt) == store.record_attempt(attempt) == attempt
    assert store.attempts() == store.slot_leases_for_policy("p-1") == [attempt]
