"""What DynamoDB charges for Strongroom's calls: units for each, and what so many calls a day come to in a month.

The units are those of on-demand tables and of rows under a kilobyte. `tests/engines/test_costs.py` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Units:
    """What a call is charged: a unit reads 4 kB or writes 1 kB, and an item in a transaction takes two."""

    read: int = 0
    written: int = 0


UNITS: Final[Mapping[str, Units]] = {
    "create": Units(written=6),
    "get": Units(read=1),
    "list": Units(read=3),
    "update": Units(written=4),
    "update that reads": Units(read=1, written=4),
    "delete": Units(written=6),
}
"""By the kinds of calls of `docs/scale.md`; a list of up to 4 kB."""


def monthly_cost(
    calls_per_day: Mapping[str, float],
    *,
    price_per_million_reads: float,
    price_per_million_writes: float,
    days: int = 30,
) -> float:
    """What a month of requests costs, in the currency of the prices; what is stored is charged beside it.

    Arguments:
        calls_per_day: how many calls of each kind; the kinds are those of `UNITS`, any other raises KeyError.
        price_per_million_reads, price_per_million_writes: for a million units of reading and of writing.
        days: that the month has.
    """
    read = sum(UNITS[kind].read * calls for kind, calls in calls_per_day.items())
    written = sum(UNITS[kind].written * calls for kind, calls in calls_per_day.items())
    return days * (read * price_per_million_reads + written * price_per_million_writes) / 1_000_000
