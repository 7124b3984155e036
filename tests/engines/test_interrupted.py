"""Real Ctrl-C, at random moments, thousands of times: in every call, beside threads that write."""

from __future__ import annotations

import gc
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from strongroom.conformance.threads import Started
from strongroom.engine import Engine, Transaction
from strongroom.engines.memory import MemoryEngine
from strongroom.engines.sqlite import SqliteEngine, SqliteMemoryEngine, SqliteOptions
from tests.engines.shelf import BOOKS, SHELF, Book

OPENERS: dict[str, Callable[[Path], Engine]] = {
    "memory": lambda _folder: MemoryEngine(),
    "sqlite": lambda folder: SqliteEngine(
        str(folder / "room.db"), SqliteOptions(synchronous="normal", wal_limit_mib=1)
    ),
    "sqlite in memory": lambda _folder: SqliteMemoryEngine(),
}
STRIKES = 1_500
AGAIN = 3.0
"""Seconds; long enough for the first strike to have been taken, whatever else the machine does."""
OTHERS = 3


def strike(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def insert_three(engine: Engine, title: str) -> None:
    def change(transaction: Transaction) -> None:
        for n in range(3):
            transaction.insert(BOOKS, Book(f"three {n}", title))

    engine.write(change)


def call_on(engine: Engine, first: int) -> None:
    """Call the engine until something strikes."""
    for n in range(first, first + 1_000_000):
        engine.insert(BOOKS, Book("one", str(n)))
        insert_three(engine, str(n))
        engine.get(BOOKS, "one", str(n))
        engine.scan(BOOKS, "other 1", limit=20)
        engine.read(lambda reader: reader.count(BOOKS, "three 0", limit=20))


def titles(engine: Engine, shelf: str) -> list[str]:
    found: list[str] = []
    while page := engine.scan(BOOKS, shelf, after=(found[-1],) if found else None, limit=1_000):
        found += [book.title for book in page]
    return found


@pytest.mark.slow
@pytest.mark.timeout(180, method="thread")  # the alarm is taken
@pytest.mark.parametrize("kind", OPENERS)
def test_interrupts_at_any_moment_leave_nothing_half_done_and_nobody_waiting(kind: str, tmp_path: Path) -> None:
    moments = random.Random(kind)
    stop = threading.Event()
    made: Counter[int] = Counter()

    def write(other: int) -> None:
        while not stop.is_set():
            engine.insert(BOOKS, Book(f"other {other}", str(made[other])))
            made[other] += 1

    with OPENERS[kind](tmp_path) as engine:
        engine.prepare(SHELF)
        others = [Started(lambda other=other: write(other)) for other in range(OTHERS)]  # type: ignore[misc]
        usual = signal.signal(signal.SIGALRM, strike)
        gc.disable()  # Others' callbacks and finalizers, where a strike is swallowed.
        try:
            for n in range(STRIKES):
                try:
                    # Again after a while, as what strikes in a finalizer is swallowed by the interpreter.
                    signal.setitimer(signal.ITIMER_REAL, moments.uniform(50e-6, 2e-3), AGAIN)
                    call_on(engine, n * 1_000_000)
                except KeyboardInterrupt:
                    continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, usual)
            gc.enable()
            stop.set()
        for other in others:
            other.end().value()
        for number in range(OTHERS):
            assert len(titles(engine, f"other {number}")) == made[number]
        assert titles(engine, "three 0") == titles(engine, "three 1") == titles(engine, "three 2")
        engine.insert(BOOKS, Book("one", "after"))
