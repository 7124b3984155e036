"""Scale policies: which target a host serves, with how many runners. The state machine is made of pure functions.

A policy with routing labels and a maximum scales; one without either only monitors. Every change that changes something
is a new record whose revision is one higher, and a change that changes nothing is the same record: whoever wrote the
revision that a caller read is noticed by it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Self

import msgspec

from strongroom.domains.runners.hosts import FleetName, Id, Path
from strongroom.domains.runners.paths import is_normal, local_absolute_path
from strongroom.domains.runners.refusals import (
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
)
from strongroom.domains.runners.words import POLICY_EDGES, CachePolicy, PolicyState, TargetScope, WorkspaceMode
from strongroom.records import MAX_INTEGER, Identifier, Integer, Record

_LOGIN: Final = re.compile(r"(?!-)[A-Za-z0-9-]{1,39}(?<!-)", re.ASCII)
_REPOSITORY: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}", re.ASCII)
_HOST_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,64}(?<!-)", re.ASCII)
_NOT_IN_A_LABEL: Final = re.compile(r"[,\x00-\x1f\x7f-\x9f]")
_LABEL_CHARACTERS: Final = 256


class RoutingLabels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What sends jobs to a policy's runners: the host's own label, and others. `routing_labels` makes one."""

    host_label: str
    additional: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every label, the host's first."""
        return (self.host_label, *self.additional)


def host_label(text: str) -> str:
    """A host label in lower case; `Invalid` unless it is 1 to 64 of A-Z, 0-9, - and _, with no - at an end."""
    if not _HOST_LABEL.fullmatch(text):
        raise Invalid("expected a host label: 1 to 64 letters, digits, '-' and '_', no '-' at an end")
    return text.lower()


def routing_labels(host: str, *additional: str) -> RoutingLabels:
    """The host's label and others, all in lower case, each once.

    Raises `Invalid` for a host label that can't be, and for others unless they are 1 to 256 characters without commas
    and control characters.
    """
    own = host_label(host)
    others = dict.fromkeys(_label(label) for label in additional)
    return RoutingLabels(own, tuple(label for label in others if label != own))


def check_target(scope: TargetScope, slug: str) -> None:
    """Raises `Invalid` unless the slug is ``owner/name`` for a repository and a login for an organization."""
    owner, slash, name = slug.partition("/")
    if not _LOGIN.fullmatch(owner):
        raise Invalid("target_slug: a login is 1 to 39 letters, digits and '-', no '-' at an end")
    if scope is TargetScope.ORGANIZATION and slash:
        raise Invalid("target_slug: an organization has no '/'")
    if scope is TargetScope.REPOSITORY and not _REPOSITORY.fullmatch(name):
        raise Invalid("target_slug: expected owner/name, the name 1 to 100 letters, digits and '-', '_', '.'")


