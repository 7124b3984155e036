"""Bounded retries with jitter: for conflicts between transactions, and for compare-and-set loops (T4)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from strongroom.errors import Conflict, StrongroomError, VersionMismatch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often to try, and how long to wait between: full jitter under a doubling, capped ceiling."""

    attempts: int = 16
    first_ms: float = 1.0
    cap_ms: float = 100.0

    def pause(self, attempt: int) -> float:
        """Seconds to wait after the failed attempt number `attempt` (from 0): random, so that rivals part."""
        return random.uniform(0, min(self.cap_ms, self.first_ms * 2**attempt)) / 1000


DEFAULT = Backoff()


def retry(
    call: Callable[[], T],
    *,
    on: type[StrongroomError] = VersionMismatch,
    backoff: Backoff = DEFAULT,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `call` returns, tried again after each fault of type `on`.

    Raises `Conflict`, with the last fault as its cause, when every attempt is used up; any other exception at once.
    """
    last: StrongroomError | None = None
    for attempt in range(backoff.attempts):
        try:
            return call()
        except on as fault:
            last = fault
            if attempt + 1 < backoff.attempts:
                sleep(backoff.pause(attempt))
    raise Conflict(f"others won {backoff.attempts} times in a row: {last}") from last
