"""Triggers and what they heard of: every revision kept, each identity received once, and a way with no way back."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import BITE, Conflict, OccurrenceState, Refused, RunState, Trigger, TriggerState
from strongroom.domains.dispatch.trigger_records import SCHEMA
from tests.domains.dispatch.samples import Yard, completed, state_of

S = OccurrenceState


@pytest.fixture
def trigger(yard: Yard) -> Trigger:
    return yard.workspace.triggers.create(yard.job.id, "webhook", '{ "every": 60 }')


def receive(yard: Yard, trigger: Trigger, identity: str, *states: OccurrenceState) -> str:
    occurrence = yard.workspace.occurrences.receive(trigger.id, identity).occurrence
    for state in states:
        occurrence = yard.workspace.occurrences.move(occurrence.id, state, expect=occurrence.state)
    return occurrence.id


def test_a_trigger_is_configured_anew_and_every_revision_is_kept(yard: Yard, trigger: Trigger) -> None:
    assert (trigger.job, trigger.kind, trigger.state, trigger.revision) == (
        yard.job.id,
        "webhook",
        TriggerState.ACTIVE,
        1,
    )
    changed = yard.workspace.triggers.configure(trigger.id, '{"every":30}')
    assert yard.workspace.triggers.get(trigger.id) == changed
    revisions = yard.workspace.triggers.revisions(trigger.id)
    assert [(one.revision, one.config) for one in revisions] == [(1, '{"every":60}'), (2, '{"every":30}')]


def test_the_same_configuration_is_no_new_revision(yard: Yard, trigger: Trigger) -> None:
    before = state_of(yard.engine, SCHEMA.tables)
    assert yard.workspace.triggers.configure(trigger.id, ' {"every":60}') == trigger
    assert yard.workspace.triggers.resume(trigger.id) == trigger
    assert state_of(yard.engine, SCHEMA.tables) == before


def test_a_key_is_shown_once_and_the_one_before_is_good_no_more(yard: Yard, trigger: Trigger) -> None:
    triggers = yard.workspace.triggers
    assert not triggers.check_key(trigger.id, "")
    first = triggers.rotate_key(trigger.id)
    assert triggers.check_key(trigger.id, first.key)
    assert not triggers.check_key(trigger.id, first.key + "x")
    second = triggers.rotate_key(trigger.id)
    assert (first.trigger.key_revision, second.trigger.key_revision) == (1, 2)
    assert not triggers.check_key(trigger.id, first.key)
    assert triggers.check_key(trigger.id, second.key)
    assert second.key not in repr(second)
    assert second.key not in repr(state_of(yard.engine, SCHEMA.tables))


def test_triggers_are_listed_by_their_ids(yard: Yard, trigger: Trigger) -> None:
    other = yard.workspace.triggers.create(yard.job.id, "schedule")
    ids = sorted([trigger.id, other.id])
    assert [one.id for one in yard.workspace.triggers.list()] == ids
    assert [one.id for one in yard.workspace.triggers.list(after=ids[0])] == ids[1:]


def test_an_identity_is_received_once_by_each_trigger(yard: Yard, trigger: Trigger) -> None:
    other = yard.workspace.triggers.create(yard.job.id, "webhook")
    first = yard.workspace.occurrences.receive(trigger.id, "commit abc")
    assert not first.replayed
    again = yard.workspace.occurrences.receive(trigger.id, "commit abc", expires_at_ms=5)
    assert (again.occurrence, again.replayed) == (first.occurrence, True)
    assert not yard.workspace.occurrences.receive(other.id, "commit abc").replayed
    assert not yard.workspace.occurrences.receive(trigger.id, "commit ABC").replayed
    assert yard.workspace.occurrences.get(first.occurrence.id) == first.occurrence


def test_a_paused_trigger_skips_what_it_hears(yard: Yard, trigger: Trigger) -> None:
    yard.workspace.triggers.pause(trigger.id)
    skipped = yard.workspace.occurrences.receive(trigger.id, "a").occurrence
    assert (skipped.state, skipped.reason) == (S.SKIPPED, "the trigger is paused")
    yard.workspace.triggers.resume(trigger.id)
    assert yard.workspace.occurrences.receive(trigger.id, "a").occurrence.state is S.SKIPPED  # it was received
    assert yard.workspace.occurrences.receive(trigger.id, "b").occurrence.state is S.RECEIVED


def test_every_way_that_is_open_is_open_and_no_other(yard: Yard, trigger: Trigger) -> None:
    ways = {
        S.RECEIVED: (),
        S.PREPARING: (S.PREPARING,),
        S.READY: (S.READY,),
        S.NEEDS_ATTENTION: (S.PREPARING, S.NEEDS_ATTENTION),
        S.SKIPPED: (S.SKIPPED,),
        S.FAILED: (S.FAILED,),
        S.EXPIRED: (S.EXPIRED,),
        S.CANCELLED: (S.CANCELLED,),
        S.RECONCILED: (S.PREPARING, S.NEEDS_ATTENTION, S.RECONCILED),
    }
    for state, way in ways.items():
        for to in OccurrenceState:
            occurrence = receive(yard, trigger, f"{state} to {to}", *way)
            if to in state.next_states and to is not S.SUBMITTED:
                assert yard.workspace.occurrences.move(occurrence, to, expect=state).state is to
            else:
                with pytest.raises(Refused) as refused:
                    yard.workspace.occurrences.move(occurrence, to, expect=state)
                assert refused.value.code is dispatch.RefusalCode.ILLEGAL_TRANSITION
                assert yard.workspace.occurrences.get(occurrence).state is state
    assert S.SUBMITTED.next_states == frozenset()


def test_an_occurrence_in_another_state_than_expected_stays(yard: Yard, trigger: Trigger) -> None:
    occurrence = receive(yard, trigger, "a", S.PREPARING)
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Conflict) as conflict:
        yard.workspace.occurrences.move(occurrence, S.READY, expect=S.RECEIVED)
    assert (conflict.value.expected, conflict.value.found) == (S.RECEIVED, S.PREPARING)
    assert state_of(yard.engine, SCHEMA.tables) == before


def test_an_occurrence_is_submitted_with_its_run_and_once(yard: Yard, trigger: Trigger) -> None:
    occurrence = receive(yard, trigger, "commit abc", S.READY)
    submitted = yard.workspace.submit_occurrence(occurrence, '{"commit":"abc"}')
    again = yard.workspace.submit_occurrence(occurrence, '{"commit":"abc"}')
    assert (again.run, again.replayed) == (submitted.run, True)
    with pytest.raises(dispatch.RequestConflict):
        yard.workspace.submit_occurrence(occurrence, '{"commit":"def"}')
    kept = yard.workspace.occurrences.get(occurrence)
    assert (kept.state, kept.run) == (S.SUBMITTED, submitted.run)
    run = yard.run(submitted.run)
    assert (run.caller, run.key, run.occurrence) == (f"trigger:{trigger.id}", "commit abc", occurrence)
    assert (run.trigger, run.trigger_revision, run.trigger_kind) == (trigger.id, 1, "webhook")
    yard.dispatcher.finish(yard.claim(), completed())
    assert yard.run(run.id).state is RunState.COMPLETED


def test_an_occurrence_that_is_not_ready_has_no_run(yard: Yard, trigger: Trigger) -> None:
    occurrence = receive(yard, trigger, "a", S.PREPARING)
    with pytest.raises(Conflict):
        yard.workspace.submit_occurrence(occurrence, "{}")
    assert yard.workspace.runs.list().items == []


def test_a_full_queue_leaves_an_occurrence_ready(yard: Yard, trigger: Trigger) -> None:
    occurrence = receive(yard, trigger, "a", S.READY)
    full = dispatch.Dispatch(yard.engine).for_workspace("build", owner="ada", queue_limit=1)
    yard.submit()
    with pytest.raises(Refused):
        full.submit_occurrence(occurrence, "{}")
    assert yard.workspace.occurrences.get(occurrence).state is S.READY


def test_a_restart_ends_what_was_being_prepared(yard: Yard, trigger: Trigger) -> None:
    left = [receive(yard, trigger, f"{number}", S.PREPARING) for number in range(BITE + 4)]
    ready = receive(yard, trigger, "ready", S.PREPARING, S.READY)
    assert yard.workspace.dispatcher(lease_ms=1000).restart().occurrences == []
    assert sorted(yard.workspace.dispatcher().restart().occurrences) == sorted(left)
    states = {yard.workspace.occurrences.get(occurrence).state for occurrence in left}
    assert states == {S.FAILED}
    assert yard.workspace.occurrences.get(ready).state is S.READY
    assert yard.workspace.dispatcher().restart().occurrences == []


def test_occurrences_are_listed_newest_first(yard: Yard, trigger: Trigger) -> None:
    occurrences = [receive(yard, trigger, f"{number}") for number in range(5)]
    yard.workspace.occurrences.move(occurrences[1], S.CANCELLED, expect=S.RECEIVED)
    page = yard.workspace.occurrences.list(trigger.id, limit=2)
    assert [one.id for one in page.items] == occurrences[:2:-1]
    rest = yard.workspace.occurrences.list(trigger.id, after=page.next)
    assert [one.id for one in rest.items] == occurrences[2::-1]
    assert [one.id for one in yard.workspace.occurrences.list(trigger.id, state=S.CANCELLED).items] == [occurrences[1]]


def test_what_is_out_of_range_is_refused(yard: Yard, trigger: Trigger) -> None:
    before = state_of(yard.engine, SCHEMA.tables)
    for call in (
        lambda: yard.workspace.triggers.create(yard.job.id, ""),
        lambda: yard.workspace.triggers.create(yard.job.id, "webhook", "{"),
        lambda: yard.workspace.triggers.configure(trigger.id, ""),
        lambda: yard.workspace.occurrences.receive(trigger.id, ""),
        lambda: yard.workspace.occurrences.receive(trigger.id, "x" * 256),
        lambda: yard.workspace.occurrences.receive(trigger.id, "x", expires_at_ms=-1),
        lambda: yard.workspace.occurrences.list(trigger.id, limit=0),
    ):
        with pytest.raises(strongroom.InvalidArgument):
            call()
    with pytest.raises(dispatch.Absent):
        yard.workspace.triggers.create("job_0", "webhook")
    assert state_of(yard.engine, SCHEMA.tables) == before
