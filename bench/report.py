"""What a run prints: a JSON line for each measurement on stdout, and a table of them all on stderr."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.measure import Line


def summary(lines: Sequence[Line]) -> Table:
    """The table of all measurements."""
    table = Table(title="Strongroom's benchmarks (ratio: median of pairs taken side by side)")
    table.add_column("group")
    table.add_column("bench")
    for name in ("ours", "other", "unit", "ratio", "of medians", "of minima", "of CPU", "goal"):
        table.add_column(name, justify="right")
    table.add_column("met")
    for line in lines:
        ratios = [line.ratios.get(f"ratio{of}", "") for of in ("", "_of_medians", "_of_minima", "_of_cpu")]
        theirs = f"{line.theirs:,.4g}" if line.other else ""
        table.add_row(
            line.group,
            Text(line.bench),
            f"{line.ours:,.4g}",
            theirs,
            line.unit,
            *[f"{ratio:.2f}" if isinstance(ratio, float) else "" for ratio in ratios],
            str(line.goal),
            Text("yes", "green") if line.met else Text("no", "red"),
        )
    return table


def show(lines: Sequence[Line]) -> None:
    """Print the table on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        console = Console(stderr=True, width=160)
    console.print(summary(lines))
