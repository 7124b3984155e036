"""What the test reports that a command left say of its commit: failed shares of projects, and issues.

A report is evidence only as far as it can be trusted: a broken or missing one says nothing at all, and one that shows
no failure although the command failed says too little to take an issue for resolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strongroom.domains.stovepipe import Issue
from strongroom.errors import InvalidArgument
from strongroom.validator import junit
from strongroom.validator.projects import ProjectRule, degrees, project_of, task_of, unit_of


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one run's reports show; nothing at all where none was asked for."""

    fault: str = ""
    """Why they can't be used, in one line; empty if they can."""
    complete: bool = False
    """Whether they tell of every issue, so that an issue which they do not show is gone."""
    cases: int = 0
    failures: int = 0
    unplaced: int = 0
    """How many tests there are if the rule gave none of them a project; else 0."""
    projects: Mapping[str, float] = field(default_factory=dict)
    """The failed share of each project, 0.0 to 1.0."""
    issues: Sequence[Issue] = ()
    """A failed test each: its file or class, and the test within it."""


def analyse(worktree: Path, pattern: str, rule: ProjectRule | None, *, succeeded: bool) -> Analysis:
    """What the reports that `pattern` names in `worktree` show, for a command that succeeded or did not.

    Several reports are read as one. If none is there, or one of them can't be read, that is the analysis' fault.
    """
    try:
        paths = junit.find_reports(worktree, pattern)
        if not paths:
            return Analysis(fault=f"no report {pattern} was left")
        cases = junit.merge(case for path in paths for case in junit.read(path, worktree))
    except InvalidArgument as fault:
        return Analysis(fault=str(fault))
    failed = [case for case in cases if case.outcome in ("failed", "error")]
    return Analysis(
        complete=succeeded or bool(failed),
        cases=len(cases),
        failures=len(failed),
        unplaced=0 if any(project_of(case, rule) for case in cases) else len(cases),
        projects=degrees(cases, rule),
        issues=sorted({Issue(task_of(case), unit_of(case)) for case in failed}),
    )
