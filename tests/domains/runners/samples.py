"""Hosts, policies and attempts to test with, and attempts in every state."""

from __future__ import annotations

from typing import Any

from strongroom.domains import runners
from strongroom.domains.runners import (
    COMPLETED_JOB,
    ORPHANED,
    AttemptState,
    FailureReason,
    Host,
    Outcome,
    RunnerAttempt,
    ScalePolicy,
)

FLEET = "acme/fleet"
OTHER = "globex/fleet"
NOW = 1_700_000_000_000


def a_host(id: str = "h-1", **changes: Any) -> Host:
    made = Host.make(FLEET, id, "build box", os=runners.Os.LINUX, architecture=runners.Arch.X64, now=NOW)
    return made.replace(**changes)


def a_policy(id: str = "p-1", **changes: Any) -> ScalePolicy:
    """A repository's policy that scales, pending."""
    made = ScalePolicy.autoscale(
        FLEET,
        id,
        runners.TargetScope.REPOSITORY,
        "acme/api",
        installation_id=7,
        host_id="h-1",
        labels=runners.routing_labels("box", "gpu"),
        max_capacity=4,
    )
    return made.replace(**changes)


def a_monitor(id: str = "p-1", **changes: Any) -> ScalePolicy:
    """An organization's policy that only monitors, pending."""
    made = ScalePolicy.monitor_only(
        FLEET, id, runners.TargetScope.ORGANIZATION, "acme", installation_id=7, host_id="h-1"
    )
    return made.replace(**changes)


def an_attempt(id: str = "a-1", policy_id: str = "p-1", *, slot: int | None = None, now: int = NOW) -> RunnerAttempt:
    """An attempt that was allocated."""
    return RunnerAttempt.allocate(FLEET, id, policy_id, runtime_path=f"/srv/{id}", now=now, slot=slot)


def an_attempt_in(
    state: AttemptState, id: str = "a-1", policy_id: str = "p-1", *, slot: int | None = None, now: int = NOW
) -> RunnerAttempt:
    """An attempt that came into `state` by its state machine, one millisecond for each step."""
    allocated = an_attempt(id, policy_id, slot=slot, now=now)
    received = allocated.jit_received(now + 1)
    starting = received.started(4711, now + 2)
    idle = starting.registered_idle(815, now + 3)
    busy = idle.assigned_job(815, now + 4)
    finished = busy.conclude(COMPLETED_JOB, now + 5)
    return {
        AttemptState.ALLOCATED: allocated,
        AttemptState.JIT_RECEIVED: received,
        AttemptState.STARTING: starting,
        AttemptState.IDLE: idle,
        AttemptState.BUSY: busy,
        AttemptState.FINISHED: finished,
        AttemptState.FAILED: starting.conclude(Outcome.failed(FailureReason.JIT_EXPIRED), now + 5),
        AttemptState.ORPHANED: busy.conclude(ORPHANED, now + 5),
        AttemptState.CLEANED: finished.clean(now + 6),
    }[state]
