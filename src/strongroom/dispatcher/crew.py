"""A crew: one thread that claims and finishes, in groups, and a thread for each command that runs.

It claims only what it can begin with at once, so that no run is held that could be another dispatcher's. What it can't
be sure of ends it: the runs that it still holds are then interrupted by the next restart, or taken over by others.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final, TypeVar

from strongroom.dispatcher.attempts import AttemptExists, Attempts
from strongroom.dispatcher.holds import TROUBLE, Heartbeat, Hold, Holds
from strongroom.dispatcher.jobs import NoCommand, command_of
from strongroom.dispatcher.performance import Terms, perform
from strongroom.domains.dispatch import (
    BITE,
    Claim,
    Conflict,
    Dispatcher,
    Ending,
    EndState,
    Outcome,
    Reads,
    Refused,
    Restarted,
    Workspace,
)
from strongroom.errors import CommitUnknown, InvalidArgument, StrongroomError

T = TypeVar("T")

Command = tuple[str, ...] | NoCommand
"""A command, or why there is none."""

MOST_JOBS: Final = 256
POLL_S: Final = 0.25
"""Seconds between two looks at a queue that is empty."""
PATIENCE_S: Final = 60.0
"""For how many seconds a store that can't be reached is asked again before the crew gives up."""


@dataclass(frozen=True, slots=True)
class Started:
    """The dispatcher has said that it starts."""

    restarted: Restarted


@dataclass(frozen=True, slots=True)
class Began:
    """A command was started."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Ended:
    """A run has ended, and its outcome is kept."""

    claim: Claim
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Lost:
    """A run was taken over by another dispatcher, or ended by its restart: what this one says of it is refused."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Left:
    """A command was stopped, and its run is left to be taken over when its lease is over."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Troubled:
    """The store can't be reached, or others have the better of it just now: it is asked again."""

    fault: StrongroomError


@dataclass(frozen=True, slots=True)
class Stopping:
    """Nothing more is claimed; so many commands still run."""

    running: int


Event = Started | Began | Ended | Lost | Left | Troubled | Stopping


@dataclass(frozen=True, slots=True)
class Orders:
    """What a crew is to do.

    Arguments:
        jobs: how many commands run at once, 1 to 256.
        drain: whether to end when nothing waits any more and, with leases, nothing runs anywhere.
        stop: when it is set, nothing more is claimed, and the crew ends with the last command.
        end: when it is set too, the commands that run are ended.
        version: what the journal is told of who starts.
        patience_s: for how many seconds a store that can't be reached is asked again.
    """

    jobs: int = 1
    drain: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    end: threading.Event = field(default_factory=threading.Event)
    version: str = ""
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= MOST_JOBS:
            raise InvalidArgument(f"the number of jobs must be 1 to {MOST_JOBS}, not {self.jobs}")


