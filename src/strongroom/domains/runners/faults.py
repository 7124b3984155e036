"""The faults of the runners store: what a caller catches, told apart from every other domain's faults of the same kind.

Exactly five say that what the caller saw is no longer so (`is_conflict`): nothing was written; read again and decide
again. Each carries what was `expected` and what was `found`. What is wrong with the engine keeps its own name.
"""

from __future__ import annotations

from typing import Final

from strongroom import errors
from strongroom.domains.runners.refusals import Invalid
from strongroom.errors import clip

# The five conflicts.


class StaleRevision(errors.VersionMismatch):
    """The stored policy has another revision than the caller read."""

    def __init__(self, id: str, expected: int, found: int) -> None:
        super().__init__(f"policy {clip(id)} has revision {found}, not {expected}")
        self.id = id
        self.expected = expected
        self.found = found


class ActiveCountChanged(errors.VersionMismatch):
    """The policy has another number of active attempts than the caller saw."""

    def __init__(self, id: str, expected: int, found: int) -> None:
        super().__init__(f"policy {clip(id)} has {found} active attempts, not {expected}")
        self.id = id
        self.expected = expected
        self.found = found


class UncleanedCountChanged(errors.VersionMismatch):
    """`subject`, a policy or a host, has another number of uncleaned attempts than the caller saw."""

    def __init__(self, what: str, id: str, expected: int, found: int) -> None:
        self.subject = f"{what} {clip(id)}"
        super().__init__(f"{self.subject} has {found} uncleaned attempts, not {expected}")
        self.id = id
        self.expected = expected
        self.found = found


class RunnerRootChanged(errors.VersionMismatch):
    """The host has another runner root than the caller read; None is the system's default."""

    def __init__(self, id: str, expected: str | None, found: str | None) -> None:
        super().__init__(f"host {clip(id)} has the runner root {_root(found)}, not {_root(expected)}")
        self.id = id
        self.expected = expected
        self.found = found


class SlotAlreadyLeased(errors.AlreadyExists):
    """Another attempt that is not cleaned holds the slot: `found` is its id, `expected` that of the one refused."""

    def __init__(self, policy_id: str, slot: int, expected: str, found: str) -> None:
        super().__init__(f"slot {slot} of policy {clip(policy_id)} is held by attempt {clip(found)}")
        self.policy_id = policy_id
        self.slot = slot
        self.expected = expected
        self.found = found


CONFLICTS: Final = (StaleRevision, ActiveCountChanged, UncleanedCountChanged, RunnerRootChanged, SlotAlreadyLeased)


def is_conflict(fault: BaseException) -> bool:
    """Whether the fault says that what the caller saw is no longer so: true of the five `CONFLICTS` alone."""
    return isinstance(fault, CONFLICTS)


# What is not there, or is there already.


class NotFound(errors.NotFound):
    """There is no such host or policy (`what`), so that nothing was written."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"there is no {what} {clip(id)}")
        self.what = what
        self.id = id


class AlreadyExists(errors.AlreadyExists):
    """There is such a policy or attempt (`what`) already, and it was left untouched."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"{what} {clip(id)} exists already")
        self.what = what
        self.id = id


class NoFreeSlot(errors.StrongroomError):
    """Every slot that the policy may use is leased. Retryable: a cleaned attempt frees its slot."""

    retryable = True

    def __init__(self, policy_id: str, slots: int) -> None:
        super().__init__(f"all {slots} slots of policy {clip(policy_id)} are leased")
        self.policy_id = policy_id
        self.slots = slots


# What no column can hold.


class UnrepresentableInteger(errors.InvalidArgument):
    """An integer beyond 63 bits for the column `what`, as ``table.column``. It is refused, never cut."""

    def __init__(self, what: str, value: int) -> None:
        super().__init__(f"{what}: expected an integer of 63 bits")
        self.what = what
        self.value = value


class UnrepresentablePath(errors.InvalidArgument):
    """The attempt's path is no UTF-8 text: what would be kept is not the directory that its cleanup must delete."""

    def __init__(self, attempt_id: str) -> None:
        super().__init__(f"attempt {clip(attempt_id)}: runtime_path: expected a path of UTF-8 text")
        self.attempt_id = attempt_id


# What is stored and can't be (R4). `refusal` is what the domain has against the record, None where its seal is broken.


class CorruptRow(errors.Corrupt):
    """The base: a row of this domain that is not what was written, or is no record of its kind."""

    def __init__(self, found: errors.Corrupt, refusal: Invalid | None = None) -> None:
        super().__init__(str(found), table=found.table, key=found.key, column=found.column)
        self.refusal = refusal


class CorruptColumn(CorruptRow):
    """One column holds what it can't: an unknown word, a number out of range, nothing where something must be."""


class CorruptHost(CorruptRow):
    """Each column is right, and they are no host together."""


class CorruptHostWorkspace(CorruptRow):
    """The host's runner root is no local absolute path of its system."""


class CorruptPolicy(CorruptRow):
    """Each column is right, and they are no policy together."""


class CorruptAttempt(CorruptRow):
    """Each column is right, and they are no attempt together."""


def _root(path: str | None) -> str:
    return "that is the system's default" if path is None else clip(path)
