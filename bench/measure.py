"""Timing several ways of one job in turns, and what the times say of one another.

Each way runs in small chunks, one after the other, for many rounds, and the order turns from round to round. A round
gives one pair of times that were taken side by side; the published ratio is the median over those pairs. The ratio of
the medians and that of the minima stand beside it: where the three disagree, the machine was not quiet enough.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Unit = Literal["us", "op/s", "MB"]

_COLLECT_SECONDS: Final = 1.0
"""How long garbage may gather."""

_MOST_CHUNK: Final = 1 << 20
"""The most calls in one chunk, however quick they are."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way of doing a job: ``run(n)`` has each of `jobs` callers do it `n` times; `n` is at least `least`."""

    run: Callable[[int], object]
    jobs: int = 1
    least: int = 1
    elsewhere: bool = False
    """Whether other processes do the job: this one's own time of the processor then says nothing."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to measure: at least `rounds` rounds, and on until `seconds` are over.

    One chunk takes about `chunk_ms`: so short that most chunks are over before the system gives the processor to
    somebody else.
    """

    seconds: float
    rounds: int
    chunk_ms: float

    @classmethod
    def quick(cls) -> Budget:
        """Enough to see that a benchmark works; its numbers mean nothing."""
        return cls(seconds=0.0, rounds=3, chunk_ms=1)

    @classmethod
    def full(cls) -> Budget:
        """Enough for numbers worth showing."""
        return cls(seconds=12.0, rounds=41, chunk_ms=4)


@dataclass(slots=True)
class Times:
    """What one side took for one job, in nanoseconds, in each round: on the clock, and of the processor."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def in_turns(sides: Sequence[Side], budget: Budget) -> list[Times]:
    """The times of each side, whose chunks are run in turns; the n-th times of all sides belong together."""
    sizes = [_chunk(side, budget.chunk_ms) for side in sides]
    taken = [Times() for _ in sides]
    order = list(range(len(sides)))
    began = collected = time.perf_counter()
    done = 0
    with _collected_by_hand():
        while done < budget.rounds or time.perf_counter() - began < budget.seconds:
            if time.perf_counter() - collected > _COLLECT_SECONDS:
                gc.collect()
                collected = time.perf_counter()
            for i in order:
                wall, cpu = _timed(sides[i], sizes[i])
                taken[i].wall.append(wall)
                taken[i].cpu.append(cpu)
            order.append(order.pop(0))
            done += 1
    return taken


@contextlib.contextmanager
def _collected_by_hand() -> Iterator[None]:
    """No automatic garbage collection: it is nobody's in particular, and would be charged to whoever it hits."""
    collecting = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()


def _timed(side: Side, size: int) -> tuple[float, float]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    side.run(size)
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    if side.elsewhere:
        cpu = 0
    return wall / (size * side.jobs), cpu / (size * side.jobs)


def _chunk(side: Side, chunk_ms: float) -> int:
    """How many calls take about `chunk_ms`; finding out warms the side up as well."""
    size = side.least
    while size < _MOST_CHUNK:
        # The best of a few: a call that happened to be interrupted would make the chunk too small to be warm.
        taken_ms = min(_timed(side, size)[0] for _ in range(3)) * size * side.jobs / 1e6
        if taken_ms >= chunk_ms / 2:
            return max(side.least, round(size * chunk_ms / max(taken_ms, 1e-6)))
        size *= 2
    return size


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio is meant to be."""

    sign: Literal["<=", ">="]
    bound: float

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"

    def met(self, value: float) -> bool:
        """Whether a value is within the goal."""
        return value <= self.bound if self.sign == "<=" else value >= self.bound


def at_most(bound: float) -> Goal:
    """So many times the other's cost, or fewer."""
    return Goal("<=", bound)


def at_least(bound: float) -> Goal:
    """So many times the other's rate, or more."""
    return Goal(">=", bound)


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement, as it is printed."""

    group: str
    bench: str
    ours: float
    unit: Unit
    goal: Goal
    met: bool
    other: str = ""
    """What ours is compared with: ``raw``, ``peer``, or ``base`` for Strongroom itself at another size or number."""
    theirs: float = 0.0
    ratios: Mapping[str, float | list[float]] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """The published ratio, ours over theirs in the line's unit."""
        found = self.ratios.get("ratio")
        return found if isinstance(found, float) else None

    def as_json(self) -> dict[str, Any]:
        """The line's fields, in the order in which they are printed."""
        pair = {"ours": _short(self.ours)} | ({self.other: _short(self.theirs)} if self.other else {})
        said = {"unit": self.unit, **self.ratios, "goal": str(self.goal), "met": self.met}
        return {"group": self.group, "bench": self.bench, **pair, **said, **self.details}


def compared(
    group: str,
    bench: str,
    ours: Times,
    theirs: Times,
    *,
    goal: Goal,
    other: str,
    **details: Any,
) -> Line:
    """The line of two sides that were measured in turns.

    Under a goal of at most so much, it is in microseconds for each job; under one of at least so much, in jobs a
    second. The ratio is always ours over theirs.
    """
    rate = goal.sign == ">="
    unit: Unit = "op/s" if rate else "us"
    pairs = [_over(a, b, rate) for a, b in zip(ours.wall, theirs.wall, strict=True)]
    cpu = [_over(a, b, rate) for a, b in zip(ours.cpu, theirs.cpu, strict=True) if a and b]
    ratio = round(statistics.median(pairs), 3)
    low, _, high = statistics.quantiles(pairs, n=4)
    ratios: dict[str, float | list[float]] = {
        "ratio": ratio,
        "ratio_quartiles": [round(low, 3), round(high, 3)],
        "ratio_of_medians": round(_over(statistics.median(ours.wall), statistics.median(theirs.wall), rate), 3),
        "ratio_of_minima": round(_over(min(ours.wall), min(theirs.wall), rate), 3),
    }
    if cpu:
        ratios["ratio_of_cpu"] = round(statistics.median(cpu), 3)
        details["ours_cpu_us"] = _short(statistics.median(ours.cpu) / 1000)
        details[f"{other}_cpu_us"] = _short(statistics.median(theirs.cpu) / 1000)
    details["rounds"] = len(pairs)
    shown = [_in_unit(statistics.median(times.wall), rate) for times in (ours, theirs)]
    return Line(group, bench, shown[0], unit, goal, goal.met(ratio), other, shown[1], ratios, details)


def _over(ours: float, theirs: float, rate: bool) -> float:
    return theirs / ours if rate else ours / theirs


def _in_unit(nanoseconds: float, rate: bool) -> float:
    return 1e9 / nanoseconds if rate else nanoseconds / 1000


def _short(value: float) -> float:
    """Four digits say all that a measurement knows."""
    return float(f"{value:.4g}")
