"""Threads for cases: started together, waited for, and every outcome kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from strongroom.conformance.checks import Failed

T = TypeVar("T")

PATIENCE: Final = 45.0
"""Seconds after which a thread counts as stuck; less than a case's own time, so that its failure says more."""

MEETING: Final = 0.15
"""Seconds that one party waits for the other at a `Meeting`."""


@dataclass
class Ended(Generic[T]):
    """What came of a call: its result, or what it raised."""

    result: T | None = None
    error: BaseException | None = None

    def value(self) -> T:
        """The result; raises what the call raised."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class Started(Generic[T]):
    """A call under way in a thread of its own."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._ended: Ended[T] = Ended()
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the call has not ended."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait for the end no longer than that; whether it came."""
        self._thread.join(seconds)
        return not self.running

    def end(self, what: str = "a thread") -> Ended[T]:
        """What came of the call; fails if it does not end."""
        if not self.wait(PATIENCE):
            raise Failed(f"{what} did not end within {PATIENCE:.0f} s")
        return self._ended

    def _run(self) -> None:
        try:
            self._ended.result = self._call()
        except BaseException as error:
            self._ended.error = error


def together(calls: Iterable[Callable[[], T]], what: str = "a thread") -> list[Ended[T]]:
    """What came of calls that were let go at the same moment, each in its own thread."""
    listed = list(calls)
    gate = threading.Barrier(len(listed))

    def through(call: Callable[[], T]) -> Callable[[], T]:
        def run() -> T:
            gate.wait(PATIENCE)
            return call()

        return run

    started = [Started(through(call)) for call in listed]
    return [one.end(what) for one in started]


class Meeting:
    """A point at which two transactions meet, if the engine lets them get there at once.

    An engine that lets one wait for the other never brings them together: then the first goes on alone after
    `MEETING` seconds, and nobody waits here again. Either way is right; what they do afterwards shows who is not.
    """

    def __init__(self, parties: int = 2) -> None:
        self._barrier = threading.Barrier(parties)

    def meet(self) -> bool:
        """Wait for the others; whether they came."""
        try:
            self._barrier.wait(MEETING)
        except threading.BrokenBarrierError:
            return False
        return True


def errors_of(ended: Iterable[Ended[Any]]) -> list[BaseException]:
    """What the calls raised."""
    return [one.error for one in ended if one.error is not None]
