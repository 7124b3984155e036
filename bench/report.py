"""What a run prints beside its JSON lines: a table of them all on stderr, or in Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
        theirs = _plain(line.theirs) if line.other else ""
        table.add_row(
            line.group,
            Text(line.bench),
            _plain(line.ours),
            theirs,
            line.unit,
            *[f"{ratio:.2f}" if isinstance(ratio, float) else "" for ratio in ratios],
            str(line.goal),
            Text("yes", "green") if line.met else Text("no", "red"),
        )
    return table


def markdown(lines: Sequence[Line]) -> str:
    """A table of each group in Markdown, without the columns that only a doubter asks for."""
    groups = [[line for line in lines if line.group == group] for group in dict.fromkeys(line.group for line in lines)]
    return "\n".join("\n".join(_markdown_rows(group)) + "\n" for group in groups)


def _markdown_rows(lines: Sequence[Line]) -> Iterator[str]:
    yield "| benchmark | ours | other | unit | ratio | of CPU | goal | met |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | --- | --- |"
    for line in lines:
        ratios = [line.ratios.get("ratio"), line.ratios.get("ratio_of_cpu")]
        shown = [f"{ratio:.2f}" if isinstance(ratio, float) else "" for ratio in ratios]
        ours, theirs = _plain(line.ours), _plain(line.theirs) if line.other else ""
        met = "yes" if line.met else "**no**"
        yield f"| {line.bench} | {ours} | {theirs} | {line.unit} | {' | '.join(shown)} | {line.goal} | {met} |"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show(lines: Sequence[Line]) -> None:
    """Print the table on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        console = Console(stderr=True, width=160)
    console.print(summary(lines))
