"""What the tests of the dispatcher are made of."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from strongroom.dispatcher.attempts import Attempts
from strongroom.dispatcher.crew import Crew, Event, Orders
from strongroom.dispatcher.jobs import create_job
from strongroom.dispatcher.performance import Terms
from strongroom.domains import dispatch
from strongroom.domains.dispatch import JournalEntry, Run
from tests.domains.dispatch.samples import retried

T = TypeVar("T")

LONG: Final = 600_000
"""A lease in milliseconds that no test outlasts."""
PATIENCE: Final = 60.0
"""Seconds after which a test counts as stuck."""
WAIT: Final = 'touch "$0/$STRONGROOM_RUN.$STRONGROOM_ATTEMPT"; until [ -e "$0/go" ]; do sleep 0.02; done'
"""A script that says that it began, and goes on until told to end. Its $0 is the folder of both."""


def sh(script: str, *words: str) -> tuple[str, ...]:
    """A command that is a shell's script."""
    return ("sh", "-c", script, *words)


def python(script: str, *words: str) -> tuple[str, ...]:
    """A command that is a Python program."""
    return (sys.executable, "-c", script, *words)


def until(true: Callable[[], T], what: str = "") -> T:
    """What `true` answers as soon as it is something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < deadline, f"it never came to it that {what}"
        time.sleep(0.01)
    return found


class Site:
    """A workspace with its attempts, and short words for what tests do all the time."""

    def __init__(self, workspace: dispatch.Workspace, folder: Path) -> None:
        self.workspace = workspace
        self.folder = folder
        self.signs = folder / "signs"
        """Where commands say that they began, and are told to go on."""
        self.signs.mkdir(parents=True)
        self.root = folder / "attempts"
        self._names = count(1)
        self._keys = count(1)

    @property
    def attempts(self) -> Attempts:
        return Attempts(self.root, self.workspace.name)

    def submit(self, *commands: tuple[str, ...], input: str = "{}") -> list[str]:
        """A run of each command, each of a job of its own."""
        return [run for command in commands for run in self.submit_many(command, 1, input=input)]

    def submit_many(self, command: tuple[str, ...], number: int, input: str = "{}") -> list[str]:
        """So many runs of one job."""
        job = create_job(self.workspace, f"job-{next(self._names)}", command).job
        keys = [f"key-{next(self._keys)}" for _ in range(number)]
        return [retried(lambda key=key: self.workspace.submit(job.id, key, input)).run for key in keys]  # type: ignore[misc]

    def waiting(self) -> tuple[str, ...]:
        """A command that says that it began, and goes on until `go` is called."""
        return sh(WAIT, str(self.signs))

    def began(self, run: str, attempt: int = 1) -> bool:
        return (self.signs / f"{run}.{attempt}").exists()

    def go(self) -> None:
        (self.signs / "go").touch()

    def crew(
        self, watch: Callable[[Event], object] = lambda _: None, *, lease_ms: int | None = LONG, **orders: Any
    ) -> Crew:
        dispatcher = self.workspace.dispatcher("here", lease_ms=lease_ms)
        return self.crew_of(dispatcher, watch, **orders)

    def crew_of(
        self, dispatcher: dispatch.Dispatcher, watch: Callable[[Event], object] = lambda _: None, **orders: Any
    ) -> Crew:
        terms = Terms(self.workspace.name, "here", grace_s=1.0)
        return Crew(
            self.workspace, dispatcher, self.attempts, terms, Orders(**{"patience_s": PATIENCE, **orders}), watch
        )

    def drain(self, **options: Any) -> list[Event]:
        """Work off all that waits: what happened."""
        events: list[Event] = []
        self.crew(events.append, drain=True, **options).run()
        return events

    def run(self, run: str) -> Run:
        return self.workspace.runs.get(run)

    def entries(self) -> list[JournalEntry]:
        return self.workspace.journal.page(limit=10_000).items

    def kinds_of(self, run: str) -> list[str]:
        return [entry.kind.value for entry in self.entries() if entry.run == run]


class Working:
    """A crew at work in a thread of its own, while this is entered; it is told to stop and to end behind it."""

    def __init__(self, site: Site, **options: Any) -> None:
        self.events: list[Event] = []
        self.fault: BaseException | None = None
        self.stop, self.end = threading.Event(), threading.Event()
        self._crew = site.crew(self.events.append, stop=self.stop, end=self.end, **options)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Working:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.end.set()
        self.join()

    def join(self) -> None:
        """Wait until it has ended by itself."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._crew.run()
        except BaseException as fault:
            self.fault = fault

    def seen(self, kind: type[T]) -> list[T]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]
