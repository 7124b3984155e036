"""`strongroom runners status`: a whole fleet at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from strongroom.cli import output
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.runners.attempts import attempt_object
from strongroom.cli.runners.fences import split_by_policy
from strongroom.cli.runners.host import host_object
from strongroom.cli.runners.place import Fleet, looking
from strongroom.cli.runners.policies import policy_object
from strongroom.cli.runners.views import Section, attempts_section, hosts_section, policies_section, say_view
from strongroom.cli.runners.watch import Interval, Watch, follow_objects, follow_view
from strongroom.cli.stores import SealKeyFile
from strongroom.domains.runners import Host, RunnerAttempt, RunnerStore, ScalePolicy


@dataclass(frozen=True, slots=True)
class Standing:
    """A fleet as one look shows it: hosts, policies, and the attempts that are not cleaned."""

    fleet: str
    hosts: list[Host]
    policies: list[ScalePolicy]
    attempts: list[RunnerAttempt]

    @classmethod
    def look(cls, store: RunnerStore) -> Standing:
        """A look at a fleet. Each of the three lists is one moment of the store."""
        return cls(store.fleet, store.hosts(), store.policies(), store.uncleaned_attempts())

    @property
    def targets(self) -> dict[str, str]:
        """The target of each policy, by its id."""
        return {policy.id: policy.target_slug for policy in self.policies}

    def view(self) -> Sequence[Section]:
        """The fleet as people see it."""
        remaining = split_by_policy(self.attempts)
        return [
            hosts_section(self.hosts, self.policies, remaining),
            policies_section(self.policies, remaining),
            attempts_section(self.attempts, self.targets),
        ]

    def object(self) -> dict[str, Any]:
        """The fleet as JSON answers have it."""
        remaining = split_by_policy(self.attempts)
        return {
            "fleet": self.fleet,
            "hosts": [host_object(host) for host in self.hosts],
            "policies": [policy_object(policy, remaining[policy.id]) for policy in self.policies],
            "attempts": [attempt_object(attempt, self.targets) for attempt in self.attempts],
        }


def status(
    watch: Watch = False,
    interval: Interval = 1.0,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    seal_key_file: SealKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON object for each look.")] = False,
) -> None:
    """Show a fleet: its hosts and how full they are, its policies, its attempts that are not cleaned.

    Nothing in the room is changed. With --watch a terminal shows one picture that follows the store; anywhere else a
    new block is printed only when something has changed.

    Example: strongroom runners status --watch
    """
    with looking(room, fleet, seal_key_file) as store:
        if watch and as_json:
            follow_objects(lambda: Standing.look(store), lambda seen: [seen.object()], interval=interval)
        elif watch:
            follow_view(lambda: Standing.look(store), Standing.view, interval=interval)
        seen = Standing.look(store)
    if as_json:
        output.emit(seen.object())
    else:
        output.say("fleet ", (output.shown(seen.fleet), "bold"))
        say_view(seen.view())
