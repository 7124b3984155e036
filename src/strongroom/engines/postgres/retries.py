"""Bounded retries, for what may run again because nothing of it was kept (T4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from strongroom.engine import Backoff, Rivals, Stale
from strongroom.errors import Conflict, StrongroomError, Unavailable

T = TypeVar("T")

_BACKOFF: Final = Backoff()


def retried(call: Callable[[], T]) -> T:
    """What `call` returns, again after each conflict and each connection that was found broken.

    Raises `Conflict` when rivals won every retry, `Unavailable` when no connection held.
    """
    attempt = 0
    while True:
        try:
            return call()
        except (Rivals, Stale) as fault:
            attempt += 1
            if attempt >= _BACKOFF.attempts:
                raise _given_up(attempt, fault) from fault
        time.sleep(_BACKOFF.pause(attempt - 1))


def _given_up(times: int, last: StrongroomError) -> StrongroomError:
    if isinstance(last, Stale):
        return Unavailable(f"PostgreSQL: the connection broke {times} times in a row")
    return Conflict(f"others won {times} times in a row: {last}")