class ScalePolicy(Record):
    """How one host serves one target. Make one with `monitor_only` or `autoscale`; every method gives a new record."""

    fleet: FleetName
    id: Id
    target_scope: TargetScope
    target_slug: Annotated[str, Identifier(140)]
    installation_id: Annotated[int, Integer(0)]
    host_id: Id
    requested_host_label: Annotated[str, Identifier(64)]
    routing_labels: RoutingLabels | None
    min_capacity: Annotated[int, Integer(0, 65_535)]
    max_capacity: Annotated[int, Integer(1, 65_535)] | None
    enabled: bool
    """What the operator wants, whatever `state` says."""
    state: PolicyState
    cache_policy: CachePolicy
    workspace_mode: WorkspaceMode
    workspace_path: Path | None
    revision: Annotated[int, Integer(0)]

    @classmethod
    def monitor_only(
        cls,
        fleet: str,
        id: str,
        target_scope: TargetScope,
        target_slug: str,
        *,
        installation_id: int,
        host_id: str,
        requested_host_label: str = "host",
        cache_policy: CachePolicy = CachePolicy.RETAIN_RUNNER_PACKAGE,
    ) -> Self:
        """A new policy that only watches its target: pending, not enabled, revision 0. `Invalid` for its texts."""
        return cls(
            fleet,
            id,
            target_scope,
            target_slug,
            installation_id,
            host_id,
            host_label(requested_host_label),
            None,
            0,
            None,
            False,
            PolicyState.PENDING,
            cache_policy,
            WorkspaceMode.EPHEMERAL,
            None,
            0,
        ).checked()

    @classmethod
    def autoscale(
        cls,
        fleet: str,
        id: str,
        target_scope: TargetScope,
        target_slug: str,
        *,
        installation_id: int,
        host_id: str,
        labels: RoutingLabels,
        max_capacity: int,
        min_capacity: int = 0,
        cache_policy: CachePolicy = CachePolicy.RETAIN_RUNNER_PACKAGE,
    ) -> Self:
        """A new policy that scales between two capacities: pending, not enabled, revision 0.

        Raises `Invalid` for its texts, `InvertedCapacityRange`.
        """
        made = cls.monitor_only(
            fleet,
            id,
            target_scope,
            target_slug,
            installation_id=installation_id,
            host_id=host_id,
            requested_host_label=labels.host_label,
            cache_policy=cache_policy,
        )
        return made.replace(routing_labels=labels, min_capacity=min_capacity, max_capacity=max_capacity).checked()

    def checked(self) -> Self:
        """The policy itself; raises what is wrong with it: see `policy_refusal`."""
        if (refusal := policy_refusal(self)) is not None:
            raise refusal
        return self

    @property
    def is_autoscale(self) -> bool:
        """Whether the policy scales; else it only monitors."""
        return self.routing_labels is not None

    @property
    def may_start_runners(self) -> bool:
        """Whether a runner may be started for it now."""
        return self.is_autoscale and self.enabled and self.state is PolicyState.ACTIVE

    # The state machine.

    def activate(self) -> Self:
        """From pending to active, and enabled. `IllegalTransition` from elsewhere: it is not idempotent."""
        return self._to(PolicyState.ACTIVE, enabled=True)

    def request_disable(self) -> Self:
        """From active to draining, and not enabled. `IllegalTransition` from elsewhere."""
        return self._to(PolicyState.DRAINING, enabled=False)

    def drain_completed(self, remaining: int) -> Self:
        """From draining to disabled when no attempt remains; the policy as it is while some do.

        Raises `IllegalTransition` unless it is draining.
        """
        if self.state is PolicyState.DRAINING and remaining > 0:
            return self
        return self._to(PolicyState.DISABLED)

    def authentication_failed(self) -> Self:
        """To authentication_failed, from every other state. `IllegalTransition` if it is there."""
        return self._to(PolicyState.AUTHENTICATION_FAILED)

    def reauthenticated(self) -> Self:
        """From authentication_failed to pending. `IllegalTransition` from elsewhere."""
        return self._to(PolicyState.PENDING)

    def repair_required(self) -> Self:
        """From pending to repair_required. `IllegalTransition` from elsewhere."""
        return self._to(PolicyState.REPAIR_REQUIRED)

    # What an operator sets.

    def promote_to_autoscale(self, labels: RoutingLabels, max_capacity: int, min_capacity: int = 0) -> Self:
        """Let a policy scale that only monitors. Raises `AlreadyAutoscale`, `InvertedCapacityRange`."""
        if self.is_autoscale:
            raise AlreadyAutoscale
        return self._changed(routing_labels=labels, max_capacity=max_capacity, min_capacity=min_capacity)

    def set_max_capacity(self, max_capacity: int) -> Self:
        """Set the most runners, 1 to 65,535. Raises `NotAutoscale`, `InvertedCapacityRange`."""
        self._labels()
        return self._changed(max_capacity=max_capacity)

    def add_routing_label(self, label: str) -> Self:
        """Add a label; the policy as it is if it has it. Raises `NotAutoscale`, `Invalid` for what is no label."""
        labels = self._labels()
        return self._changed(routing_labels=routing_labels(*labels.all, label))

    def remove_routing_label(self, label: str) -> Self:
        """Take a label away; the policy as it is without it. Raises `NotAutoscale`, `HostLabelNotRemovable`."""
        labels, gone = self._labels(), label.lower()
        if gone == labels.host_label:
            raise HostLabelNotRemovable
        kept = [one for one in labels.additional if one != gone]
        return self._changed(routing_labels=routing_labels(labels.host_label, *kept))

    def set_workspace_policy(self, mode: WorkspaceMode, path: str | None = None) -> Self:
        """Set where jobs run: ephemeral without a path, or persistent under one. The policy as it is if it does.

        Raises `EphemeralWithRoot`, `PersistentWithoutRoot`, `PersistentRequiresRepositoryScope`, `InvalidPath`.
        """
        return self._changed(workspace_mode=mode, workspace_path=path if path is None else local_absolute_path(path))

    def _labels(self) -> RoutingLabels:
        if self.routing_labels is None:
            raise NotAutoscale
        return self.routing_labels

    def _to(self, state: PolicyState, **changes: Any) -> Self:
        if state not in POLICY_EDGES[self.state]:
            raise IllegalTransition(self.state, state)
        return self._changed(state=state, **changes)

    def _changed(self, **changes: Any) -> Self:
        changed = self.replace(**changes)
        if changed == self:
            return self
        return changed.replace(revision=min(self.revision + 1, MAX_INTEGER)).checked()


def policy_refusal(policy: ScalePolicy) -> Invalid | None:
    """What is wrong with a policy whose columns are each in their limits; None if nothing is."""
    return _text_refusal(policy) or _shape_refusal(policy) or _workspace_refusal(policy)


def _text_refusal(policy: ScalePolicy) -> Invalid | None:
    labels = policy.routing_labels
    try:
        check_target(policy.target_scope, policy.target_slug)
        if host_label(policy.requested_host_label) != policy.requested_host_label:
            return Invalid("requested_host_label: expected lower case")
        if labels is not None and routing_labels(*labels.all) != labels:
            return Invalid("routing_labels: expected lower case, each label once")
    except Invalid as refusal:
        return refusal
    return None


def _shape_refusal(policy: ScalePolicy) -> Invalid | None:
    low, high = policy.min_capacity, policy.max_capacity
    if high is None:
        if policy.routing_labels is not None:
            return AutoscaleWithoutMaxCapacity()
        return MonitorOnlyWithMinCapacity(low) if low else None
    if policy.routing_labels is None:
        return AutoscaleWithoutRoutingLabels()
    return InvertedCapacityRange(low, high) if low > high else None


def _workspace_refusal(policy: ScalePolicy) -> Invalid | None:
    path = policy.workspace_path
    if policy.workspace_mode is WorkspaceMode.EPHEMERAL:
        return None if path is None else EphemeralWithRoot()
    if path is None:
        return PersistentWithoutRoot()
    if policy.target_scope is not TargetScope.REPOSITORY:
        return PersistentRequiresRepositoryScope()
    return None if is_normal(path) else InvalidPath("workspace_path: expected a local absolute path in normal form")


def _label(text: str) -> str:
    if not 1 <= len(text) <= _LABEL_CHARACTERS or _NOT_IN_A_LABEL.search(text):
        raise Invalid(f"a label is 1 to {_LABEL_CHARACTERS} characters, without commas and control characters")
    # Only ASCII letters: others have lower cases of other lengths, which the forge does not merge.
    return text.translate(_LOWER)


_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
