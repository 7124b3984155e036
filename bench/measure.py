"""Timing several ways of one job in turns, and what the times say of one another.

Each way runs in small chunks, one after the other, for many rounds, and the order turns from round to round. A round
gives one pair of times that were taken side by side; the published ratio is the median over those pairs. The ratio of
the medians and that of the minima stand beside it: where the three disagree, the machine was not quiet enough.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Unit = Literal["us", "op/s", "MB"]

_MOST_CHUNK: Final = 1 << 20
"""The most calls in one chunk, however quick they are."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way of doing a job: ``run(n)`` does it `n` times `jobs` times (each of `jobs` callers does it `n` times)."""

    run: Callable[[int], object]
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to measure: at least `rounds` rounds, and on until `seconds` are over; one chunk takes `chunk_ms`."""

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
        return cls(seconds=12.0, rounds=41, chunk_ms=40)


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
    began = time.perf_counter()
    done = 0
    collecting = gc.isenabled()
    try:
        while done < budget.rounds or time.perf_counter() - began < budget.seconds:
            gc.enable()
            gc.collect()
            gc.disable()  # a collection is nobody's in particular: it would be charged to whoever it hits
            for i in order:
                wall, cpu = _timed(sides[i], sizes[i])
                taken[i].wall.append(wall)
                taken[i].cpu.append(cpu)
            order.reverse() if len(order) == 2 else order.append(order.pop(0))
            done += 1
    finally:
        if collecting:
            gc.enable()
    return taken


def _timed(side: Side, size: int) -> tuple[float, float]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    side.run(size)
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return wall / (size * side.jobs), cpu / (size * side.jobs)


def _chunk(side: Side, chunk_ms: float) -> int:
    """How many calls take about `chunk_ms`; finding out warms the side up as well."""
    size = 1
    while size < _MOST_CHUNK:
        began = time.perf_counter()
        side.run(size)
        taken_ms = max((time.perf_counter() - began) * 1000, 1e-6)
        if taken_ms >= chunk_ms / 2:
            return max(1, round(size * chunk_ms / taken_ms))
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
    shown = [_in_unit(statistics.median(times.wall), rate) for times in (ours, theirs)]
    details = {
        **details,
        "ours_cpu_us": _short(statistics.median(ours.cpu) / 1000),
        f"{other}_cpu_us": _short(statistics.median(theirs.cpu) / 1000),
        "rounds": len(pairs),
    }
    return Line(group, bench, shown[0], unit, goal, goal.met(ratio), other, shown[1], ratios, details)


def _over(ours: float, theirs: float, rate: bool) -> float:
    return theirs / ours if rate else ours / theirs


def _in_unit(nanoseconds: float, rate: bool) -> float:
    return 1e9 / nanoseconds if rate else nanoseconds / 1000


def _short(value: float) -> float:
    """Four digits say all that a measurement knows."""
    return float(f"{value:.4g}")