class Crew:
    """Works off the queue of a workspace. `run` it once."""

    def __init__(
        self,
        workspace: Workspace,
        dispatcher: Dispatcher,
        attempts: Attempts,
        terms: Terms,
        orders: Orders,
        watch: Callable[[Event], object],
    ) -> None:
        self._workspace = workspace
        self._dispatcher = dispatcher
        self._leased = dispatcher.lease_ms is not None
        self._attempts = attempts
        self._terms = terms
        self._orders = orders
        self._watch = watch
        self._holds = Holds(workspace, dispatcher)
        self._working: dict[Hold, threading.Thread] = {}
        self._performed: queue.SimpleQueue[tuple[Hold, Ending | BaseException]] = queue.SimpleQueue()
        self._faults: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
        self._commands: dict[str, Command] = {}
        self._more = True
        self._take_over_at = 0.0
        self._stopping = False

    def run(self) -> None:
        """Say that a dispatcher starts, work until told to stop or, if so ordered, nothing is left, and say so.

        No command is left when this ends, however it does. Raises `StoreHeld` where another dispatcher without leases
        is at work; `Refused` for another owner's workspace; `Unavailable`, `Conflict` or `CommitUnknown` of a store
        that was asked again for long enough; and whatever else it answers with, as then nothing is sure: all of
        these stop the claiming, end the commands, and leave their runs running.
        """
        with nullcontext() if self._leased else self._attempts.alone():
            self._watch(Started(self._patiently(lambda: self._dispatcher.restart(self._orders.version))))
            try:
                with Heartbeat(self._holds, self._faults.put):
                    self._work()
            finally:
                self._holds.cancel()
                for thread in self._working.values():
                    thread.join()
            self._patiently(self._dispatcher.stop)

    def _work(self) -> None:
        while True:
            self._finish(self._await())
            if not self._faults.empty():
                raise self._faults.get()
            if self._heed_stop():
                if not self._working:
                    return
                continue
            free = self._orders.jobs - len(self._working)
            if free:
                self._begin(free)
            if self._orders.drain and not self._working and not self._more and self._is_drained():
                return

    def _await(self) -> list[tuple[Hold, Ending]]:
        """What was performed by now; where there is nothing to be done but to wait, after waiting a little."""
        idle = len(self._working) == self._orders.jobs or not self._more or self._stopping
        found: list[tuple[Hold, Ending]] = []
        try:
            # Once one has ended, those that end at about the same time are finished with it.
            while len(found) < BITE:
                hold, ending = self._performed.get(timeout=POLL_S if idle and not found else 0)
                self._working.pop(hold).join()
                self._holds.drop(hold)
                if isinstance(ending, BaseException):
                    self._faults.put(ending)
                else:
                    found.append((hold, ending))
        except queue.Empty:
            pass
        return found

    def _heed_stop(self) -> bool:
        if self._orders.stop.is_set() and not self._stopping:
            self._stopping = True
            self._watch(Stopping(len(self._working)))
        if self._stopping and self._orders.end.is_set():
            self._holds.cancel()
        return self._stopping

    # Claiming

    def _begin(self, free: int) -> None:
        asked_at = time.monotonic()
        try:
            claims = self._claim(min(free, BITE))
        except TROUBLE as fault:
            # Of a claim whose fate is unknown nobody would know without a lease: what it may hold has to be found
            # by a restart.
            if isinstance(fault, CommitUnknown) and not self._leased:
                raise
            self._watch(Troubled(fault))
            self._patiently(lambda: self._workspace.read(lambda reads: reads.oldest_queued()))
            self._more = False
            return
        for claim in claims:
            command = self._command(claim)
            hold = self._holds.add(claim, asked_at)
            thread = threading.Thread(
                target=self._perform, args=(hold, command), name=f"strongroom-{claim.run}", daemon=True
            )
            thread.start()
            self._working[hold] = thread
            self._watch(Began(claim))

    def _claim(self, most: int) -> list[Claim]:
        taken: list[Claim] = []
        lease_ms = self._dispatcher.lease_ms
        if lease_ms is not None and time.monotonic() >= self._take_over_at:
            self._take_over_at = time.monotonic() + max(POLL_S, min(lease_ms / 4000, 5.0))
            if self._workspace.read(self._others_run):
                taken = self._dispatcher.take_over(most)
        if most == len(taken):
            return taken
        # To claim takes the way of writers, which a queue that was just empty is not worth.
        if not self._more and self._workspace.read(lambda reads: reads.oldest_queued()) is None:
            return taken
        try:
            claims = self._dispatcher.claim(most - len(taken))
        except TROUBLE as fault:
            if not taken or (isinstance(fault, CommitUnknown) and not self._leased):
                raise
            self._watch(Troubled(fault))
            claims = []
        self._more = len(claims) == most - len(taken)
        return taken + claims

    def _others_run(self, reads: Reads) -> bool:
        ours = {hold.claim.run for hold in self._working}
        return any(running.run not in ours for running in reads.running_runs())

    def _is_drained(self) -> bool:
        def read(reads: Reads) -> bool:
            # One that runs elsewhere may yet have to be taken over.
            return reads.oldest_queued() is None and not (self._leased and reads.running_runs(limit=1))

        return self._patiently(lambda: self._workspace.read(read))

    def _command(self, claim: Claim) -> Command:
        """The command of the claim's release, or why it has none. Releases never change: each is read once."""
        release = claim.running.release
        if release not in self._commands:
            kept = self._patiently(lambda: self._workspace.releases.get(release))
            try:
                self._commands[release] = command_of(kept)
            except NoCommand as fault:
                self._commands[release] = fault
        return self._commands[release]

    # Performing, each in a thread of its own

    def _perform(self, hold: Hold, command: Command) -> None:
        try:
            ending: Ending | BaseException = self._ending(hold, command)
        except BaseException as fault:  # it comes out of `run`
            ending = fault
        self._performed.put((hold, ending))

    def _ending(self, hold: Hold, command: Command) -> Ending:
        claim = hold.claim
        try:
            if isinstance(command, NoCommand):
                raise command
            attempt = self._attempts.begin(claim.run, claim.running.attempt, claim.input)
        except (NoCommand, AttemptExists) as refusal:
            return Ending(state=EndState.FAILED, problem=str(refusal), review=True)
        return perform(claim, command, attempt, self._terms, hold.cancel)

    # Finishing

    def _finish(self, performed: Sequence[tuple[Hold, Ending]]) -> None:
        said: list[tuple[Claim, Ending]] = []
        for hold, ending in performed:
            stopped = ending.state is EndState.INTERRUPTED
            if stopped and hold.lost:
                self._watch(Lost(hold.claim))
            elif stopped and self._leased:
                self._watch(Left(hold.claim))
            else:
                # Also where the lease is over: whether somebody else has the run by now is for the store to say.
                said.append((hold.claim, ending))
        if not said:
            return
        answers = self._patiently(lambda: self._dispatcher.finish_many(said))
        refusals = []
        for (claim, _), answer in zip(said, answers, strict=True):
            if isinstance(answer, Outcome):
                self._watch(Ended(claim, answer))
            elif isinstance(answer, Conflict):
                self._watch(Lost(claim))
            elif isinstance(answer, Refused):
                refusals.append(answer)
        if refusals:
            raise refusals[0]

    def _patiently(self, ask: Callable[[], T]) -> T:
        """The answer to something that may be asked twice. A store in trouble is asked again for a while."""
        deadline = time.monotonic() + self._orders.patience_s
        pause = POLL_S / 4
        while True:
            try:
                return ask()
            except TROUBLE as fault:
                if time.monotonic() >= deadline or self._orders.end.is_set():
                    raise
                self._watch(Troubled(fault))
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
