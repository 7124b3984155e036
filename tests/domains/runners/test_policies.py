"""Scale policies as values: their shape, their state machine, and revisions that advance by one or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.domains.runners import (
    AlreadyAutoscale,
    AutoscaleWithoutMaxCapacity,
    AutoscaleWithoutRoutingLabels,
    EphemeralWithRoot,
    HostLabelNotRemovable,
    IllegalTransition,
    Invalid,
    InvalidPath,
    InvertedCapacityRange,
    MonitorOnlyWithMinCapacity,
    NotAutoscale,
    PersistentRequiresRepositoryScope,
    PersistentWithoutRoot,
    PolicyState,
    ScalePolicy,
    TargetScope,
    WorkspaceMode,
    routing_labels,
)
from strongroom.records import MAX_INTEGER
from tests.domains.runners.samples import a_monitor, a_policy

P = PolicyState

STEPS: dict[str, tuple[Callable[[ScalePolicy], ScalePolicy], set[PolicyState], PolicyState]] = {
    "activate": (lambda p: p.activate(), {P.PENDING}, P.ACTIVE),
    "request_disable": (lambda p: p.request_disable(), {P.ACTIVE}, P.DRAINING),
    "drain_completed": (lambda p: p.drain_completed(0), {P.DRAINING}, P.DISABLED),
    "authentication_failed": (
        lambda p: p.authentication_failed(),
        set(P) - {P.AUTHENTICATION_FAILED},
        P.AUTHENTICATION_FAILED,
    ),
    "reauthenticated": (lambda p: p.reauthenticated(), {P.AUTHENTICATION_FAILED}, P.PENDING),
    "repair_required": (lambda p: p.repair_required(), {P.PENDING}, P.REPAIR_REQUIRED),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", P)
def test_a_step_leads_where_the_state_machine_says_and_from_nowhere_else(name: str, state: PolicyState) -> None:
    step, sources, target = STEPS[name]
    policy = a_policy(state=state, revision=3)
    if state in sources:
        moved = step(policy)
        assert (moved.state, moved.revision) == (target, 4)
    else:
        with pytest.raises(IllegalTransition) as caught:
            step(policy)
        assert (caught.value.found, caught.value.to) == (state, target)


def test_what_the_operator_wants_follows_activation_and_disabling() -> None:
    active = a_policy().activate()
    assert active.enabled
    assert active.may_start_runners
    draining = active.request_disable()
    assert not draining.enabled
    assert not draining.may_start_runners


def test_a_drain_ends_only_when_nothing_remains() -> None:
    draining = a_policy(state=P.DRAINING, revision=5)
    assert draining.drain_completed(2) is draining
    assert draining.drain_completed(0).state is P.DISABLED
    with pytest.raises(IllegalTransition):
        a_policy(state=P.ACTIVE).drain_completed(2)


def test_runners_start_only_under_a_policy_that_scales_is_enabled_and_active() -> None:
    assert not a_monitor(state=P.ACTIVE, enabled=True).may_start_runners
    assert not a_policy(state=P.ACTIVE, enabled=False).may_start_runners
    assert not a_policy(state=P.PENDING, enabled=True).may_start_runners


def test_a_policy_that_scales_has_labels_and_a_maximum_and_one_that_monitors_has_neither() -> None:
    with pytest.raises(AutoscaleWithoutMaxCapacity):
        a_policy(max_capacity=None).checked()
    with pytest.raises(AutoscaleWithoutRoutingLabels):
        a_policy(routing_labels=None).checked()
    with pytest.raises(MonitorOnlyWithMinCapacity) as minimum:
        a_monitor(min_capacity=2).checked()
    assert minimum.value.min_capacity == 2
    with pytest.raises(InvertedCapacityRange) as inverted:
        a_policy(min_capacity=5).checked()
    assert (inverted.value.min_capacity, inverted.value.max_capacity) == (5, 4)


def test_a_policy_is_promoted_once() -> None:
    promoted = a_monitor().promote_to_autoscale(routing_labels("box"), 3, 1)
    assert (promoted.is_autoscale, promoted.min_capacity, promoted.max_capacity, promoted.revision) == (True, 1, 3, 1)
    with pytest.raises(AlreadyAutoscale):
        promoted.promote_to_autoscale(routing_labels("box"), 3)
    with pytest.raises(InvertedCapacityRange):
        a_monitor().promote_to_autoscale(routing_labels("box"), 3, 4)


def test_only_a_policy_that_scales_has_a_maximum_and_labels_to_change() -> None:
    with pytest.raises(NotAutoscale):
        a_monitor().set_max_capacity(3)
    with pytest.raises(NotAutoscale):
        a_monitor().add_routing_label("gpu")
    with pytest.raises(NotAutoscale):
        a_monitor().remove_routing_label("gpu")


def test_a_change_that_changes_nothing_leaves_the_revision_as_it_is() -> None:
    policy = a_policy(revision=7)
    assert policy.add_routing_label("GPU") is policy
    assert policy.remove_routing_label("tpu") is policy
    assert policy.set_max_capacity(4) is policy
    assert policy.set_workspace_policy(WorkspaceMode.EPHEMERAL) is policy
    assert policy.set_max_capacity(5).revision == 8


def test_the_last_revision_is_followed_by_itself() -> None:
    assert a_policy(revision=MAX_INTEGER).set_max_capacity(9).revision == MAX_INTEGER


def test_labels_are_kept_in_lower_case_and_once() -> None:
    labels = routing_labels("Build-Box_1", "GPU", "gpu", "build-box_1", "Ärmel")
    assert labels.all == ("build-box_1", "gpu", "Ärmel")
    assert a_policy().add_routing_label("Fast").routing_labels == routing_labels("box", "gpu", "fast")
    assert a_policy().remove_routing_label("GPU").routing_labels == routing_labels("box")
    with pytest.raises(HostLabelNotRemovable):
        a_policy().remove_routing_label("BOX")


@pytest.mark.parametrize("label", ["", "a,b", "a\nb", "\x9f", "x" * 257])
def test_what_no_label_can_be_is_refused(label: str) -> None:
    with pytest.raises(Invalid):
        a_policy().add_routing_label(label)
    assert routing_labels("box", "é" * 256).additional == ("é" * 256,)


@pytest.mark.parametrize("label", ["", "-box", "box-", "b ox", "b.ox", "böx", "x" * 65])
def test_what_no_host_label_can_be_is_refused(label: str) -> None:
    with pytest.raises(Invalid):
        routing_labels(label)
    assert routing_labels("x" * 64).host_label == "x" * 64


@pytest.mark.parametrize(
    ("scope", "slug"),
    [
        (TargetScope.ORGANIZATION, "acme/api"),
        (TargetScope.ORGANIZATION, "-acme"),
        (TargetScope.ORGANIZATION, "a" * 40),
        (TargetScope.REPOSITORY, "acme"),
        (TargetScope.REPOSITORY, "acme/"),
        (TargetScope.REPOSITORY, "acme/api/x"),
        (TargetScope.REPOSITORY, "acme/.."),
        (TargetScope.REPOSITORY, "acme/."),
        (TargetScope.REPOSITORY, "acme-/api"),
        (TargetScope.REPOSITORY, "acme/" + "a" * 101),
        (TargetScope.REPOSITORY, "acme/ä"),
    ],
)
def test_a_target_that_can_not_be_is_refused(scope: TargetScope, slug: str) -> None:
    with pytest.raises(Invalid, match="target_slug"):
        a_policy(target_scope=scope, target_slug=slug).checked()


@pytest.mark.parametrize("slug", ["a/b", "a" * 39 + "/" + "b" * 100, "acme/...", "acme/.github", "A-1/x_y.z"])
def test_a_target_at_its_limits_is_taken(slug: str) -> None:
    policy = a_policy(target_slug=slug)
    assert policy.checked() is policy


def test_a_workspace_is_ephemeral_without_a_path_or_a_repositorys_under_one() -> None:
    persistent = a_policy().set_workspace_policy(WorkspaceMode.PERSISTENT, "//srv//work/")
    assert (persistent.workspace_path, persistent.revision) == ("/srv/work", 1)
    assert persistent.set_workspace_policy(WorkspaceMode.PERSISTENT, "/srv/work") is persistent
    assert persistent.set_workspace_policy(WorkspaceMode.EPHEMERAL).workspace_path is None
    with pytest.raises(EphemeralWithRoot):
        a_policy().set_workspace_policy(WorkspaceMode.EPHEMERAL, "/srv/work")
    with pytest.raises(PersistentWithoutRoot):
        a_policy().set_workspace_policy(WorkspaceMode.PERSISTENT)
    with pytest.raises(PersistentRequiresRepositoryScope):
        a_monitor().set_workspace_policy(WorkspaceMode.PERSISTENT, "/srv/work")
    with pytest.raises(InvalidPath):
        a_policy().set_workspace_policy(WorkspaceMode.PERSISTENT, "work")
