"""A crew: the threads of one process that work off a list of commits, and tell of it.

Each thread claims the oldest commit that is free. What it begins with is taken in behind all older commits of the
list, whoever works on those, so that the order of ingest is the order of history. Once only commits of others are
left, it waits for them to be put on record, or to become free.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.domains.stovepipe import Storage
from strongroom.domains.stovepipe.flows import ingest
from strongroom.validator.claims import ClaimLost, Claims, Hold
from strongroom.validator.pipeline import Interrupted, Pipeline, Validated, load
from strongroom.validator.repository import Commit, commit_uri

POLL_S: Final = 0.25
"""How long to wait before looking again at commits that others are at work on."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What there is to do, before any of it is begun."""

    pending: int
    skipped: int
    """How many of the commits are on record already."""


@dataclass(frozen=True, slots=True)
class Began:
    """This process has begun with a commit."""

    commit: Commit
    attempt: int


@dataclass(frozen=True, slots=True)
class Ended:
    """This process has ended its work on a commit."""

    commit: Commit
    validated: Validated | None
    """None where it was stopped, or lost its claim: then the commit is not on record through it."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another process has put a commit on record that was to be validated here."""

    validated: Validated


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread finds only commits that others are at work on."""

    count: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """The work is to be stopped: the running commands are being ended."""


Event = Planned | Began | Ended | Elsewhere | Waiting | Stopping
Watch = Callable[[Event], object]
"""Told of every event, in the thread that validates."""


class Crew:
    """Puts commits of one queue on record. `run` it once."""

    def __init__(
        self,
        storage: Storage,
        claims: Claims,
        pipeline: Pipeline,
        commits: Sequence[Commit],
        watch: Watch,
        stop: threading.Event,
    ) -> None:
        """When `stop` is set, the running commands are ended, and nothing more is begun with."""
        self._storage = storage
        self._claims = claims
        self._pipeline = pipeline
        self._watch: Watch = watch
        self._commits = {commit_uri(commit.id): commit for commit in commits}
        """Oldest first, all of them."""
        self._left = dict(self._commits)
        """Those that are not known to be on record."""
        self._ours: set[str] = set()
        self._requests: dict[str, str] = {}
        self._validated: dict[str, Validated] = {}
        self._elsewhere: dict[str, Validated] = {}
        self._faults: list[BaseException] = []
        self._choosing = threading.Lock()
        self._ingesting = threading.Lock()
        self._stopped = stop
        self._stopping = False
        self._over = 0
        """How many threads have told that they end."""
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()

    def run(self, jobs: int) -> bool:
        """Work with so many threads until all is on record: whether it was stopped before that.

        A KeyboardInterrupt stops it too. No thread is left when this ends, however it does. Raises the first fault
        that a thread or the watcher came to.
        """
        threads = [
            threading.Thread(target=self._work, name=f"strongroom-job-{number}", daemon=True)
            for number in range(1, min(jobs, len(self._left)) + 1)
        ]
        for thread in threads:
            thread.start()
        while True:
            try:
                self._follow(threads)
                break
            except KeyboardInterrupt:
                self._stopped.set()
            except Exception as fault:  # the watcher's
                self._stopped.set()
                self._faults.append(fault)
                self._watch = _ignore
        if self._faults:
            raise self._faults[0]
        return bool(self._left)

    @property
    def validated(self) -> tuple[Validated, ...]:
        """What this process put on record, oldest commit first."""
        return tuple(self._validated[uri] for uri in self._commits if uri in self._validated)

    @property
    def elsewhere(self) -> tuple[Validated, ...]:
        """What other processes put on record meanwhile, oldest commit first."""
        return tuple(self._elsewhere[uri] for uri in self._commits if uri in self._elsewhere)

    def _follow(self, threads: Sequence[threading.Thread]) -> None:
        """Hand on what the threads tell until all of them have ended."""
        while self._over < len(threads):
            self._heed_stop()
            # A KeyboardInterrupt may have come between the end of a thread and its being counted.
            gone = not any(thread.is_alive() for thread in threads)
            try:
                event = self._events.get(timeout=POLL_S)
            except queue.Empty:
                if gone:
                    return
                continue
            if event is None:
                self._over += 1
            else:
                self._watch(event)

    def _heed_stop(self) -> None:
        if self._stopped.is_set():
            holds = self._claims.holds()
            for hold in holds:
                hold.cancel.set()
            if holds and not self._stopping:
                self._stopping = True
                self._watch(Stopping())

    def _work(self) -> None:
        try:
            while (chosen := self._choose()) is not None:
                self._validate(*chosen)
        except BaseException as fault:  # it comes out of `run`
            self._faults.append(fault)
            self._stopped.set()
        finally:
            self._events.put(None)

    def _choose(self) -> tuple[Commit, Hold] | None:
        """The oldest commit that is free, now claimed; None if there is nothing to be done any more."""
        waiting = False
        while not self._stopped.is_set():
            with self._choosing:
                self._look_elsewhere()
                others = [uri for uri in self._left if uri not in self._ours]
                if not others:
                    return None
                for uri in others:
                    if (hold := self._claims.take(uri)) is not None:
                        self._ours.add(uri)
                        return self._left[uri], hold
            if not waiting:
                self._events.put(Waiting(len(others)))
                waiting = True
            self._stopped.wait(POLL_S)
        return None

    def _look_elsewhere(self) -> None:
        uris = [uri for uri in self._left if uri not in self._ours]
        for uri, claim in zip(uris, self._claims.find_many(uris), strict=True):
            if claim is not None and claim.recorded:
                request_id = self._storage.request_uris.get_id_by_uri(uri)
                found = load(self._storage, self._pipeline.runs, self._left.pop(uri), request_id)
                self._elsewhere[uri] = found
                self._events.put(Elsewhere(found))

    def _validate(self, commit: Commit, hold: Hold) -> None:
        self._events.put(Began(commit, hold.attempt))
        validated = None
        try:
            if self._stopped.is_set():
                return  # It was claimed too late to be told to stop.
            validated = self._pipeline.validate(commit, self._take_in(hold.uri), hold)
        except (Interrupted, ClaimLost):
            return  # The commit is for the next call, or for its new holder.
        finally:
            self._claims.drop(hold)
            with self._choosing:
                self._ours.discard(hold.uri)
                if validated is not None:
                    del self._left[hold.uri]
                    self._validated[hold.uri] = validated
            self._events.put(Ended(commit, validated))

    def _take_in(self, uri: str) -> str:
        """The id of the commit's request, taken in behind those of all older commits."""
        with self._ingesting:
            for older in self._commits:
                if older not in self._requests:
                    self._requests[older] = ingest(self._storage, older).request.id
                if older == uri:
                    break
            return self._requests[uri]


def _ignore(_event: Event) -> None:
    """What is told once the watcher has failed."""
