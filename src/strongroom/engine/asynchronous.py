"""Calls from asyncio: any store method off the event loop, with its types, safe to cancel (C4).

The threads here do what a thread pool does, at a fraction of its cost: a call is one small object, and all calls that
end at about the same time (those of one commit group, say) wake the event loop once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from strongroom.errors import Closed

P = ParamSpec("P")
T = TypeVar("T")

WORKERS: Final = 64
"""The most calls under way at once: as many as can well share one flush."""


class Cancelled(asyncio.CancelledError):
    """The caller was cancelled after its call had begun; the call ran to its end all the same.

    `error` is what the call raised, or None: then all that it wrote is kept, and `result` is what it returned. It
    reaches whoever awaits the task itself; ``asyncio.gather`` makes a bare ``CancelledError`` of it.
    """

    def __init__(self, *, result: object = None, error: BaseException | None = None) -> None:
        super().__init__(f"cancelled, but the call had begun and {'failed' if error else 'was carried out'}")
        self.result = result
        self.error = error


class _Call:
    """One call, and what came of it."""

    __slots__ = ("_claimed", "delivered", "delivery", "error", "outbox", "result", "work")

    def __init__(self, work: Callable[[], object], outbox: _Outbox) -> None:
        self.work = work
        self.outbox = outbox
        self.delivered = False
        self.delivery: asyncio.Future[None] = outbox.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None
        self._claimed = threading.Lock()

    def claim(self) -> bool:
        """Whether this is the first claim: a worker's to begin the call, or its caller's to withdraw it."""
        return self._claimed.acquire(blocking=False)

    def run(self) -> None:
        """Make the call and send what came of it back to its event loop."""
        try:
            self.result = self.work()
        except BaseException as error:
            self.error = error
        self.outbox.put(self)


class _Outbox:
    """Ended calls on their way back to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ended: deque[_Call] = deque()
        self._lock = threading.Lock()
        self._woken = False

    def put(self, call: _Call) -> None:
        with self._lock:
            self._ended.append(call)
            wake, self._woken = not self._woken, True
        if wake:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, deque()
            self._woken = False
        for call in ended:
            call.delivered = True
            if not call.delivery.done():
                call.delivery.set_result(None)


class Runner:
    """Runs calls in threads of its own, which are started when they are first needed."""

    def __init__(self, name: str, workers: int = WORKERS) -> None:
        self._name = name
        self._workers = workers
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.Lock()
        self._closed = False
        self._outboxes: dict[asyncio.AbstractEventLoop, _Outbox] = {}

    async def run(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the call returns; raises what it raises, `Cancelled`, or `Closed` after `close`."""
        call = _Call(lambda: method(*args, **kwargs), self._outbox())
        self._start(call)
        try:
            await call.delivery
        except asyncio.CancelledError:
            if call.claim():
                raise  # it had not begun
            await _end_of(call)
            raise Cancelled(result=call.result, error=call.error) from None
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def close(self) -> None:
        """Withdraw calls that have not begun, and wait for the others. May be called again."""
        with self._lock:
            self._closed = True
        self._calls.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def is_inside(self) -> bool:
        """Whether the calling thread is one of those that make calls."""
        return threading.current_thread() in self._threads

    def _outbox(self) -> _Outbox:
        loop = asyncio.get_running_loop()
        outbox = self._outboxes.get(loop)
        if outbox is None:
            with self._lock:  # threads with event loops of their own may come here at once
                for ended in [other for other in self._outboxes if other.is_closed()]:
                    del self._outboxes[ended]
                outbox = self._outboxes[loop] = _Outbox(loop)
        return outbox

    def _start(self, call: _Call) -> None:
        with self._lock:
            if self._closed:
                raise Closed("the engine is closed")
            self._calls.put(call)
            if self._idle:
                self._idle -= 1
            elif len(self._threads) < self._workers:
                name = f"strongroom-{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            if call.claim():
                if self._closed:
                    call.work = _refuse
                call.run()
            del call  # a worker that waits holds on to nothing
            with self._lock:
                if self._calls.empty():
                    self._idle += 1
        self._calls.put(None)  # the end is everyone's


def _refuse() -> None:
    raise Closed("the engine was closed before the call began")


async def _end_of(call: _Call) -> None:
    """Wait for the end of a call, however often the caller is cancelled meanwhile: it leaves nothing behind."""
    while not call.delivered:
        call.delivery = call.outbox.loop.create_future()  # the last one was cancelled with the caller
        with contextlib.suppress(asyncio.CancelledError):
            await call.delivery
