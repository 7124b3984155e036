"""What the comparisons with peers share: the peer itself, its flush setting, and one caller or eight."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, Final

from bench.measure import Line, at_least
from bench.missing import Missing
from bench.workshop import Case, Work, Workshop, alone

GROUP: Final = "peers"

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


def check_flush(name: str, read: Callable[[str], Any]) -> str:
    """What a peer's own connection says of its flush: always FULL and WAL, else the comparison would be none.

    `read` answers the one value that a statement asks the peer's connection for.
    """
    synchronous, journal = read("PRAGMA synchronous"), read("PRAGMA journal_mode")
    said = f"synchronous={synchronous} journal_mode={journal}"
    if (int(synchronous), str(journal).lower()) != (2, "wal"):
        raise AssertionError(f"{name} was to flush every commit to its WAL: {said}")
    print(f"bench: {name} {version(name)}: {said}, SQLite {read('SELECT sqlite_version()')}", file=sys.stderr)
    return said


def against(
    shop: Workshop, name: str, bench: str, ours: Work, theirs: Work, flush: str, *, threads: bool = True
) -> Iterator[Line]:
    """The lines of one job, ours and a peer's: with one caller, and with eight threads."""
    details: dict[str, Any] = {"peer_is": f"{name} {version(name)}", "peer_flush": flush}
    yield shop.compare(GROUP, bench, alone(ours), alone(theirs), GOAL, "peer", threads=1, **details)
    if threads:
        crew = shop.crew(THREADS)
        bench = f"{bench}, {THREADS} threads"
        sides = crew.side(ours), crew.side(theirs)
        yield shop.compare(GROUP, bench, *sides, GOAL, "peer", threads=THREADS, **details)


__all__ = [
    "GROUP",
    "LOCK_TIMEOUT",
    "THREADS",
    "Case",
    "Missing",
    "Work",
    "Workshop",
    "against",
    "check_flush",
    "peer",
]
