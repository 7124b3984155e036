"""What the flows' tests have in common."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any, TypeVar

import pytest

from strongroom import Unavailable
from strongroom.domains.stovepipe import AcceptanceRange, RequestState, Storage

T = TypeVar("T")

QUEUE = "monorepo/main"


def before_first(monkeypatch: pytest.MonkeyPatch, store: Any, method: str, action: Callable[[], object]) -> None:
    """Let `action` come just before a flow's first call of the store's method, after all that the flow has read."""
    real = getattr(store, method)

    def call(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(store, method, real)
        action()
        return real(*args, **named)

    monkeypatch.setattr(store, method, call)


def refuse() -> None:
    """What an engine does that can't be reached."""
    raise Unavailable("the engine is away")


def end(storage: Storage, request_id: str, state: RequestState) -> None:
    """What a rival does: bring a request into another state, and log nothing."""
    request = storage.requests.get(request_id)
    storage.requests.update(request.replace(state=state), request.version, request.version + 1)


def slots(storage: Storage) -> tuple[int, tuple[str, ...]]:
    """How many slots are taken, and by which requests."""
    queue = storage.queues.get(QUEUE)
    return queue.in_flight_count, queue.slot_holders


def race(*calls: Callable[[], T]) -> list[T]:
    """What the calls return, made at the same moment by a thread each."""
    start = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(run, call) for call in calls]]


def acceptances(storage: Storage) -> list[tuple[int, str]]:
    """The times and ids in the list of acceptances, newest first."""
    wanted = AcceptanceRange(accepted_before_ms=2**53, limit=1000)
    return [(entry.accepted_at_ms, entry.request_id) for entry in storage.acceptances.list(wanted)]


def before_write(monkeypatch: pytest.MonkeyPatch, storage: Storage, number: int, action: Callable[[], object]) -> None:
    """Let `action` come just before the flow's write of that number, counted from 1, refused ones too."""
    writes = count(1)

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if next(writes) == number:
                action()
            return real(*args, **named)

        return call

    for method in ("insert", "update", "delete"):
        monkeypatch.setattr(storage.engine, method, watched(getattr(storage.engine, method)))
