"""The SQL of a key range: one index walk, or a few that are merged, whatever the directions of the key's columns.

A bound over columns of one direction is a row comparison, which SQLite answers from the index. A bound over columns
of both directions has no such comparison; it is split into runs with a common beginning, each an index walk of its
own, that together are the bound: ``(a, -b) > (1, 2)`` is ``a = 1 AND b < 2`` and then ``a > 1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from strongroom.records import AnyTable, KeyColumn, KeyRange, Stored

Side = Literal["prefix", "lower", "upper"]


@dataclass(frozen=True, slots=True)
class _Run:
    """A condition, and which values of a range bind to its holes."""

    text: str
    holes: tuple[tuple[Side, int], ...]


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def range_shape(wanted: KeyRange) -> tuple[Any, ...]:
    """What two ranges of one table have in common when the same statement serves both."""
    return (
        len(wanted.prefix),
        -1 if wanted.lower is None else len(wanted.lower),
        wanted.lower_open,
        -1 if wanted.upper is None else len(wanted.upper),
        wanted.reverse,
    )


class RangeStatement:
    """The statement for all ranges of one shape."""

    def __init__(self, table: AnyTable, columns: str, wanted: KeyRange) -> None:
        fixed = len(wanted.prefix)
        rest = table.key[fixed:]
        prefix = _Run(
            " AND ".join(f"{quoted(name)} = ?" for name in table.key_names[:fixed]),
            tuple(("prefix", i) for i in range(fixed)),
        )
        # The bound that the walk starts from is split, so that it starts in the right place; the other ends it.
        if wanted.reverse:
            first = _runs(rest, "upper", wanted.upper, closed=False)
            last = _end(rest, "lower", wanted.lower, closed=not wanted.lower_open)
        else:
            first = _runs(rest, "lower", wanted.lower, closed=not wanted.lower_open)
            last = _end(rest, "upper", wanted.upper, closed=False)
        runs = [_all_of(prefix, run, last) for run in first]
        order = ", ".join(
            f"{quoted(part.column.name)}{' DESC' if part.descending is not wanted.reverse else ''}"
            for part in table.key
        )
        selects = [f"SELECT {columns} FROM {quoted(table.name)} WHERE {run.text or '1'}" for run in runs]
        self.sql = f"{' UNION ALL '.join(selects)} ORDER BY {order} LIMIT ?"
        self._holes = [hole for run in runs for hole in run.holes]

    def bind(self, wanted: KeyRange) -> tuple[Stored, ...]:
        """What binds to the statement for one range of its shape."""
        values = {"prefix": wanted.prefix, "lower": wanted.lower or (), "upper": wanted.upper or ()}
        return (*[values[side][i] for side, i in self._holes], wanted.limit)


def _runs(
    columns: Sequence[KeyColumn], side: Side, values: Sequence[Stored] | None, *, closed: bool, sign: str = ""
) -> list[_Run]:
    """The runs that together are one bound; a single empty one where there is no bound.

    With a plus for a `sign`, the columns of several runs are hidden from the index.
    """
    if values is None:
        return [_Run("", ())]
    bounded = columns[: len(values)]
    if len({part.descending for part in bounded}) == 1:
        names = ", ".join(quoted(part.column.name) for part in bounded)
        holes = ", ".join("?" * len(bounded))
        comparison = _beyond(bounded[0], side) + ("=" if closed else "")
        return [_Run(f"({names}) {comparison} ({holes})", tuple((side, i) for i in range(len(bounded))))]
    names_of = [sign + quoted(part.column.name) for part in bounded]
    runs = []
    for last in reversed(range(len(bounded))):
        comparison = _beyond(bounded[last], side) + ("=" if closed and last == len(bounded) - 1 else "")
        tests = [*(f"{name} = ?" for name in names_of[:last]), f"{names_of[last]} {comparison} ?"]
        runs.append(_Run(" AND ".join(tests), tuple((side, i) for i in range(last + 1))))
    return runs


def _end(columns: Sequence[KeyColumn], side: Side, values: Sequence[Stored] | None, *, closed: bool) -> _Run:
    """The bound that ends a walk, as one condition.

    Of several runs the index gets to see the first column alone, which is where it can stop; left to itself it would
    walk each run, and sort what it found.
    """
    runs = _runs(columns, side, values, closed=closed, sign="+")
    if len(runs) == 1:
        return runs[0]
    stop = f"{quoted(columns[0].column.name)} {_beyond(columns[0], side)}= ?"
    rest = " OR ".join(f"({run.text})" for run in runs)
    return _Run(f"{stop} AND ({rest})", ((side, 0), *(hole for run in runs for hole in run.holes)))


def _beyond(part: KeyColumn, side: Side) -> str:
    return ">" if (side == "lower") is not part.descending else "<"


def _all_of(*runs: _Run) -> _Run:
    return _Run(" AND ".join(run.text for run in runs if run.text), tuple(h for run in runs for h in run.holes))
