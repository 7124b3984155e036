"""The SQL of a key range: one index walk, or a few that are merged, whatever the directions of the key's columns.

A bound over columns of one direction is a row comparison, which most databases answer from the index. A bound over
columns of both directions has no such comparison; it is split into runs with a common beginning, each an index walk of
its own, that together are the bound: ``(a, -b) > (1, 2)`` is ``a = 1 AND b < 2`` and then ``a > 1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

from strongroom.engines.sql.dialect import Dialect
from strongroom.records import AnyTable, KeyColumn, KeyRange, Stored

Side = Literal["prefix", "lower", "upper"]


@dataclass(frozen=True, slots=True)
class _Run:
    """A condition, and which values of a range bind to its holes."""

    text: str
    holes: tuple[tuple[Side, int], ...]


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
    """The statement for all ranges of one shape.

    Arguments:
        dialect: the database's.
        table: the table.
        source: the table as the statement names it.
        columns: the columns that it answers, as the statement lists them.
        wanted: a range of the shape.
        locking: what is put behind each walk, such as a clause that locks what it reads.
    """

    def __init__(
        self, dialect: Dialect, table: AnyTable, source: str, columns: str, wanted: KeyRange, *, locking: str = ""
    ) -> None:
        fixed = len(wanted.prefix)
        bounds = _Bounds(dialect, table.key[fixed:])
        prefix = _Run(dialect.equal(table.key_names[:fixed]), tuple(("prefix", i) for i in range(fixed)))
        # The bound that the walk starts from is split, so that it starts in the right place; the other ends it.
        if wanted.reverse:
            first = bounds.start("upper", wanted.upper, closed=False)
            last = bounds.end("lower", wanted.lower, closed=not wanted.lower_open)
        else:
            first = bounds.start("lower", wanted.lower, closed=not wanted.lower_open)
            last = bounds.end("upper", wanted.upper, closed=False)
        if dialect.joins_walks:
            first = [_any_of(first)]
        runs = [_all_of(prefix, run, last) for run in first]
        order = ", ".join(
            f"{dialect.name(part.column.name)}{' DESC' if part.descending is not wanted.reverse else ''}"
            for part in table.key
        )
        end = f" ORDER BY {order} LIMIT {dialect.hole}"
        walks = [f"SELECT {columns} FROM {source}{f' WHERE {run.text}' if run.text else ''}" for run in runs]
        several = len(runs) > 1 and not dialect.merges_walks
        if several:
            walks = [f"({walk}{end}{locking})" for walk in walks]
        self.sql = " UNION ALL ".join(walks) + end + (locking if len(walks) == 1 else "")
        # All of a range's values stand in one row, so that binding them is one step.
        lower, upper = fixed, fixed + len(wanted.lower or ())
        first_of = {"prefix": 0, "lower": lower, "upper": upper}
        limit = upper + len(wanted.upper or ())
        bound: list[int] = []
        for run in runs:
            bound += [first_of[side] + i for side, i in run.holes]
            if several:
                bound.append(limit)
        bound.append(limit)
        self._pick = None if bound == [*range(limit + 1)] else itemgetter(*bound)

    def bind(self, wanted: KeyRange) -> tuple[Stored, ...]:
        """What binds to the statement for one range of its shape."""
        values = (*wanted.prefix, *(wanted.lower or ()), *(wanted.upper or ()), wanted.limit)
        bound: tuple[Stored, ...] = values if self._pick is None else self._pick(values)
        return bound


class _Bounds:
    """Writes bounds on the key columns that follow a prefix."""

    def __init__(self, dialect: Dialect, columns: Sequence[KeyColumn]) -> None:
        self._dialect = dialect
        self._columns = columns

    def start(self, side: Side, values: Sequence[Stored] | None, *, closed: bool) -> list[_Run]:
        """The runs that together are the bound a walk starts from; a single empty one where there is none."""
        if values is None:
            return [_Run("", ())]
        bounded = self._columns[: len(values)]
        whole = self._compared(bounded, side, closed=closed)
        return self._runs(bounded, side, closed=closed) if whole is None else [whole]

    def end(self, side: Side, values: Sequence[Stored] | None, *, closed: bool) -> _Run:
        """The bound that ends a walk, as one condition.

        Of several runs the index gets to see the first column alone, which is where it can stop; left to itself the
        database would walk each run, and sort what it found.
        """
        if values is None:
            return _Run("", ())
        bounded = self._columns[: len(values)]
        whole = self._compared(bounded, side, closed=closed)
        if whole is not None:
            return whole
        runs = self._runs(bounded, side, closed=closed, hidden=True)
        name = self._dialect.name(bounded[0].column.name)
        stop = f"{name} {_beyond(bounded[0], side)}= {self._dialect.hole}"
        rest = " OR ".join(f"({run.text})" for run in runs)
        return _Run(f"{stop} AND ({rest})", ((side, 0), *(hole for run in runs for hole in run.holes)))

    def _compared(self, bounded: Sequence[KeyColumn], side: Side, *, closed: bool) -> _Run | None:
        """The bound as a single comparison, where it can be one."""
        several = len(bounded) > 1
        if len({part.descending for part in bounded}) > 1 or (several and not self._dialect.compares_rows):
            return None
        names = self._dialect.names(part.column.name for part in bounded)
        comparison = _beyond(bounded[0], side) + ("=" if closed else "")
        holes = self._dialect.holes(len(bounded))
        text = f"({names}) {comparison} ({holes})" if several else f"{names} {comparison} {holes}"
        return _Run(text, tuple((side, i) for i in range(len(bounded))))

    def _runs(self, bounded: Sequence[KeyColumn], side: Side, *, closed: bool, hidden: bool = False) -> list[_Run]:
        """The bound as runs, in the order of a walk from it; `hidden` from the index where that can be said."""
        hide = "+" if hidden and self._dialect.hides_by_plus else ""
        names = [hide + self._dialect.name(part.column.name) for part in bounded]
        hole = self._dialect.hole
        runs = []
        for last in reversed(range(len(bounded))):
            comparison = _beyond(bounded[last], side) + ("=" if closed and last == len(bounded) - 1 else "")
            tests = [*(f"{name} = {hole}" for name in names[:last]), f"{names[last]} {comparison} {hole}"]
            runs.append(_Run(" AND ".join(tests), tuple((side, i) for i in range(last + 1))))
        return runs


def _beyond(part: KeyColumn, side: Side) -> str:
    return ">" if (side == "lower") is not part.descending else "<"


def _all_of(*runs: _Run) -> _Run:
    return _Run(" AND ".join(run.text for run in runs if run.text), tuple(h for run in runs for h in run.holes))


def _any_of(runs: Sequence[_Run]) -> _Run:
    if len(runs) == 1:
        return runs[0]
    text = " OR ".join(f"({run.text})" for run in runs)
    return _Run(f"({text})", tuple(h for run in runs for h in run.holes))
