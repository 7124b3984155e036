"""Validating a branch: the commits that are not on record yet, oldest first, shared with whoever else is at it.

Any number of processes may do the same in one store. Each claims the oldest commit that is free, takes it in behind
all older ones, and brings it to its end; when only commits of others are left it waits for them, or takes over from
those that die. Whatever stops a process, the same call goes on where it stood.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import NotFound, QueueLog, Storage, VersionMismatch
from strongroom.domains.stovepipe.flows import list_requests, set_enablement, settle_enablement
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument
from strongroom.records import MAX_INTEGER
from strongroom.validator.claims import BEAT_S, LEASE_MS, Claims
from strongroom.validator.crew import Crew, Planned, Watch
from strongroom.validator.history import History, commit_of
from strongroom.validator.pipeline import Pipeline, Validated, load
from strongroom.validator.recipe import Recipe, make_folder
from strongroom.validator.records import SCHEMA
from strongroom.validator.repository import Commit, Repository, commit_uri
from strongroom.validator.runs import Runs
from strongroom.validator.worktrees import Worktrees

MAX_COMMITS: Final = 10_000
"""The most commits that one call looks at."""

MAX_JOBS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to."""

    skipped: int
    """How many of the commits were on record before."""
    validated: tuple[Validated, ...]
    """What this process put on record, oldest commit first."""
    elsewhere: tuple[Validated, ...]
    """What others put on record meanwhile, oldest commit first."""
    last_green: str
    """The uri of the queue's last green commit, "" for none."""
    interrupted: bool
    """Whether it was stopped before everything was on record."""


class Trunk:
    """One queue's commits, validated by one recipe."""

    def __init__(
        self,
        engine: Engine,
        repository: Repository,
        queue: str,
        recipe: Recipe,
        *,
        jobs: int = 1,
        lease_ms: int = LEASE_MS,
        beat_s: float = BEAT_S,
    ) -> None:
        """Prepare the store of `engine` for the queue; nothing else is written yet.

        `jobs` (1 to `MAX_JOBS`) is how many commits are validated at once. Raises `InvalidArgument` for values out
        of range, and as `Engine.prepare`.
        """
        check_jobs(jobs)
        self.storage = stovepipe.open(engine).for_queue(queue)
        engine.prepare(SCHEMA)
        self.claims = Claims(engine, queue, lease_ms=lease_ms)
        self._repository = repository
        self._recipe = recipe
        self._jobs = jobs
        self._beat_s = beat_s

    def validate(
        self, commits: Sequence[Commit], watch: Watch = lambda event: None, *, stop: threading.Event | None = None
    ) -> Outcome:
        """Have every one of `commits` (at most `MAX_COMMITS`, oldest first) on record.

        Setting `stop`, or a KeyboardInterrupt, ends the running commands and leaves their commits to be validated
        by the next call; this one returns once they have ended. The queue is enabled from the first of the commits if
        it never was. Raises `InvalidArgument`, nothing written, for a queue that is disabled; `Unavailable` where a
        commit can't be checked out or a command's fate is not known; as the flows and `Worktrees`. Whatever is
        raised, what was recorded is, and the next call goes on from there.
        """
        if len(commits) > MAX_COMMITS:
            raise InvalidArgument(f"at most {MAX_COMMITS} commits are looked at in one call, not {len(commits)}")
        refuse_disabled(self.storage)
        pending = self._pending(commits)
        skipped = len(commits) - len(pending)
        watch(Planned(len(pending), skipped))
        if not pending:
            return Outcome(skipped, (), (), self._last_green(), False)
        make_folder(self._recipe.log_path(self.storage.queue, "log").parent)
        with Worktrees(self._repository) as worktrees:
            worktrees.prune_stale()
            enable(self.storage, commit_uri(pending[0].id))
            history = History(self._repository, full=self._recipe.full)
            pipeline = Pipeline(self.storage, history, worktrees, self._recipe)
            crew = Crew(self.storage, self.claims, pipeline, pending, watch, stop or threading.Event())
            with self.claims.kept_alive(self._beat_s):
                interrupted = crew.run(self._jobs)
        return Outcome(skipped, crew.validated, crew.elsewhere, self._last_green(), interrupted)

    def refuse_foreign(self) -> None:
        """Raises `InvalidArgument` if the newest commit that the queue took in is not in this repository.

        Only a queue that nobody named is to be asked: a rewritten branch may have lost that commit as well.
        """
        newest = list_requests(self.storage, accepted_before_ms=MAX_INTEGER, limit=1).summaries
        commit_id = commit_of(newest[0].uri) if newest else ""
        if commit_id and not self._repository.has(commit_id):
            raise InvalidArgument(
                f"the queue {self.storage.queue} holds commits of another repository; name a queue with --queue"
            )

    def find(self, commit: Commit) -> Validated | None:
        """What is on record of the commit; None if it is not, or not to its end."""
        uri = commit_uri(commit.id)
        claim = self.claims.find(uri)
        if claim is None or not claim.recorded:
            return None
        return load(self.storage, Runs(self.storage), commit, self.storage.request_uris.get_id_by_uri(uri))

    def _pending(self, commits: Sequence[Commit]) -> list[Commit]:
        claims = self.claims.find_many([commit_uri(commit.id) for commit in commits])
        return [commit for commit, claim in zip(commits, claims, strict=True) if claim is None or not claim.recorded]

    def _last_green(self) -> str:
        try:
            return self.storage.queues.get(self.storage.queue).last_green_uri
        except NotFound:
            return ""


def check_jobs(jobs: int) -> None:
    """Raises `InvalidArgument` for a number of jobs out of range."""
    if not 1 <= jobs <= MAX_JOBS:
        raise InvalidArgument(f"the number of jobs must be 1 to {MAX_JOBS}, not {jobs}")


def enablement(storage: Storage) -> QueueLog | None:
    """The last change of the queue's enablement, None before the first."""
    try:
        return storage.queue_log.latest()
    except NotFound:
        return None


def refuse_disabled(storage: Storage) -> None:
    """Raises `InvalidArgument` for a queue that was disabled."""
    last = enablement(storage)
    if last is not None and not last.enabled:
        why = f": {last.reason}" if last.reason else ""
        raise InvalidArgument(f"the queue {storage.queue} is disabled{why}; enable it, or name another with --queue")


def enable(storage: Storage, uri: str) -> None:
    """Enable the queue from the commit `uri` on, unless its enablement was ever decided."""
    if settle_enablement(storage) is None:
        try:
            set_enablement(storage, f"validate/{uri}", True, uri, "its first commit was validated", expected_sequence=0)
        except VersionMismatch:
            refuse_disabled(storage)  # Another process has just decided.
