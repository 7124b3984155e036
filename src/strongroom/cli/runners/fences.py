"""What must be gone before the place of jobs may change, and what is said of a change that lost its race.

Attempts that are not cleaned are of two kinds: active ones end by themselves, and concluded ones whose cleanup is not
done, or has failed, block until somebody cleans them. A refusal always says how many there are of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from strongroom.cli import output
from strongroom.domains.runners import CONFLICTS, RunnerAttempt
from strongroom.errors import Conflict, StrongroomError


@dataclass(frozen=True, slots=True)
class Remaining:
    """How many attempts are not cleaned: those that are active, and those that only their cleanup is missing for."""

    active: int = 0
    cleanup_blocked: int = 0

    def __str__(self) -> str:
        return f"{self.active} active, {self.cleanup_blocked} cleanup-blocked"

    def __bool__(self) -> bool:
        return self.active + self.cleanup_blocked > 0


class AttemptsRemain(Conflict):
    """Attempts that are not cleaned are in the way of a change; nothing was written."""

    def __init__(self, subject: str, remaining: Remaining) -> None:
        super().__init__(
            f"{subject} has attempts that are not cleaned: {remaining}; try again when the active ones have ended and "
            "all are cleaned"
        )
        self.remaining = remaining


def split(attempts: Iterable[RunnerAttempt]) -> Remaining:
    """The attempts of a list that are not cleaned, counted by what they still hold."""
    uncleaned = [attempt.state for attempt in attempts if attempt.state.is_uncleaned]
    active = sum(state.counts_against_capacity for state in uncleaned)
    return Remaining(active, len(uncleaned) - active)


def split_by_policy(attempts: Iterable[RunnerAttempt]) -> dict[str, Remaining]:
    """As `split`, for each policy that has any; none for every other."""
    of_policy: dict[str, list[RunnerAttempt]] = defaultdict(list)
    for attempt in attempts:
        of_policy[attempt.policy_id].append(attempt)
    return defaultdict(Remaining, {policy: split(those) for policy, those in of_policy.items()})


def refuse_while_uncleaned(subject: str, attempts: Iterable[RunnerAttempt]) -> None:
    """Raises `AttemptsRemain` if any of the attempts is not cleaned."""
    if remaining := split(attempts):
        raise AttemptsRemain(subject, remaining)


@contextmanager
def fenced(made: str | None = None) -> Iterator[None]:
    """A write under a fence: where the fence does not hold, `Conflict` instead of the domain's own five.

    Whatever goes wrong, the directory that was `made` for it is named: it stays, and is empty.
    """
    try:
        yield
    except CONFLICTS as lost:
        left = "" if made is None else f"; the new directory {made} is left, empty"
        raise Conflict(f"{lost}: somebody was quicker, and nothing was written{left}") from lost
    except (StrongroomError, KeyboardInterrupt):
        if made is not None:
            output.remark(f"the new directory {made} is left, empty")
        raise
