"""What the commands have in common when they speak: plain lines or JSON, progress, faults, exit codes.

Answers go to standard output, everything else to standard error, so that an answer can be piped. Whatever comes out
of a store is shown as text only: no control character of it reaches the terminal, and no markup of it is obeyed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from strongroom.errors import (
    CommitUnknown,
    Conflict,
    Corrupt,
    MigrationFailed,
    NotFound,
    SchemaTooNew,
    StoreHeld,
    StrongroomError,
    Unavailable,
)

FOUND: Final = 1
"""Something bad was found, or what was asked for was not."""
USAGE: Final = 2
"""The call itself is wrong."""
UNAVAILABLE: Final = 3
"""The store can't be reached, or is held by someone else; the same call may succeed later."""
INTERRUPTED: Final = 130
"""Stopped by Ctrl-C, as shells number it."""
BROKEN_PIPE: Final = 141
"""Whoever read the answer went away, as shells number it."""

answers: Final = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
remarks: Final = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

_bars_up: Final[list[Console]] = []

Part = str | tuple[str, str]
"""Some text, or some text and its style."""


def exit_code(fault: StrongroomError) -> int:
    """The exit code that tells a script what kind of fault it was."""
    if isinstance(fault, Unavailable | StoreHeld | Conflict | CommitUnknown) or fault.retryable:
        return UNAVAILABLE
    if isinstance(fault, Corrupt | SchemaTooNew | MigrationFailed | NotFound):
        return FOUND
    return USAGE


def fail(fault: StrongroomError) -> int:
    """Say in one line what went wrong; the exit code for it."""
    remark(("error: ", "bold red"), str(fault))
    return exit_code(fault)


def one_line(text: str) -> str:
    """The text with everything escaped that would move the cursor, start a new line, or not be seen."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(value: Any) -> str:
    """A value as people read it: text as it is where that is plain to see, quoted and escaped where it is not."""
    if isinstance(value, str):
        return value if value.isprintable() and value.strip() == value and value else repr(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        return ", ".join(shown(item) for item in value) or "none"
    return "-" if value is None else one_line(json.dumps(value, ensure_ascii=False))


def when(millis: int, form: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    """A time in Unix milliseconds as people read it, in UTC; one that no calendar has as its number."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).strftime(form)
    except (OverflowError, ValueError, OSError):
        return f"{millis} ms"


def say(*parts: Part) -> None:
    """One line of an answer, for people."""
    _print(answers, parts)


def remark(*parts: Part) -> None:
    """One line beside the answer."""
    with suppress(BrokenPipeError):
        answers.file.flush()  # where both go to one place, a remark stands behind what was said before it
    # Written past the bars, the line would be painted over when they are drawn again.
    above = _bars_up[-1] if _bars_up and remarks.is_terminal else remarks
    _print(above, parts)
    above.file.flush()


@contextmanager
def bars_on(console: Console) -> Iterator[None]:
    """While this lasts, bars are drawn on `console`; if it is a terminal, remarks for a terminal stand above them."""
    up = [console] if console.is_terminal else []
    _bars_up.extend(up)
    try:
        yield
    finally:
        del _bars_up[len(_bars_up) - len(up) :]


def say_rows(rows: Iterable[Sequence[str]], *, indent: str = "  ") -> None:
    """Lines of an answer whose parts stand in columns."""
    lines = [[one_line(part) for part in row] for row in rows]
    widths = [max(len(part) for part in column) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True))
        say(indent + padded.rstrip())


def emit(value: Mapping[str, Any]) -> None:
    """One line of an answer, for programs: a JSON object."""
    sys.stdout.write(json.dumps(value) + "\n")


@contextmanager
def progress(*, as_json: bool, unit: str = "rows") -> Iterator[Callable[[str, int, int | None], None]]:
    """Show on the terminal, if there is one to show it on, how far a long command has come.

    What it gives is called with the name of the thing under way, how much of it is done, in `unit`, and how much there
    is of it (None: unknown). It leaves nothing behind on the terminal.
    """
    # Lines of an answer must go through the console that the bar is on, or they would run into each other.
    console = answers if answers.is_terminal else remarks
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), _Count(unit))
    hidden = not console.is_terminal or (as_json and console is answers)
    bars = Progress(*columns, console=console, transient=True, disable=hidden)
    with nullcontext() if hidden else bars_on(console), bars as bar:
        under_way = bar.add_task("", total=None)

        def show(name: str, done: int, total: int | None) -> None:
            bar.update(under_way, description=one_line(name), completed=done, total=total)

        yield show


def close_broken_pipe() -> int:
    """Say no more to a reader that went away; the exit code for it."""
    # What is still buffered would be written when the interpreter ends, and fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


class _Count(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        of = "" if task.total is None else f" of {task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{of} {self._unit}")


def _print(console: Console, parts: Sequence[Part]) -> None:
    words = [(one_line(part), "") if isinstance(part, str) else (one_line(part[0]), part[1]) for part in parts]
    if console.is_terminal:
        console.print(Text.assemble(*words))
    else:
        # Long listings go to files and pipes, where there is nothing to style: this is many times as quick.
        console.file.write("".join(text for text, _style in words) + "\n")
