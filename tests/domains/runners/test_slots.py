"""Slot leases: one uncleaned persistent attempt for each slot, from its allocation to its cleanup."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import runners
from strongroom.domains.runners import AttemptState, RunnerAttempt
from tests.domains.runners.samples import NOW, a_policy, an_attempt, an_attempt_in

S = AttemptState


def test_a_slot_has_one_attempt_and_whoever_comes_second_writes_nothing(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt("first", slot=3))
    with pytest.raises(runners.SlotAlreadyLeased) as caught:
        store.record_attempt(an_attempt("second", slot=3))
    fault = caught.value
    assert (fault.policy_id, fault.slot, fault.expected, fault.found) == ("p-1", 3, "second", "first")
    assert runners.is_conflict(fault)
    assert store.attempt("second") is None
    assert store.attempts_for_policy("p-1") == store.slot_leases_for_policy("p-1") == [an_attempt("first", slot=3)]
    store.record_attempt(an_attempt("second", slot=4))
    store.record_attempt(an_attempt("third", "p-2", slot=3))  # another policy's slot of the same number


def test_a_slot_is_held_through_every_state_until_it_is_cleaned(store: runners.RunnerStore) -> None:
    for state in S:
        held = store.record_attempt(an_attempt_in(state, "holder", slot=1))
        rival = an_attempt(f"rival-{state}", slot=1)
        if state is S.CLEANED:
            assert store.slot_leases_for_policy("p-1") == []
            store.record_attempt(rival)
        else:
            assert store.slot_leases_for_policy("p-1") == [held]
            with pytest.raises(runners.SlotAlreadyLeased):
                store.record_attempt(rival)


def test_a_cleanup_that_failed_holds_its_slot_and_no_capacity(store: runners.RunnerStore) -> None:
    failed = an_attempt_in(S.FAILED, slot=1)
    store.record_attempt(failed)
    assert store.active_attempts_for_policy("p-1") == []
    assert store.uncleaned_attempts_for_policy("p-1") == store.slot_leases_for_policy("p-1") == [failed]


def test_a_cleaned_attempt_stays_in_the_journal_and_its_slot_goes_on(store: runners.RunnerStore) -> None:
    store.record_attempt(an_attempt_in(S.CLEANED, "first", slot=1))
    store.record_attempt(an_attempt("second", slot=1))
    with pytest.raises(runners.SlotAlreadyLeased) as caught:
        store.record_attempt(an_attempt("third", slot=1))
    assert caught.value.found == "second"
    assert [attempt.id for attempt in store.attempts_for_policy("p-1")] == ["first", "second"]
    with pytest.raises(runners.SlotAlreadyLeased):
        store.record_attempt(an_attempt("first", slot=1))  # what is cleaned does not come back into a slot of another


def slot_taken(store: runners.RunnerStore, id: str, slots: int = 9) -> int | None:
    """The slot that a new attempt is allocated."""
    made = store.allocate_slot("p-1", lambda slot: an_attempt(id, slot=slot), slots=slots)
    return made.workspace_slot


def test_the_lowest_free_slot_is_allocated(store: runners.RunnerStore) -> None:
    assert [slot_taken(store, id) for id in "abc"] == [1, 2, 3]
    store.record_attempt(an_attempt("far", slot=6))
    store.remove_attempt("b")
    assert [slot_taken(store, id) for id in "defg"] == [2, 4, 5, 7]
    store.record_attempt(an_attempt_in(S.CLEANED, "a", slot=1))
    assert slot_taken(store, "h") == 1
    assert store.attempt("h") == an_attempt("h", slot=1)


def test_no_slot_is_allocated_where_all_are_leased(store: runners.RunnerStore) -> None:
    assert [slot_taken(store, id, slots=2) for id in "ab"] == [1, 2]
    with pytest.raises(runners.NoFreeSlot) as caught:
        slot_taken(store, "c", slots=2)
    assert (caught.value.policy_id, caught.value.slots) == ("p-1", 2)
    assert caught.value.retryable
    assert not runners.is_conflict(caught.value)
    assert store.attempt("c") is None


def test_an_attempt_is_allocated_for_the_slot_that_it_gets_and_once(store: runners.RunnerStore) -> None:
    wrong: list[RunnerAttempt] = [
        an_attempt(),
        an_attempt(slot=2),
        an_attempt(policy_id="p-2", slot=1),
        an_attempt_in(S.CLEANED, slot=1),
    ]
    for attempt in wrong:
        made = {1: attempt}
        with pytest.raises(strongroom.InvalidArgument):
            store.allocate_slot("p-1", made.__getitem__)
    assert slot_taken(store, "a") == 1
    with pytest.raises(runners.AlreadyExists) as caught:
        slot_taken(store, "a")
    assert (caught.value.what, caught.value.id) == ("attempt", "a")
    assert len(store.attempts()) == 1


def test_a_slot_is_allocated_while_the_policy_has_the_revision_that_was_read(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy(revision=2))
    with pytest.raises(runners.StaleRevision):
        store.allocate_slot("p-1", lambda slot: an_attempt(slot=slot), while_revision=1)
    assert store.allocate_slot("p-1", lambda slot: an_attempt(slot=slot), while_revision=2).created_at == NOW
