"""Group commit: many callers' write functions in one database transaction, and one flush for all of them.

Every caller's job stands in one queue until it is done, and whoever stands first leads: he runs the front of the queue
as one group, takes it out, and wakes who stands first then. Everyone else sleeps until his own job is done, or he is
first. One caller alone is his own group: no other thread is involved.

Ctrl-C may strike between any two steps of this and must leave nobody asleep. So nothing is handed over that could be
lost on the way: who leads follows from the queue, every change of the queue is one operation of its list, and what is
done after a group may be done again from its beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from strongroom.errors import Closed

W = TypeVar("W")

_MOMENT = 20e-6
"""Seconds between two looks at whether the callers that are still to come have come."""

_PATIENCE = 0.1
"""How long a leader waits for them at most, as a share of what the last group took ..."""
_PATIENCE_ENDS = 0.005
"""... and in seconds: the last group may have waited for a server that did not answer."""

MAX_GROUP = 512
"""The most jobs in one group: what one caller may have to wait for, and what one fault makes run again."""


class Job(Generic[W]):
    """One caller's work, and what came of it. A runner sets `result`, or `error` which is then raised."""

    __slots__ = ("done", "error", "gate", "result", "work")

    def __init__(self, work: W) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        """Whether what came of it is final: whatever happens to its leader now, the job is not to be run again."""
        self.gate: SimpleQueue[None] | None = None
        """What the caller sleeps on, once he has to; waking him too often does no harm."""

    def wake(self) -> None:
        """Let the caller look again whether his job is done or first."""
        if self.gate is not None:
            self.gate.put(None)


class Committer(Generic[W]):
    """Runs jobs in groups, one group at a time.

    `run` gets the jobs of one group in the order in which they came, and sets each one's `result` or `error`. An
    exception that it raises itself (Ctrl-C, in practice) is the leading caller's: the others' jobs run again, but for
    those that it had marked as `done`.
    """

    def __init__(self, run: Callable[[Sequence[Job[W]]], None], *, max_group: int = MAX_GROUP) -> None:
        self._run = run
        self._max_group = max_group
        self._queue: list[Job[W]] = []
        self._closed = False
        self._emptied: SimpleQueue[None] = SimpleQueue()
        """What a closer sleeps on until the queue is empty."""
        self._last = 1
        """How many callers there were as the last group ended: its own, and those that waited."""
        self._took = 0.0
        """Seconds that it ran."""

    def submit(self, work: W) -> Any:
        """Have `work` run in a group; its result when that is committed. Its error is raised as the same object.

        Raises `Closed` after `close`.
        """
        job = Job(work)
        group: list[Job[W]] = []
        try:
            try:
                self._queue.append(job)
                if self._closed:  # looked at behind the append: a closer sees the one, or this sees the other
                    raise Closed("the engine is closed")
                if not self._is_first(job):
                    self._wait(job)
                if not job.done:
                    self._lead(group)
            finally:
                self._settle(job, group)
        except BaseException:
            self._settle(job, group)  # once more: Ctrl-C may have struck the first time
            raise
        if job.error is not None:
            raise job.error
        return job.result

    def close(self) -> None:
        """Refuse new work and wait until all that was taken is done. May be called again."""
        self._closed = True
        while self._queue:
            self._emptied.get()
        self._emptied.put(None)  # for whoever else closes

    def _is_first(self, job: Job[W]) -> bool:
        return self._queue[:1] == [job]  # a job that is done may be out of the queue, and that empty

    def _wait(self, job: Job[W]) -> None:
        job.gate = SimpleQueue()
        while not job.done and not self._is_first(job):
            job.gate.get()

    def _lead(self, group: list[Job[W]]) -> None:
        """Run the front of the queue, and name it in `group` before that."""
        if self._last > 1:
            self._gather()
        group += self._queue[: self._max_group]
        began = time.perf_counter()
        self._run(group)
        for member in group:
            member.done = True
        self._took = time.perf_counter() - began
        self._last = min(len(self._queue), self._max_group)

    def _gather(self) -> None:
        """Wait until as many callers are there as there were a moment ago, but not for long.

        They were all woken just now, and most are on their way back: without this, the first of them would flush for
        itself alone, every other time, and the others wait for that.
        """
        until = time.perf_counter() + min(_PATIENCE * self._took, _PATIENCE_ENDS)
        while len(self._queue) < self._last and time.perf_counter() < until:
            time.sleep(_MOMENT)

    def _settle(self, job: Job[W], group: list[Job[W]]) -> None:
        """Take `job` out of the queue, and what is done of the group that it led; wake whoever waits for that.

        May be done again from its beginning. A job that another one led to its end is that one's to take out.
        """
        if job.done and not group:
            return
        for member in group or [job]:
            if member.done or member is job:
                try:
                    self._queue.remove(member)
                except ValueError:
                    continue  # its caller was interrupted and took it out, or this was begun before
        # The next leader is woken first: it works while this group's callers wake.
        if first := self._queue[:1]:
            first[0].wake()
        elif self._closed:
            self._emptied.put(None)
        for member in group:
            if member.done and member is not job:
                member.wake()
