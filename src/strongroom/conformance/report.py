"""What a run of the kit found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

Status = Literal["passed", "failed", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """What came of one case. `note` says why it failed, or why it could not be run."""

    case: str
    clause: str
    status: Status
    note: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)
    """What the case raised, with its traceback."""


@dataclass(frozen=True)
class ClauseCount:
    """How many cases one clause had in a run, and how many of them passed."""

    cases: int
    passed: int


@dataclass(frozen=True)
class Failure:
    """A case that the engine did not pass, and why."""

    case: str
    clause: str
    error: str


@dataclass(frozen=True)
class Unproved:
    """A case that concerns the engine but could not be run: the harness can't provide what it needs."""

    case: str
    clause: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The outcome of a run. `cases` counts all that were selected and concern the engine, by what it claims: those that
    passed, those that failed and those that are unsupported, together.
    """

    engine: str
    strength: str
    clauses: dict[str, ClauseCount]
    cases: int
    passed: int
    failed: tuple[Failure, ...]
    unsupported: tuple[Unproved, ...]

    @classmethod
    def of(cls, engine: str, strength: str, outcomes: Sequence[Outcome]) -> Report:
        """The report over these outcomes."""
        clauses: dict[str, ClauseCount] = {}
        for outcome in outcomes:
            count = clauses.get(outcome.clause, ClauseCount(0, 0))
            clauses[outcome.clause] = ClauseCount(count.cases + 1, count.passed + (outcome.status == "passed"))
        return cls(
            engine,
            strength,
            clauses,
            len(outcomes),
            sum(outcome.status == "passed" for outcome in outcomes),
            tuple(Failure(o.case, o.clause, o.note) for o in outcomes if o.status == "failed"),
            tuple(Unproved(o.case, o.clause, o.note) for o in outcomes if o.status == "unsupported"),
        )

    @property
    def ok(self) -> bool:
        """Whether no case failed. What was unsupported is not proved by that."""
        return not self.failed

    def to_json(self) -> str:
        """The report as one JSON object, its names in the order of the fields here."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def __str__(self) -> str:
        head = f"{self.engine} ({self.strength}): {self.passed} of {self.cases} cases passed"
        lines = [f"{head}, {len(self.failed)} failed, {len(self.unsupported)} unsupported"]
        lines += [f"  FAILED {f.clause} {f.case}: {f.error}" for f in self.failed]
        return "\n".join(lines)
