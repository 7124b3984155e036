"""`strongroom runners attempts`: the journal, and following it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.runners.place import Fleet, looking
from strongroom.cli.runners.policies import found_policy
from strongroom.cli.runners.views import Section, attempts_section, say_view
from strongroom.cli.runners.watch import Changes, Interval, Watch, follow_objects, follow_view
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.domains.runners import AttemptState, NotFound, RunnerAttempt, RunnerStore
from strongroom.domains.runners.tables import ATTEMPTS


@dataclass(frozen=True, slots=True)
class Filter:
    """Which attempts are listed: of one policy or of all, in some states or in all, cleaned ones only if asked for."""

    policy_id: str | None
    states: tuple[AttemptState, ...]
    history: bool

    def listed(self, store: RunnerStore) -> list[RunnerAttempt]:
        """The attempts, oldest first. History is read only where it is asked for."""
        cleaned_too = self.history or AttemptState.CLEANED in self.states
        if self.policy_id is None:
            found = store.attempts() if cleaned_too else store.uncleaned_attempts()
        elif cleaned_too:
            found = store.attempts_for_policy(self.policy_id)
        else:
            found = store.uncleaned_attempts_for_policy(self.policy_id)
        return [attempt for attempt in found if not self.states or attempt.state in self.states]


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: attempts, and the targets of the policies that are on record."""

    attempts: list[RunnerAttempt]
    targets: dict[str, str]

    @classmethod
    def look(cls, store: RunnerStore, filter: Filter) -> Seen:
        """A look at a fleet."""
        return cls(filter.listed(store), {policy.id: policy.target_slug for policy in store.policies()})

    def view(self) -> Sequence[Section]:
        """The look as people see it."""
        return [attempts_section(self.attempts, self.targets)]


def attempts(
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="TARGET",
            help="Only attempts of this policy: a repository or organization, or the policy's id.",
            show_default=False,
        ),
    ] = None,
    states: Annotated[
        list[AttemptState] | None,
        typer.Option("--state", help="Only attempts in this state; may be given more than once.", show_default=False),
    ] = None,
    history: Annotated[bool, typer.Option("--all", help="Those that are cleaned, too.")] = False,
    watch: Watch = False,
    interval: Interval = 1.0,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the attempts of a fleet that are not cleaned, oldest first; with --watch, follow them.

    Nothing in the room is changed. With --watch a terminal shows one table that follows the store; anywhere else a new
    table is printed only when something has changed. With --json too, each attempt that came or changed is one object,
    and one that is no longer listed is {"id": ..., "gone": true}.

    Example: strongroom runners attempts --watch
    """
    with looking(room, fleet, seal_key_file) as store:
        filter = Filter(None if policy is None else _policy_id(store, policy), tuple(states or ()), history)
        if not watch:
            seen = Seen.look(store, filter)
            if not as_json:
                say_view(seen.view())
                return
            for attempt in seen.attempts:
                output.emit(attempt_object(attempt, seen.targets))
        elif as_json:
            changes = Changes()

            def objects(seen: Seen) -> Iterable[dict[str, Any]]:
                changed, gone = changes.since(seen.attempts)
                yield from (attempt_object(attempt, seen.targets) for attempt in changed)
                yield from ({"id": id, "gone": True} for id in gone)

            follow_objects(lambda: Seen.look(store, filter), objects, interval=interval)
        else:
            follow_view(lambda: Seen.look(store, filter), Seen.view, interval=interval)


def attempt_object(attempt: RunnerAttempt, targets: dict[str, str]) -> dict[str, Any]:
    """An attempt as JSON answers have it: its columns but for secrets, and what follows from them."""
    return operations.shown_record(ATTEMPTS, attempt) | {
        "target": targets.get(attempt.policy_id),
        "standing": attempt.state.standing.value,
        "cleanup_blocked": attempt.state.is_terminal and attempt.state.is_uncleaned,
    }


def _policy_id(store: RunnerStore, target: str) -> str:
    """The id of a policy that is on record, or has attempts that are."""
    try:
        return found_policy(store.policies(), target).id
    except NotFound:
        if not store.attempts_for_policy(target):
            raise
        return target
