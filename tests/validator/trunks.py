"""What the trunk's tests have in common: a command that does what each commit says, and remembers that it was run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strongroom.domains.stovepipe import Issue, Storage
from strongroom.engine import Engine
from strongroom.validator.crew import Event
from strongroom.validator.recipe import Recipe
from strongroom.validator.repository import Repository
from strongroom.validator.trunk import Outcome, Trunk
from tests.validator.conftest import Checkout

QUEUE = "fruit/main"

SCRIPT = """
import os, sys, time
from pathlib import Path

diary = Path(sys.argv[1])
names = "COMMIT STRATEGY BASE QUEUE REQUEST"
with diary.open("a") as file:
    file.write(" ".join(os.environ["STRONGROOM_" + name] or "-" for name in names.split()) + "\\n")
print("validating", os.environ["STRONGROOM_COMMIT"], flush=True)
block = diary.with_name("block-" + Path("name").read_text()) if Path("name").exists() else None
while block and block.exists():
    time.sleep(0.02)
if Path("cases").exists():
    cases = [line.split() for line in Path("cases").read_text().splitlines()]
    found = {"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}
    lines = [f'<testcase file="{file}" name="{name}">{found[was]}</testcase>' for file, name, was in cases]
    Path("junit.xml").write_text("<testsuite>" + "".join(lines) + "</testsuite>")
if Path("report").exists():
    Path("junit.xml").write_text(Path("report").read_text())
sys.exit(int(Path("exit").read_text()) if Path("exit").exists() else 0)
"""
"""Reads what it is to do from the commit: `exit`, `cases` or a whole `report`, and `name`, to be blocked by."""


def until(condition: Callable[[], Any], what: str, deadline_s: float = 90) -> Any:
    """What `condition` answers once that is true."""
    end = time.monotonic() + deadline_s
    while not (answer := condition()):
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)
    return answer


@dataclass
class Bench:
    """A folder with the command, its diary, and the logs of its runs."""

    folder: Path
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.script.write_text(SCRIPT)
        self.diary.touch()

    @property
    def script(self) -> Path:
        return self.folder / "command.py"

    @property
    def diary(self) -> Path:
        return self.folder / "diary"

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, str(self.script), str(self.diary))

    def runs(self) -> list[str]:
        """The commits that the command was run for, in order."""
        return [line.split()[0] for line in self.diary.read_text().splitlines()]

    def environments(self) -> list[dict[str, str]]:
        """What it found in its environment, each time."""
        names = ("commit", "strategy", "base", "queue", "request")
        return [dict(zip(names, line.split(), strict=True)) for line in self.diary.read_text().splitlines()]

    def block(self, name: str) -> Path:
        """Let the command never end for commits of that `name`, as long as the file is there."""
        path = self.folder / f"block-{name}"
        path.touch()
        return path

    def trunk(self, room: Engine, checkout: Checkout, jobs: int = 1, queue: str = QUEUE, **recipe: Any) -> Trunk:
        given: dict[str, Any] = {"command": self.command, "logs": self.folder / "logs", **recipe}
        return Trunk(room, Repository.open(checkout.path), queue, Recipe(**given), jobs=jobs)

    def validate(self, room: Engine, checkout: Checkout, last: int = 10, **given: Any) -> Outcome:
        """Validate the newest commits of the checkout's branch; what happened is in `events`."""
        repository = Repository.open(checkout.path)
        self.events = []
        trunk = self.trunk(room, checkout, **given)
        return trunk.validate(repository.first_parent(repository.branch, last), self.events.append)


def states(outcome: Outcome) -> list[str]:
    return [one.request.state.value for one in outcome.validated]


def ids(outcome: Outcome) -> list[str]:
    return [one.commit.id for one in outcome.validated]


def open_issues(storage: Storage) -> list[tuple[Issue, str]]:
    """The open issues, each with the build that opened it."""
    return [(Issue(row.task, row.unit), row.first_seen_build) for row in storage.open_issues.list(limit=100)]


def cases(*lines: str) -> str:
    return "\n".join(lines)
