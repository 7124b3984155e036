"""The claims that a dispatcher is working on, and the heartbeat that keeps them, or notices that one is lost.

With leases each claim is renewed well before it ends; one whose lease is over by this process' own clock counts as
lost, as others may have it by then. Without leases the heartbeat only looks whether the claims still stand.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from strongroom.domains.dispatch import Claim, Conflict, Dispatcher, Reads, Workspace
from strongroom.errors import CommitUnknown, StrongroomError, Unavailable
from strongroom.errors import Conflict as Contended

TROUBLE: Final = (Unavailable, Contended, CommitUnknown)
"""Faults of a store that may have got over them when it is asked again."""
LOOK_S: Final = 2.0
"""Seconds between two looks at claims that have no lease."""
_BEATS: Final = 3
"""How many times a lease is renewed before it would end, so that one renewal may fail."""


@dataclass(slots=True, eq=False)
class Hold:
    """A claim in this process' hands."""

    claim: Claim
    until: float
    """When its lease is over, by `time.monotonic`; at the latest, as it was measured from before the call."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """Set to end its command."""
    lost: bool = False
    """Whether it is somebody else's by now, or may be."""

    def lose(self) -> None:
        """End its command: what comes of it is not for this process to say any more."""
        self.lost = True
        self.cancel.set()


class Holds:
    """The claims of one dispatcher. `beat` is called by one thread, the rest by any."""

    def __init__(self, workspace: Workspace, dispatcher: Dispatcher) -> None:
        self._workspace = workspace
        self._dispatcher = dispatcher
        self._lock = threading.Lock()
        self._holds: dict[str, Hold] = {}
        lease_ms = dispatcher.lease_ms
        self._lease_s = None if lease_ms is None else lease_ms / 1000
        self.interval_s = LOOK_S if self._lease_s is None else self._lease_s / _BEATS
        """Seconds between two beats."""

    def add(self, claim: Claim, claimed_at: float) -> Hold:
        """Take a claim that was asked for at `claimed_at`, by `time.monotonic`."""
        hold = Hold(claim, claimed_at + (self._lease_s or 0))
        with self._lock:
            self._holds[claim.run] = hold
        return hold

    def drop(self, hold: Hold) -> None:
        """Look after a claim no more: its command has ended."""
        with self._lock:
            if self._holds.get(hold.claim.run) is hold:
                del self._holds[hold.claim.run]

    def all(self) -> list[Hold]:
        """Those that are being worked on."""
        with self._lock:
            return list(self._holds.values())

    def cancel(self) -> int:
        """End the commands of all of them: how many there are."""
        holds = self.all()
        for hold in holds:
            hold.cancel.set()
        return len(holds)

    def beat(self) -> None:
        """Renew every claim, or look whether it stands; one that is lost is let go.

        A store that can't be reached is no fault while the leases last. Raises any other fault that it answers with.
        """
        holds = [hold for hold in self.all() if not hold.lost]
        if self._lease_s is None:
            self._look(holds)
        else:
            for hold in holds:
                self._renew(hold, self._lease_s)

    def _renew(self, hold: Hold, lease_s: float) -> None:
        began = time.monotonic()
        try:
            hold.claim = self._dispatcher.renew(hold.claim)
            hold.until = began + lease_s
        except Conflict:
            # It may have been finished, rather than lost, since the list was made.
            self._lose(hold)
        except TROUBLE:
            if time.monotonic() >= hold.until:
                self._lose(hold)

    def _look(self, holds: list[Hold]) -> None:
        def stand(reads: Reads) -> list[bool]:
            found = [reads.running_run(hold.claim.running.number) for hold in holds]
            return [
                running is not None and running.token == hold.claim.token
                for running, hold in zip(found, holds, strict=True)
            ]

        if not holds:
            return
        try:
            standing = self._workspace.read(stand)
        except TROUBLE:
            return
        for hold, stands in zip(holds, standing, strict=True):
            if not stands:
                self._lose(hold)

    def _lose(self, hold: Hold) -> None:
        with self._lock:
            held = self._holds.get(hold.claim.run) is hold
        if held:
            hold.lose()


class Heartbeat:
    """A thread that beats while it is entered. What goes wrong is told by `failed`, once, and ends it."""

    def __init__(self, holds: Holds, failed: Callable[[BaseException], object]) -> None:
        self._holds = holds
        self._failed = failed
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="strongroom-heartbeat", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(self._holds.interval_s):
            try:
                self._holds.beat()
            except StrongroomError as fault:
                self._failed(fault)
                return
