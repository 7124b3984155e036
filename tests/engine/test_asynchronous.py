"""C4: calls from asyncio, and what a cancelled caller leaves behind."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Iterator

import pytest

import strongroom
from strongroom import Cancelled
from strongroom.engine import Engine
from strongroom.errors import Closed


@pytest.fixture
def engine() -> Iterator[Engine]:
    with strongroom.open("memory://") as opened:
        yield opened


def test_a_call_returns_its_result_or_raises_its_own_exception(engine: Engine) -> None:
    fault = RuntimeError("mine")

    def fail() -> None:
        raise fault

    async def main() -> None:
        assert await engine.run(divmod, 7, 2) == (3, 1)
        with pytest.raises(RuntimeError) as caught:
            await engine.run(fail)
        assert caught.value is fault

    asyncio.run(main())


def test_a_call_runs_off_the_event_loop(engine: Engine) -> None:
    async def main() -> None:
        assert await engine.run(threading.get_ident) != threading.get_ident()

    asyncio.run(main())


def test_a_caller_cancelled_after_its_call_began_is_told_what_came_of_it(engine: Engine) -> None:
    begun, go = threading.Event(), threading.Event()

    def call() -> int:
        begun.set()
        assert go.wait(30)
        return 42

    async def main() -> None:
        task = asyncio.create_task(engine.run(call))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # an impatient caller
        asyncio.get_running_loop().call_later(0.01, go.set)
        with pytest.raises(Cancelled, match="was carried out") as caught:
            await task
        assert (caught.value.result, caught.value.error) == (42, None)
        assert task.cancelled()

    asyncio.run(main())


def test_a_caller_cancelled_after_its_call_began_is_told_of_its_failure(engine: Engine) -> None:
    begun, go = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        assert go.wait(30)
        raise RuntimeError("no")

    async def main() -> None:
        task = asyncio.create_task(engine.run(call))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, go.set)
        with pytest.raises(Cancelled, match="failed") as caught:
            await task
        assert isinstance(caught.value.error, RuntimeError)

    asyncio.run(main())


def test_a_call_withdrawn_before_it_began_never_runs(engine: Engine) -> None:
    go = threading.Event()
    ran: list[str] = []

    async def main() -> None:
        busy = [asyncio.create_task(engine.run(go.wait, 30)) for _ in range(64)]
        await asyncio.sleep(0)
        late = asyncio.create_task(engine.run(ran.append, "late"))
        await asyncio.sleep(0.01)
        late.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await late
        assert not isinstance(caught.value, Cancelled)
        go.set()
        await asyncio.gather(*busy)
        assert await engine.run(int) == 0

    asyncio.run(main())
    assert ran == []


def test_one_engine_serves_one_event_loop_after_another(engine: Engine) -> None:
    for _ in range(3):
        assert asyncio.run(engine.run(int)) == 0


def test_close_leaves_no_thread_and_refuses_later_calls() -> None:
    before = threading.active_count()
    engine = strongroom.open("memory://")

    async def main() -> None:
        await asyncio.gather(*[engine.run(int) for _ in range(100)])
        await asyncio.to_thread(engine.close)
        with pytest.raises(Closed):
            await engine.run(int)

    asyncio.run(main())
    assert threading.active_count() == before


def test_a_forked_child_is_refused_and_never_waits_for_its_parents_threads(engine: Engine) -> None:
    asyncio.run(engine.run(divmod, 7, 2))
    deadline = time.monotonic() + 30
    while not engine._runner._idle and time.monotonic() < deadline:
        time.sleep(0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is tried here
        child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(asyncio.wait_for(engine.run(divmod, 7, 2), 5))
        except Closed:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
