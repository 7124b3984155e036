"""Policies in the store: guarded by the revision that was read, and by what the caller saw of their attempts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.domains import runners
from strongroom.domains.runners import AttemptState, PolicyState, ScalePolicy, WorkspaceMode
from tests.domains.runners.samples import a_monitor, a_policy, an_attempt, an_attempt_in

Update = Callable[[runners.RunnerStore, ScalePolicy, int], None]

GUARDED: dict[str, Update] = {
    "update": lambda store, policy, revision: store.update_policy(policy, revision),
    "confirming active": lambda store, policy, revision: store.update_policy_confirming_active_count(
        policy, revision, 0
    ),
    "confirming uncleaned": lambda store, policy, revision: store.update_policy_confirming_uncleaned_count(
        policy, revision, 0
    ),
    "remove": lambda store, policy, revision: store.remove_policy(policy.id, revision),
}
guarded = pytest.mark.parametrize("update", GUARDED.values(), ids=GUARDED.keys())


def test_policies_of_both_targets_and_kinds_in_every_state_come_back(store: runners.RunnerStore) -> None:
    policies = [
        made.replace(id=f"p-{number}-{state}", state=state, enabled=bool(number), revision=number)
        for number, made in enumerate([a_monitor(), a_policy()])
        for state in PolicyState
    ]
    for policy in reversed(policies):
        store.insert_policy(policy)
    assert store.policies() == sorted(policies, key=lambda policy: policy.id)
    assert store.policy(policies[3].id) == policies[3]
    assert store.policy("p") is None


def test_a_policy_is_inserted_once(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy(revision=5))
    with pytest.raises(runners.AlreadyExists) as caught:
        store.insert_policy(a_policy(max_capacity=9))
    assert (caught.value.what, caught.value.id) == ("policy", "p-1")
    assert not runners.is_conflict(caught.value)
    assert store.policy("p-1") == a_policy(revision=5)


def test_an_update_writes_every_column_as_it_is_given(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy())
    changed = ScalePolicy(
        store.fleet,
        "p-1",
        runners.TargetScope.REPOSITORY,
        "globex/web",
        8,
        "h-2",
        "metal",
        runners.routing_labels("metal", "x"),
        2,
        7,
        True,
        PolicyState.DRAINING,
        runners.CachePolicy.DISCARD_RUNNER_PACKAGE,
        WorkspaceMode.PERSISTENT,
        "/srv/work",
        41,
    )
    store.update_policy(changed, 0)
    assert store.policy("p-1") == changed
    store.update_policy(changed.set_workspace_policy(WorkspaceMode.EPHEMERAL), 41)
    ephemeral = store.policy("p-1")
    assert ephemeral is not None
    assert (ephemeral.workspace_mode, ephemeral.workspace_path) == (WorkspaceMode.EPHEMERAL, None)


@guarded
def test_a_stale_revision_writes_nothing_and_a_fresh_one_wins(store: runners.RunnerStore, update: Update) -> None:
    store.insert_policy(a_policy())
    store.update_policy(a_policy().set_max_capacity(5), 0)
    for stale in (0, 2):
        with pytest.raises(runners.StaleRevision) as caught:
            update(store, a_policy().set_max_capacity(9), stale)
        assert (caught.value.id, caught.value.expected, caught.value.found) == ("p-1", stale, 1)
        assert runners.is_conflict(caught.value)
        assert caught.value.retryable
    found = store.policy("p-1")
    assert found == a_policy(max_capacity=5, revision=1)
    update(store, found.set_max_capacity(9), 1)
    again = store.policy("p-1")
    assert again is None or (again.max_capacity, again.revision) == (9, 2)


@guarded
def test_a_guarded_write_to_a_missing_policy_is_not_found(store: runners.RunnerStore, update: Update) -> None:
    with pytest.raises(runners.NotFound) as caught:
        update(store, a_policy(), 0)
    assert (caught.value.what, caught.value.id) == ("policy", "p-1")
    assert not runners.is_conflict(caught.value)
    assert store.policies() == []


def test_a_removed_policy_leaves_its_attempts(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy())
    store.record_attempt(an_attempt())
    store.remove_policy("p-1", 0)
    assert store.policy("p-1") is None
    assert store.attempts_for_policy("p-1") == store.uncleaned_ephemeral_attempts() == [an_attempt()]


def test_an_update_that_confirms_the_active_count_needs_exactly_it(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy())
    store.record_attempt(an_attempt_in(AttemptState.BUSY, "busy"))
    store.record_attempt(an_attempt_in(AttemptState.ALLOCATED, "allocated", slot=1))
    store.record_attempt(an_attempt_in(AttemptState.FAILED, "failed"))
    store.record_attempt(an_attempt_in(AttemptState.CLEANED, "cleaned"))
    store.record_attempt(an_attempt_in(AttemptState.BUSY, "another's", policy_id="p-2"))
    changed = a_policy().set_max_capacity(9)
    for wrong in (0, 1, 3):
        with pytest.raises(runners.ActiveCountChanged) as caught:
            store.update_policy_confirming_active_count(changed, 0, wrong)
        assert (caught.value.id, caught.value.expected, caught.value.found) == ("p-1", wrong, 2)
        assert runners.is_conflict(caught.value)
    assert store.policy("p-1") == a_policy()
    store.update_policy_confirming_active_count(changed, 0, len(store.active_attempts_for_policy("p-1")))
    assert store.policy("p-1") == changed


def test_an_update_that_confirms_the_uncleaned_count_counts_what_is_not_cleaned_up(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy())
    store.record_attempt(an_attempt_in(AttemptState.BUSY, "busy"))
    store.record_attempt(an_attempt_in(AttemptState.FAILED, "failed", slot=1))
    store.record_attempt(an_attempt_in(AttemptState.CLEANED, "cleaned"))
    changed = a_policy().set_workspace_policy(WorkspaceMode.PERSISTENT, "/srv/work")
    with pytest.raises(runners.UncleanedCountChanged) as caught:
        store.update_policy_confirming_uncleaned_count(changed, 0, 1)
    fault = caught.value
    assert (fault.id, fault.expected, fault.found, fault.subject) == ("p-1", 1, 2, "policy 'p-1'")
    assert runners.is_conflict(fault)
    assert store.policy("p-1") == a_policy()
    store.update_policy_confirming_uncleaned_count(changed, 0, len(store.uncleaned_attempts_for_policy("p-1")))
    assert store.policy("p-1") == changed


def test_a_stale_revision_is_told_before_a_changed_count(store: runners.RunnerStore) -> None:
    store.insert_policy(a_policy(revision=3))
    store.record_attempt(an_attempt())
    with pytest.raises(runners.StaleRevision):
        store.update_policy_confirming_active_count(a_policy(), 0, 0)
    with pytest.raises(runners.StaleRevision):
        store.update_policy_confirming_uncleaned_count(a_policy(), 0, 0)


def test_exactly_five_faults_are_conflicts() -> None:
    faults = {name for name in dir(runners) if isinstance(getattr(runners, name), type)}
    conflicts = {name for name in faults if issubclass(getattr(runners, name), runners.CONFLICTS)}
    assert conflicts == {
        "StaleRevision",
        "ActiveCountChanged",
        "UncleanedCountChanged",
        "RunnerRootChanged",
        "SlotAlreadyLeased",
    }
