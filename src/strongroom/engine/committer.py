"""Group commit: many callers' write functions in one database transaction, and one flush for all of them.

A caller puts its job into the queue. If nobody is leading, it leads: it takes the whole queue and runs it as one
group. Everyone else sleeps until its own job is done, or until it is woken to lead. One caller alone is its own
group: no other thread is involved.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from strongroom.errors import Closed

W = TypeVar("W")

_MOMENT = 20e-6
"""Seconds that a leader sleeps while callers are still coming: enough for several of them, little beside a flush."""

MAX_GROUP = 512
"""The most jobs in one group: what one caller may have to wait for, and what one fault makes run again."""


class Job(Generic[W]):
    """One caller's work, and what came of it. A runner sets `result`, or `error` which is then raised."""

    __slots__ = ("_gate", "done", "error", "group", "leads", "ran", "result", "work")

    def __init__(self, work: W) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.group: list[Job[W]] = []
        """The jobs that this one leads, itself among them."""
        self.ran = False
        """Whether that group has been run."""
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        """Sleep until the job is done, or is to lead."""
        self._gate.acquire()

    def wake(self) -> None:
        """End the sleep; once more does no harm."""
        if self._gate.locked():
            self._gate.release()


class Committer(Generic[W]):
    """Runs jobs in groups, one group at a time.

    `run` gets the jobs of one group in the order in which they came, and sets each one's `result` or `error`. An
    exception that it raises itself (Ctrl-C, in practice) is the leading caller's: the others' jobs run again.
    """

    def __init__(self, run: Callable[[Sequence[Job[W]]], None], *, max_group: int = MAX_GROUP) -> None:
        self._run = run
        self._max_group = max_group
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._queue: deque[Job[W]] = deque()
        self._led = False
        self._closed = False
        self._last = 1
        """How many jobs the last group had."""

    def submit(self, work: W) -> Any:
        """Have `work` run in a group; its result when that is committed. Its error is raised as the same object.

        Raises `Closed` after `close`.
        """
        job = Job(work)
        try:
            with self._mutex:
                if self._closed:
                    raise Closed("the engine is closed")
                self._queue.append(job)
                if not self._led:
                    self._led = job.leads = True
            if not job.leads:
                job.wait()
            if not job.done:
                self._lead(job)
        except BaseException:
            self._withdraw(job)
            raise
        if job.error is not None:
            raise job.error
        return job.result

    def close(self) -> None:
        """Refuse new work and wait until all that was taken is done. May be called again."""
        with self._mutex:
            self._closed = True
            while self._led:
                self._idle.wait()

    def _lead(self, job: Job[W]) -> None:
        self._gather()
        with self._mutex:
            job.group = [self._queue.popleft() for _ in range(min(len(self._queue), self._max_group))]
        self._run(job.group)
        job.ran = True
        self._last = len(job.group)
        self._finish(job)

    def _gather(self) -> None:
        """Wait for as long as callers keep coming, up to as many as the last group had.

        They were all woken a moment ago, and most are on their way back: without this, the first of them would flush
        for itself alone, and the others wait for that. One caller alone never waits.
        """
        came = 0
        while came < len(self._queue) < self._last * 1.0:
            came = len(self._queue)
            time.sleep(_MOMENT)

    def _finish(self, job: Job[W]) -> None:
        """Pass the lead on and wake the group's callers; may be begun again where Ctrl-C stopped it."""
        for member in job.group:
            member.done = True
        with self._mutex:
            # The next leader is woken first: it works while this group's callers wake.
            if job.leads:
                job.leads = False
                self._pass_on()
        for member in job.group:
            if member is not job:
                member.wake()

    def _withdraw(self, job: Job[W]) -> None:
        """Take back a job whose caller was interrupted, so that nobody waits for it."""
        if job.ran:
            self._finish(job)
            return
        with self._mutex:
            if job in self._queue:
                self._queue.remove(job)
            if job.leads:
                again = [other for other in job.group if other is not job and not other.done]
                self._queue.extendleft(reversed(again))
                job.leads = False
                self._pass_on()
        for member in job.group:
            if member.done and member is not job:
                member.wake()

    def _pass_on(self) -> None:
        if self._queue:
            self._queue[0].leads = True
            self._queue[0].wake()
        else:
            self._led = False
            self._idle.notify_all()
