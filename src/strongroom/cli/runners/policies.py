"""Scale policies as commands name, make and change them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strongroom import operations
from strongroom.cli.runners.fences import Remaining
from strongroom.domains.runners import (
    CachePolicy,
    NotFound,
    PolicyState,
    ScalePolicy,
    TargetScope,
    WorkspaceMode,
    routing_labels,
)
from strongroom.domains.runners.tables import POLICIES
from strongroom.errors import AlreadyExists, InvalidArgument, clip


def found_policy(policies: Sequence[ScalePolicy], target: str, host_id: str | None = None) -> ScalePolicy:
    """The policy of that id, or for that target, whose letters' case the forge ignores.

    Arguments:
        host_id: the host whose policy it is, where several serve one target.

    Raises `NotFound`, and `InvalidArgument` where several policies are for the target.
    """
    for policy in policies:
        if policy.id == target:
            return policy
    slug = target.casefold()
    found = [
        policy for policy in policies if policy.target_slug.casefold() == slug and host_id in (None, policy.host_id)
    ]
    if not found:
        raise NotFound("policy", target)
    if len(found) > 1:
        ids = ", ".join(f"{clip(policy.id)} of host {clip(policy.host_id)}" for policy in found)
        raise InvalidArgument(f"several policies are for {clip(target)}: {ids}; name one by its id")
    return found[0]


def new_policy(
    fleet: str,
    id: str,
    slug: str,
    *,
    installation_id: int,
    host_id: str,
    host_label: str,
    labels: Sequence[str],
    min_capacity: int,
    max_capacity: int | None,
    cache_policy: CachePolicy,
) -> ScalePolicy:
    """A new policy for a repository: it scales if it has a maximum, else it only monitors.

    Raises `Invalid` for its texts, and for labels or a minimum without a maximum.
    """
    watching = ScalePolicy.monitor_only(
        fleet,
        id,
        TargetScope.REPOSITORY,
        slug,
        installation_id=installation_id,
        host_id=host_id,
        requested_host_label=host_label,
        cache_policy=cache_policy,
    )
    scales = max_capacity is not None or labels
    return watching.replace(
        routing_labels=routing_labels(host_label, *labels) if scales else None,
        min_capacity=min_capacity,
        max_capacity=max_capacity,
    ).checked()


def refuse_second(policies: Sequence[ScalePolicy], new: ScalePolicy) -> None:
    """Raises `AlreadyExists` if the host of a new policy serves its target already."""
    for policy in policies:
        if (policy.host_id, policy.target_slug.casefold()) == (new.host_id, new.target_slug.casefold()):
            raise AlreadyExists(f"policy {clip(policy.id)} of host {clip(policy.host_id)} is for {policy.target_slug}")


def scaled(
    policy: ScalePolicy, max_capacity: int, min_capacity: int | None = None, labels: Sequence[str] = ()
) -> ScalePolicy:
    """A policy with another maximum and more labels; one that only monitors begins to scale.

    Arguments:
        min_capacity: only where it begins to scale, or the one that it has; None for that, or for 0.

    Raises `InvertedCapacityRange`, `Invalid` for a label, `InvalidArgument` for another minimum.
    """
    if not policy.is_autoscale:
        begun = routing_labels(policy.requested_host_label, *labels)
        return policy.promote_to_autoscale(begun, max_capacity, min_capacity or 0)
    if min_capacity not in (None, policy.min_capacity):
        raise InvalidArgument(
            f"the policy keeps the minimum that it began to scale with, {policy.min_capacity}; "
            "remove it and add it again for another"
        )
    changed = policy.set_max_capacity(max_capacity)
    for label in labels:
        changed = changed.add_routing_label(label)
    return changed


def policy_object(policy: ScalePolicy, remaining: Remaining) -> dict[str, Any]:
    """A policy as JSON answers have it: its columns, and its attempts that are not cleaned."""
    return operations.shown_record(POLICIES, policy) | {
        "active": remaining.active,
        "cleanup_blocked": remaining.cleanup_blocked,
    }


def scale(policy: ScalePolicy) -> str:
    """How far a policy scales, in a few characters."""
    return "monitors" if policy.max_capacity is None else f"{policy.min_capacity} to {policy.max_capacity}"


def standing(policy: ScalePolicy) -> str:
    """A policy's state; what the operator wants beside it where the two differ."""
    wanted = policy.state is PolicyState.ACTIVE
    if policy.enabled is wanted:
        return policy.state.value
    return f"{policy.state} ({'enabled' if policy.enabled else 'not enabled'})"


def workspace(policy: ScalePolicy) -> str:
    """Where a policy's jobs run, as its column says it."""
    return str(policy.workspace_path) if policy.workspace_mode is WorkspaceMode.PERSISTENT else "ephemeral"
