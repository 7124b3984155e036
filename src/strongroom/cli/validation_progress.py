"""The progress of `validate` on a terminal: a bar for all commits, and a line for each one that is at work."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from strongroom.cli import output
from strongroom.errors import cut
from strongroom.validator.crew import Began, Elsewhere, Ended, Event, Planned, Stopping, Waiting

_WIDEST: Final = 60


class Display:
    """Shows the events of a validation while it lasts, and leaves nothing behind. Nothing without a terminal."""

    def __init__(self, queue: str, *, as_json: bool) -> None:
        # Lines of an answer must go through the console that the bars are on, or they would run into each other.
        console = output.answers if output.answers.is_terminal and not as_json else output.remarks
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            _Count(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._up = ExitStack()
        self._all = self._bars.add_task(_cut(queue), total=None)
        self._at_work: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._up.enter_context(output.bars_on(self._bars.console))
        self._up.enter_context(self._bars)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._up.close()

    def show(self, event: Event) -> None:
        """Bring the bars to what has just happened."""
        match event:
            case Planned(pending, _):
                self._bars.update(self._all, total=pending)
            case Began(commit, attempt):
                again = f" (attempt {attempt})" if attempt > 1 else ""
                line = _cut(f"{commit.id[:10]}{again} {commit.subject}")
                self._at_work[commit.id] = self._bars.add_task(line, total=None)
            case Ended(commit, validated):
                if commit.id in self._at_work:
                    self._bars.remove_task(self._at_work.pop(commit.id))
                if validated is not None:
                    self._bars.advance(self._all)
            case Elsewhere():
                self._bars.advance(self._all)
            case Stopping():
                output.remark(("stopping: the running commands have a few seconds to end", "dim"))
            case Waiting(count):
                output.remark((f"waiting for {count} more, which another process is at work on", "dim"))


class _Count(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.completed:.0f} of {task.total:.0f}")


def _cut(text: str) -> str:
    return cut(output.one_line(text), _WIDEST)
