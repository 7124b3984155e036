"""What the comparisons with peers share: the peer itself, its flush setting, and one caller or eight."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

from bench.measure import Goal, Line, at_least
from bench.missing import Missing
from bench.peers.places import FILES, Place, check_flush
from bench.workshop import Case, Work, Workshop, alone

GROUP: Final = FILES.group

THREADS: Final = 8

GOAL: Final = at_least(2)

LOCK_TIMEOUT: Final = 60
"""Seconds that a peer's connection waits for another's write: no benchmark is to fail for being slow."""


def peer(module: str) -> Any:
    """A peer's module; `Missing` where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as fault:
        raise Missing(f"{module} is not installed: bin/bench installs it") from fault


def against(
    shop: Workshop,
    name: str,
    bench: str,
    ours: Work,
    theirs: Work,
    flush: str,
    *,
    place: Place = FILES,
    group: str = "",
    goal: Goal = GOAL,
) -> Iterator[Line]:
    """The lines of one job, ours and a peer's: with one caller, and with eight threads."""
    details: dict[str, Any] = {"peer_is": f"{name} {version(name)}", "peer_flush": flush}
    bench += place.suffix
    group = group or place.group
    yield shop.compare(group, bench, alone(ours), alone(theirs), goal, "peer", threads=1, **details)
    crew = shop.crew(THREADS)
    sides = crew.side(ours), crew.side(theirs)
    yield shop.compare(group, f"{bench}, {THREADS} threads", *sides, goal, "peer", threads=THREADS, **details)


__all__ = [
    "FILES",
    "GROUP",
    "LOCK_TIMEOUT",
    "THREADS",
    "Case",
    "Missing",
    "Place",
    "Work",
    "Workshop",
    "against",
    "check_flush",
    "peer",
]
