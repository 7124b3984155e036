"""Cost against size: the same calls on files of ten thousand, a hundred thousand and a million rows.

The three files are used in turns. Reads and pages begin at random places, and inserts go to random places too: a new
key at the end would touch the same few pages in a file of any size.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.measure import Goal, Line, Side, Times, at_most, compared, in_turns
from bench.raw import PAGE, fill
from bench.tables import JOBS, QUEUE, job, job_id
from bench.workshop import Case, Workshop
from strongroom.engine import Engine

GROUP: Final = "size"

SIZES: Final = (10_000, 100_000, 1_000_000)
QUICK_SIZES: Final = (1_000, 2_000, 4_000)
WALK_MB: Final = 100
"""The most memory that a walk over all rows may take."""


_PLACES: Final = 20_000
"""How many random places are gone to in turn: their pages in the largest file are far more than a cache holds."""


@dataclass(frozen=True, slots=True)
class _Filled:
    rows: int
    path: Path
    room: Engine
    places: Iterator[str]
    """Ids of random jobs, each with a page's worth of jobs behind it; without end."""


def _files(shop: Workshop) -> list[_Filled]:
    return shop.once("sizes", lambda: [_filled(shop, rows) for rows in (QUICK_SIZES if shop.quick else SIZES)])


def _filled(shop: Workshop, rows: int) -> _Filled:
    path = shop.file()
    room = shop.room(path)
    fill(room, rows)
    places = [job_id(random.randrange(rows - PAGE)) for _ in range(_PLACES)]
    return _Filled(rows, path, room, itertools.cycle(places))


def _by_size(shop: Workshop, name: str, one: Callable[[_Filled], None]) -> Iterator[Line]:
    """The lines that compare `one` call on each larger file with the same on the smallest."""

    def side(file: _Filled) -> Side:
        def run(n: int) -> None:
            for _ in range(n):
                one(file)

        return Side(run)

    files = _files(shop)
    taken: list[Times] = in_turns([side(file) for file in files], shop.budget)
    base = files[0].rows
    for file, times in list(zip(files, taken, strict=True))[1:]:
        bench = f"{name} at {file.rows:,} rows against {base:,}"
        yield compared(GROUP, bench, times, taken[0], goal=at_most(2), other="base", rows=file.rows, base_rows=base)


def read(shop: Workshop) -> Iterator[Line]:
    yield from _by_size(shop, "point read", lambda file: _found(file.room.get(JOBS, QUEUE, next(file.places))))


def _found(record: object) -> None:
    assert record is not None


def page(shop: Workshop) -> Iterator[Line]:
    def one(file: _Filled) -> None:
        assert len(file.room.scan(JOBS, QUEUE, start=(next(file.places),), limit=PAGE)) == PAGE

    yield from _by_size(shop, f"page of {PAGE}", one)


def insert(shop: Workshop) -> Iterator[Line]:
    def one(file: _Filled) -> None:
        file.room.insert(JOBS, job(f"{next(file.places)}-{random.getrandbits(64):016x}"))

    yield from _by_size(shop, "durable insert", one)


def walk(shop: Workshop) -> Iterator[Line]:
    """The memory of a process of its own that reads every row in pages."""
    largest = _files(shop)[-1]
    command = [sys.executable, "-m", "bench.walk", str(largest.path)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["rows"] >= largest.rows
    goal: Goal = at_most(WALK_MB)
    details = {name: found[name] for name in ("rows", "growth_mb", "seconds")}
    peak = found["peak_mb"]
    yield Line(
        GROUP, f"peak memory of a walk of {largest.rows:,} rows", peak, "MB", goal, goal.met(peak), details=details
    )


CASES: Final = (
    Case(GROUP, "read by size", read, "a point read at 10 thousand to 1 million rows"),
    Case(GROUP, "page by size", page, f"a page of {PAGE} at 10 thousand to 1 million rows"),
    Case(GROUP, "insert by size", insert, "a durable insert at 10 thousand to 1 million rows"),
    Case(GROUP, "walk", walk, "the memory of a process that reads a million rows in pages"),
)
