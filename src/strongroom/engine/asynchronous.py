"""Calls from asyncio: any store method off the event loop, with its types, safe to cancel (C4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

WORKERS: Final = 64
"""The most calls under way at once: as many as can share one flush."""


class Cancelled(asyncio.CancelledError):
    """The caller was cancelled after its call had begun; the call ran to its end all the same.

    `error` is what the call raised, or None: then all that it wrote is kept, and `result` is what it returned.
    """

    def __init__(self, *, result: object = None, error: BaseException | None = None) -> None:
        super().__init__(f"cancelled, but the call had begun and {'failed' if error else 'was carried out'}")
        self.result = result
        self.error = error


class Runner:
    """Runs calls in threads of its own, which are started when they are first needed."""

    def __init__(self, name: str, workers: int = WORKERS) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._name = name
        self._workers = workers

    async def run(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the call returns; raises what it raises, or `Cancelled`."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=f"strongroom-{self._name}")
        call: Future[T] = self._pool.submit(method, *args, **kwargs)
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            if call.cancel():
                raise  # it had not begun
            await _ended(call)
            error = call.exception()
            raise Cancelled(result=None if error else call.result(), error=error) from None

    def close(self) -> None:
        """Withdraw calls that have not begun, and wait for the others."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


async def _ended(call: Future[Any]) -> None:
    """Wait for the end of a call, however often the caller is cancelled meanwhile: its threads are not to be leaked."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    call.add_done_callback(lambda _call: loop.call_soon_threadsafe(ended.set))
    while not ended.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await ended.wait()
