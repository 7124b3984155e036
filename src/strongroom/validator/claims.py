"""Claims: each commit is validated by one process at a time, and by another one as soon as that process is gone.

A claim is one row under compare-and-set. Its holder renews it; one that is provably dead, or was not heard of for a
whole lease, loses it to whoever asks next, under the next attempt number. The old holder may still be alive then: it
finds out before it writes what it came to, and what it wrote before carries its own attempt.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from strongroom.engine import Engine
from strongroom.errors import AlreadyExists, InvalidArgument, StrongroomError, VersionMismatch
from strongroom.patterns import ScopedTable
from strongroom.validator.holders import Holder, is_gone
from strongroom.validator.records import CLAIMS, Claim

LEASE_MS: Final = 30_000
"""How long a holder that can't be looked at may be silent before it counts as dead: several missed heartbeats."""

BEAT_S: Final = 5.0
"""How often a holder is heard of."""


class ClaimLost(StrongroomError):
    """Another holder has taken the claim over: what this one came to is not to be recorded."""


class Hold:
    """A claim while it is this holder's. Safe to use from several threads."""

    def __init__(self, claims: Claims, claim: Claim) -> None:
        self._claims = claims
        self._claim = claim
        self._lock = threading.Lock()
        self.cancel = threading.Event()
        """Set when the work is to be stopped: by its owner, or because the claim was lost."""

    @property
    def uri(self) -> str:
        """The commit."""
        return self._claim.uri

    @property
    def attempt(self) -> int:
        """The fencing token: no other holder of the claim ever has the same."""
        return self._claim.attempt

    def renew(self) -> None:
        """Say that the holder is alive. Raises `ClaimLost`, and sets `cancel`, if the claim is another's by now."""
        with self._lock:
            self._change(self._claim.replace(heartbeat_at=self._claims.now()))

    def finish(self) -> None:
        """Mark the commit as recorded, for good; raises as `renew`."""
        with self._lock:
            self._change(self._claim.replace(recorded=True, holder="", heartbeat_at=self._claims.now()))

    def release(self) -> None:
        """Let another one claim the commit at once. A claim that is not this holder's any more is left as it is."""
        with self._lock:
            if self._claim.holder:
                try:
                    self._change(self._claim.replace(holder=""))
                except ClaimLost:
                    return

    def _change(self, changed: Claim) -> None:
        if not self._claim.holder:
            raise ClaimLost(f"{CLAIMS.show((changed.queue, changed.uri))} was given up")
        changed = changed.replace(version=self._claim.version + 1)
        try:
            self._claims.update(changed, expect=self._claim.version)
        except VersionMismatch as fault:
            self.cancel.set()
            raise ClaimLost(f"{CLAIMS.show((changed.queue, changed.uri))} is another holder's by now") from fault
        self._claim = changed


class Claims:
    """One holder's way to the claims of one queue. Safe to use from several threads."""

    def __init__(self, engine: Engine, queue: str, *, holder: Holder | None = None, lease_ms: int = LEASE_MS) -> None:
        """`engine` is prepared for the validator's schema. `InvalidArgument` for a lease that is not positive."""
        if lease_ms < 1:
            raise InvalidArgument("a lease lasts 1 ms or more")
        self._rows = ScopedTable(engine, CLAIMS, (queue,))
        self._queue = queue
        self._lease_ms = lease_ms
        self._holder = Holder.new() if holder is None else holder
        self._held: dict[str, Hold] = {}
        self._lock = threading.Lock()
        self.now = engine.now
        self.update = self._rows.update

    def find(self, uri: str) -> Claim | None:
        """The commit's claim as it is stored."""
        return self._rows.find(uri)

    def find_many(self, uris: list[str]) -> list[Claim | None]:
        """The claims of at most 10,000 commits, in their order."""
        return self._rows.get_many([(uri,) for uri in uris])

    def take(self, uri: str) -> Hold | None:
        """Claim the commit, also from a holder that is dead; None if it is recorded, or another's who is not."""
        known = self.find(uri)
        if known is None:
            claim = self._mine(Claim(self._queue, uri, 1, "", "", 0, "", 0))
            try:
                self._rows.insert(claim)
            except AlreadyExists:
                return None
        else:
            if known.recorded or not self.is_free(known):
                return None
            claim = self._mine(known.replace(attempt=known.attempt + 1, version=known.version + 1))
            try:
                self._rows.update(claim, expect=known.version)
            except VersionMismatch:
                return None
        hold = Hold(self, claim)
        with self._lock:
            self._held[uri] = hold
        return hold

    def is_free(self, claim: Claim) -> bool:
        """Whether nobody who may be alive is at work on the commit."""
        if not claim.holder:
            return True
        if is_gone(claim.host, claim.process, claim.process_start):
            return True
        return self.now() - claim.heartbeat_at > self._lease_ms

    def drop(self, hold: Hold) -> None:
        """Renew it no more, and release it unless it was finished or lost."""
        with self._lock:
            self._held.pop(hold.uri, None)
        hold.release()

    def holds(self) -> list[Hold]:
        """The claims that are held, or were when last heard of."""
        with self._lock:
            return list(self._held.values())

    @contextmanager
    def kept_alive(self, beat_s: float = BEAT_S) -> Iterator[None]:
        """Renew what is held every `beat_s` seconds, by a thread of its own, for as long as this lasts."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(beat_s):
                for hold in self.holds():
                    self._renew(hold)

        thread = threading.Thread(target=beat, name="strongroom-claims", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    @staticmethod
    def _renew(hold: Hold) -> None:
        try:
            hold.renew()
        except ClaimLost:
            return  # Its owner finds `cancel` set.
        except StrongroomError:
            return  # The engine is away: the next beat may reach it, and until then nobody else can take the claim.

    def _mine(self, claim: Claim) -> Claim:
        holder = self._holder
        return claim.replace(
            holder=holder.name,
            host=holder.host,
            process=holder.process,
            process_start=holder.process_start,
            heartbeat_at=self.now(),
        )
