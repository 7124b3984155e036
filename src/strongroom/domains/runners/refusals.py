"""What records refuse: values that can't be, shapes that contradict themselves, steps that no state machine has.

All of them are `Invalid`, and so `strongroom.InvalidArgument`: a record that shows one can't be written. One that is
found in a stored row is the `refusal` of the domain's `CorruptHost`, `CorruptPolicy`, `CorruptAttempt`.
"""

from __future__ import annotations

from strongroom.domains.runners.words import AttemptState, OutcomeKind, PolicyState
from strongroom.errors import InvalidArgument


class Invalid(InvalidArgument):
    """The base: a name, label or slug that can't be, or one of the classes below."""


class InvalidPath(Invalid):
    """The text is no local absolute path in normal form."""


class IllegalTransition(Invalid):
    """The state machine has no such edge."""

    def __init__(self, found: PolicyState | AttemptState, to: PolicyState | AttemptState) -> None:
        super().__init__(f"{found} can't become {to}")
        self.found = found
        self.to = to


# Hosts


class BlankName(Invalid):
    """A host's display name has nothing but spaces."""

    def __init__(self) -> None:
        super().__init__("display_name: expected text that is not blank, without spaces around it")


class BelowFloor(Invalid):
    """A host's refresh interval is shorter than the floor."""

    def __init__(self, minimum: int, actual: int) -> None:
        super().__init__(f"refresh_interval_secs: expected {minimum} or more, not {actual}")
        self.minimum = minimum
        self.actual = actual


# Policies


class AutoscaleWithoutMaxCapacity(Invalid):
    """Routing labels make a policy scale, and it says not how far."""

    def __init__(self) -> None:
        super().__init__("routing labels without max_capacity")


class AutoscaleWithoutRoutingLabels(Invalid):
    """A maximum makes a policy scale, and no job could find its runners."""

    def __init__(self) -> None:
        super().__init__("max_capacity without routing labels")


class MonitorOnlyWithMinCapacity(Invalid):
    """A policy that only monitors keeps no runners."""

    def __init__(self, min_capacity: int) -> None:
        super().__init__(f"a policy that only monitors has min_capacity 0, not {min_capacity}")
        self.min_capacity = min_capacity


class InvertedCapacityRange(Invalid):
    """The minimum is over the maximum."""

    def __init__(self, min_capacity: int, max_capacity: int) -> None:
        super().__init__(f"min_capacity {min_capacity} is over max_capacity {max_capacity}")
        self.min_capacity = min_capacity
        self.max_capacity = max_capacity


class NotAutoscale(Invalid):
    """Only a policy that scales has labels and a maximum to change."""

    def __init__(self) -> None:
        super().__init__("the policy only monitors: promote it first")


class AlreadyAutoscale(Invalid):
    """Only a policy that only monitors can be promoted."""

    def __init__(self) -> None:
        super().__init__("the policy scales already")


class HostLabelNotRemovable(Invalid):
    """The host's own label is what sends its jobs to it."""

    def __init__(self) -> None:
        super().__init__("the host label can't be removed")


class EphemeralWithRoot(Invalid):
    """Ephemeral workspaces lie under the host's runner root."""

    def __init__(self) -> None:
        super().__init__("an ephemeral workspace has no workspace_path")


class PersistentWithoutRoot(Invalid):
    """Persistent workspaces need a place of their own."""

    def __init__(self) -> None:
        super().__init__("a persistent workspace needs a workspace_path")


class PersistentRequiresRepositoryScope(Invalid):
    """What stays in a persistent workspace must not be met by another repository's jobs."""

    def __init__(self) -> None:
        super().__init__("only a repository's policy can have persistent workspaces")


# Attempts


class EphemeralWithSlot(Invalid):
    """Slots are for persistent workspaces."""

    def __init__(self) -> None:
        super().__init__("an ephemeral attempt has no workspace_slot")


class PersistentWithoutSlot(Invalid):
    """A persistent workspace is a slot."""

    def __init__(self) -> None:
        super().__init__("a persistent attempt needs a workspace_slot")


class SlotNotPositive(Invalid):
    """Slots are numbered from 1."""

    def __init__(self) -> None:
        super().__init__("workspace_slot: slots are numbered from 1")


class TerminalWithoutOutcome(Invalid):
    """An attempt has ended, and it is not told how."""

    def __init__(self, state: AttemptState) -> None:
        super().__init__(f"{state}, without an outcome")


class LiveWithOutcome(Invalid):
    """An attempt has an outcome, and has not ended."""

    def __init__(self, state: AttemptState) -> None:
        super().__init__(f"{state}, with an outcome")


class OutcomeOfAnotherState(Invalid):
    """The outcome leads to another state than the attempt is in."""

    def __init__(self, state: AttemptState, kind: OutcomeKind) -> None:
        super().__init__(f"{state}, with the outcome {kind}")


class ReasonMismatch(Invalid):
    """A failure has a reason, `other` a text, and nothing else has either."""

    def __init__(self) -> None:
        super().__init__("a failure has a reason, 'other' has a text, and nothing else has either")


class TerminalWithoutTime(Invalid):
    """An attempt has ended, and it is not told when."""

    def __init__(self, state: AttemptState) -> None:
        super().__init__(f"{state}, without terminal_at")


class LiveWithTerminalTime(Invalid):
    """An attempt has an end time, and has not ended."""

    def __init__(self, state: AttemptState) -> None:
        super().__init__(f"{state}, with terminal_at")


class OutcomeUnreachable(Invalid):
    """The outcome can't be had from the attempt's state."""

    def __init__(self, state: AttemptState, kind: OutcomeKind) -> None:
        super().__init__(f"the outcome {kind} can't be had from {state}")
        self.state = state
        self.kind = kind


class BusyCannotBeCleaned(Invalid):
    """A job is running in the attempt's directory."""

    def __init__(self) -> None:
        super().__init__("a busy attempt can't be cleaned: conclude it first")


# Authorization


class PolicyMismatch(Invalid):
    """The attempt is of another policy."""

    def __init__(self) -> None:
        super().__init__("the attempt belongs to another policy")


class ForeignHost(Invalid):
    """The policy is another host's."""

    def __init__(self) -> None:
        super().__init__("the policy belongs to another host")
