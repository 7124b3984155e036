"""The words of runners: systems, modes and states, spelled as they are stored, and what each state means.

A state machine is a table of edges here; `policies` and `attempts` walk it. Whatever asks which attempts count for
something asks a state's properties, never a list of its own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Os(StrEnum):
    """A host's operating system."""

    WINDOWS = "windows"
    MAC_OS = "mac_os"
    LINUX = "linux"

    @property
    def display(self) -> str:
        """The word that runner packages use for it."""
        return {Os.WINDOWS: "win", Os.MAC_OS: "osx", Os.LINUX: "linux"}[self]


class Arch(StrEnum):
    """A host's processor."""

    X64 = "x64"
    ARM64 = "arm64"
    ARM32 = "arm32"

    @property
    def display(self) -> str:
        """The word that runner packages use for it."""
        return "arm" if self is Arch.ARM32 else self.value


class StartMode(StrEnum):
    """When a host's service starts."""

    BOOT = "boot"
    LOGIN = "login"


class CachePolicy(StrEnum):
    """What becomes of a downloaded runner package."""

    RETAIN_RUNNER_PACKAGE = "retain_runner_package"
    DISCARD_RUNNER_PACKAGE = "discard_runner_package"


class TargetScope(StrEnum):
    """What a policy's runners serve."""

    REPOSITORY = "repository"
    ORGANIZATION = "organization"


class WorkspaceMode(StrEnum):
    """Whether a job's directory is thrown away, or stays in a slot for the next one."""

    EPHEMERAL = "ephemeral"
    PERSISTENT = "persistent"


class PolicyState(StrEnum):
    """Where a policy's lifecycle was seen to be. What the operator wants is another field (`enabled`)."""

    PENDING = "pending"
    ACTIVE = "active"
    DRAINING = "draining"
    DISABLED = "disabled"
    REPAIR_REQUIRED = "repair_required"
    AUTHENTICATION_FAILED = "authentication_failed"


class Standing(StrEnum):
    """What an attempt still holds. The rows that fences count are kept under these words."""

    ACTIVE = "active"
    """A slot of the host's capacity, and its directory."""
    CONCLUDED = "concluded"
    """Its directory, and its slot lease if it has one: the cleanup is not done, or has failed."""
    CLEANED = "cleaned"
    """Nothing."""


class AttemptState(StrEnum):
    """Where one attempt to run a job stands."""

    ALLOCATED = "allocated"
    JIT_RECEIVED = "jit_received"
    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    FINISHED = "finished"
    FAILED = "failed"
    ORPHANED = "orphaned"
    CLEANED = "cleaned"

    @property
    def is_terminal(self) -> bool:
        """Whether the attempt has an outcome."""
        return self in (AttemptState.FINISHED, AttemptState.FAILED, AttemptState.ORPHANED, AttemptState.CLEANED)

    @property
    def counts_against_capacity(self) -> bool:
        """Whether the attempt takes up a slot of the host's capacity: every state that is not terminal."""
        return not self.is_terminal

    @property
    def is_uncleaned(self) -> bool:
        """Whether the attempt still owns a directory: every state but the last."""
        return self is not AttemptState.CLEANED

    @property
    def standing(self) -> Standing:
        """The three kinds of states that anybody counts."""
        if self.counts_against_capacity:
            return Standing.ACTIVE
        return Standing.CONCLUDED if self.is_uncleaned else Standing.CLEANED


class OutcomeKind(StrEnum):
    """How an attempt ended."""

    COMPLETED_JOB = "completed_job"
    EXITED_IDLE_WITHOUT_WORK = "exited_idle_without_work"
    """No failure: there was nothing to do."""
    FAILED = "failed"
    ORPHANED = "orphaned"

    @property
    def state(self) -> AttemptState:
        """The state that an attempt with this outcome comes into."""
        return _STATES[self]


class FailureReason(StrEnum):
    """Why an attempt failed."""

    JIT_REQUEST_FAILED = "jit_request_failed"
    JIT_EXPIRED = "jit_expired"
    RUNNER_PACKAGE_UNVERIFIED = "runner_package_unverified"
    RUNNER_VERSION_REJECTED = "runner_version_rejected"
    PROCESS_START_FAILED = "process_start_failed"
    PROCESS_EXITED_UNEXPECTEDLY = "process_exited_unexpectedly"
    REGISTRATION_TIMED_OUT = "registration_timed_out"
    TERMINATED_AFTER_REGISTRATION_TIMEOUT = "terminated_after_registration_timeout"
    OTHER = "other"
    """Something else, told in a text that is never shown."""


_STATES: Final = {
    OutcomeKind.COMPLETED_JOB: AttemptState.FINISHED,
    OutcomeKind.EXITED_IDLE_WITHOUT_WORK: AttemptState.FINISHED,
    OutcomeKind.FAILED: AttemptState.FAILED,
    OutcomeKind.ORPHANED: AttemptState.ORPHANED,
}

_P, _A = PolicyState, AttemptState

POLICY_EDGES: Final[dict[PolicyState, frozenset[PolicyState]]] = {
    _P.PENDING: frozenset({_P.ACTIVE, _P.REPAIR_REQUIRED, _P.AUTHENTICATION_FAILED}),
    _P.ACTIVE: frozenset({_P.DRAINING, _P.AUTHENTICATION_FAILED}),
    _P.DRAINING: frozenset({_P.DISABLED, _P.AUTHENTICATION_FAILED}),
    _P.DISABLED: frozenset({_P.AUTHENTICATION_FAILED}),
    _P.REPAIR_REQUIRED: frozenset({_P.AUTHENTICATION_FAILED}),
    _P.AUTHENTICATION_FAILED: frozenset({_P.PENDING}),
}
"""Where a policy may go from each state; none leads to itself."""

ATTEMPT_EDGES: Final[dict[AttemptState, frozenset[AttemptState]]] = {
    _A.ALLOCATED: frozenset({_A.JIT_RECEIVED, _A.FAILED, _A.ORPHANED}),
    _A.JIT_RECEIVED: frozenset({_A.STARTING, _A.FAILED, _A.ORPHANED}),
    _A.STARTING: frozenset({_A.IDLE, _A.BUSY, _A.FAILED, _A.ORPHANED}),
    _A.IDLE: frozenset({_A.BUSY, _A.FINISHED, _A.FAILED, _A.ORPHANED}),
    _A.BUSY: frozenset({_A.FINISHED, _A.FAILED, _A.ORPHANED}),
    _A.FINISHED: frozenset({_A.CLEANED}),
    _A.FAILED: frozenset({_A.CLEANED}),
    _A.ORPHANED: frozenset({_A.CLEANED}),
    _A.CLEANED: frozenset(),
}
"""Where an attempt may go from each state; none leads to itself, and nothing leads out of the last."""
