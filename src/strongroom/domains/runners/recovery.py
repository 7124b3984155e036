"""Recovery: what becomes of an attempt that an agent finds in the journal when it starts. Pure functions.

An agent reads every attempt, looks at its process and at the forge, and asks `decide`. It starts nothing new before all
of them are decided. Nothing that can't be undone is decided while the forge can't be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from strongroom.domains.runners.attempts import EXITED_IDLE, ORPHANED, Outcome, RunnerAttempt
from strongroom.domains.runners.policies import ScalePolicy
from strongroom.domains.runners.refusals import ForeignHost, PolicyMismatch
from strongroom.domains.runners.words import AttemptState, FailureReason


class Forge(Enum):
    """What the forge says of an attempt's runner."""

    UNREACHABLE = auto()
    NOT_REGISTERED = auto()
    IDLE = auto()
    """Registered, and no job runs on it."""
    BUSY = auto()
    """Registered, and a job runs on it."""

    @property
    def is_registered(self) -> bool:
        """Whether the forge knows the runner."""
        return self in (Forge.IDLE, Forge.BUSY)


@dataclass(frozen=True, slots=True)
class Observation:
    """What an agent sees of an attempt from outside."""

    process_alive: bool
    forge: Forge


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long an attempt may stay in a state, in milliseconds."""

    jit_handoff_ms: int = 120_000
    startup_ms: int = 300_000
    idle_ms: int = 300_000


class Action(Enum):
    """What an agent does with an attempt."""

    NOTHING = auto()
    """It is cleaned: history."""
    CLEAN = auto()
    """It has ended: remove its directory, then record it as cleaned."""
    DEFER = auto()
    """The forge can't be reached: ask again later, and destroy nothing."""
    WAIT = auto()
    """Nothing is wrong yet: ask again later."""
    ADOPT = auto()
    """Its process runs and may go on: take it over."""
    OBSERVE = auto()
    """It has come further than the journal knows: record the `state`, and ask again."""
    CONCLUDE = auto()
    """It is over: record the `outcome`."""
    TERMINATE = auto()
    """Stop its process, make sure that it is gone, and only then record the `outcome`: till then it holds capacity."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do. `state` comes with `OBSERVE`, `outcome` with `CONCLUDE` and `TERMINATE`."""

    action: Action
    state: AttemptState | None = None
    outcome: Outcome | None = None


_NOTHING: Final = Decision(Action.NOTHING)
_CLEAN: Final = Decision(Action.CLEAN)
_DEFER: Final = Decision(Action.DEFER)
_WAIT: Final = Decision(Action.WAIT)
_ADOPT: Final = Decision(Action.ADOPT)


def decide(attempt: RunnerAttempt, seen: Observation, now: int, timeouts: Timeouts = Timeouts()) -> Decision:
    """What to do with an attempt at the time `now`, in Unix milliseconds.

    How long it has been in its state is counted from `last_state_change_at`, and is nothing where that lies ahead.
    """
    if attempt.state.is_terminal:
        return _CLEAN if attempt.state.is_uncleaned else _NOTHING
    if seen.forge is Forge.UNREACHABLE:
        return _DEFER
    elapsed = now - attempt.last_state_change_at
    match attempt.state:
        case AttemptState.STARTING:
            return _starting(seen, elapsed >= timeouts.startup_ms)
        case AttemptState.IDLE:
            return _idle(seen, elapsed >= timeouts.idle_ms)
        case AttemptState.BUSY:
            return _ADOPT if seen.process_alive else _conclude(ORPHANED)
        case state:
            return _handing_over(state, seen, elapsed >= timeouts.jit_handoff_ms)


def authorize(host_id: str, policy: ScalePolicy, attempt: RunnerAttempt) -> None:
    """Let an agent touch an attempt only for its own host.

    Raises `PolicyMismatch` if the attempt is not of the policy, `ForeignHost` if the policy is not of the host.
    """
    if (attempt.fleet, attempt.policy_id) != (policy.fleet, policy.id):
        raise PolicyMismatch
    if policy.host_id != host_id:
        raise ForeignHost


def _handing_over(state: AttemptState, seen: Observation, late: bool) -> Decision:
    """Allocated or jit_received: no process was started yet, as far as the journal knows."""
    if seen.process_alive:
        return _ADOPT
    received = state is AttemptState.JIT_RECEIVED
    if seen.forge.is_registered:
        return _observe(AttemptState.STARTING if received else AttemptState.JIT_RECEIVED)
    if not late:
        return _WAIT
    return _conclude_failed(FailureReason.JIT_EXPIRED if received else FailureReason.JIT_REQUEST_FAILED)


def _starting(seen: Observation, late: bool) -> Decision:
    if seen.forge.is_registered:
        return _observe(AttemptState.BUSY if seen.forge is Forge.BUSY else AttemptState.IDLE)
    if not seen.process_alive:
        return _conclude_failed(FailureReason.PROCESS_EXITED_UNEXPECTEDLY)
    return _terminate(Outcome.failed(FailureReason.REGISTRATION_TIMED_OUT)) if late else _ADOPT


def _idle(seen: Observation, late: bool) -> Decision:
    if seen.forge is Forge.BUSY:
        return _observe(AttemptState.BUSY)
    if seen.forge is Forge.IDLE:
        if not seen.process_alive:
            return _conclude(ORPHANED)
        return _terminate(EXITED_IDLE) if late else _ADOPT
    if seen.process_alive:
        return _ADOPT
    return _conclude(EXITED_IDLE) if late else _conclude_failed(FailureReason.PROCESS_EXITED_UNEXPECTEDLY)


def _observe(state: AttemptState) -> Decision:
    return Decision(Action.OBSERVE, state=state)


def _conclude(outcome: Outcome) -> Decision:
    return Decision(Action.CONCLUDE, outcome=outcome)


def _conclude_failed(reason: FailureReason) -> Decision:
    return _conclude(Outcome.failed(reason))


def _terminate(outcome: Outcome) -> Decision:
    return Decision(Action.TERMINATE, outcome=outcome)
