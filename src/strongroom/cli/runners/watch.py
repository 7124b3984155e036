"""Following a store: look again and again, and show what there is whenever it is not what it was.

On a terminal one picture is drawn over and over; anywhere else a new block is printed, and only where something has
changed. Ctrl-C ends it. A store that can't be reached for a while is waited for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.live import Live

from strongroom.cli import output
from strongroom.cli.runners.views import Section, drawn, say_view
from strongroom.domains.runners import RunnerAttempt
from strongroom.errors import Conflict, Unavailable

T = TypeVar("T")

Watch = Annotated[bool, typer.Option("--watch", help="Go on, and show every change, until Ctrl-C.")]
Interval = Annotated[
    float, typer.Option("--interval", metavar="S", min=0.1, help="With --watch: look every so many seconds.")
]


def follow(
    look: Callable[[], T],
    tell: Callable[[T], None],
    *,
    interval: float,
    pause: Callable[[float], None] = time.sleep,
) -> NoReturn:
    """Tell what a look shows, and then each look that shows something else than the last one told. Never returns.

    Raises whatever the first look does. Later ones that find the store out of reach are told once, on standard error,
    and made again.

    Arguments:
        interval: seconds between two looks.
        pause: what waits so many seconds.
    """
    told = look()
    tell(told)
    reached = True
    while True:
        pause(interval)
        try:
            seen = look()
        except (Unavailable, Conflict) as fault:
            if reached:
                output.remark(("waiting: ", "yellow"), str(fault))
            reached = False
            continue
        reached = True
        if seen != told:
            tell(seen)
            told = seen


def follow_view(look: Callable[[], T], view: Callable[[T], Sequence[Section]], *, interval: float) -> NoReturn:
    """Follow a store for people. Raises as `follow`."""
    if not output.answers.is_terminal:
        blocks = 0

        def print_block(seen: T) -> None:
            nonlocal blocks
            if blocks:
                output.say("")
            blocks += 1
            say_view(view(seen))
            sys.stdout.flush()

        follow(look, print_block, interval=interval)
    footer = f"every {interval:g} s; Ctrl-C ends it"
    with (
        output.bars_on(output.answers),
        Live(console=output.answers, auto_refresh=False, vertical_overflow="ellipsis") as live,
    ):
        follow(look, lambda seen: live.update(drawn(view(seen), footer), refresh=True), interval=interval)


def follow_objects(
    look: Callable[[], T], objects: Callable[[T], Iterable[dict[str, Any]]], *, interval: float
) -> NoReturn:
    """Follow a store for programs: the objects of each look that shows a change. Raises as `follow`."""

    def tell(seen: T) -> None:
        for one in objects(seen):
            output.emit(one)
        sys.stdout.flush()

    follow(look, tell, interval=interval)


class Changes:
    """What is new in a list of attempts since the list before."""

    def __init__(self) -> None:
        self._before: dict[str, RunnerAttempt] = {}

    def since(self, attempts: Sequence[RunnerAttempt]) -> tuple[list[RunnerAttempt], list[str]]:
        """The attempts that are not as they were, in their order, and the ids of those that are no longer listed."""
        before, self._before = self._before, {attempt.id: attempt for attempt in attempts}
        changed = [attempt for attempt in attempts if before.get(attempt.id) != attempt]
        return changed, [id for id in before if id not in self._before]
