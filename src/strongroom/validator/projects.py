"""From test cases to what is recorded of them: projects, tasks, units, and the failed share of each project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from strongroom.errors import InvalidArgument, clip
from strongroom.validator.junit import Case, fit

PROJECT_LIMIT = 255
"""The most bytes of UTF-8 in a project."""

TASK_LIMIT = 255
"""The most bytes of UTF-8 in a task."""

UNIT_LIMIT = 1024
"""The most bytes of UTF-8 in a unit."""

RULE_LIMIT = 1000
"""The most characters of a rule."""


@dataclass(frozen=True, slots=True)
class ProjectRule:
    """A regular expression that finds a case's project in its place. `parse_rule` makes them."""

    pattern: re.Pattern[str]
    group: int | str


def parse_rule(text: str) -> ProjectRule:
    """The rule that `text` states: a Python regular expression with a group named ``project``, or just one group.

    It is searched for in a case's place: its file, else its class, else its name. A class is tried as a path first,
    ``services/cart/test_x`` for ``services.cart.test_x``, and as it is if that gives no project.

    Its backtracking is not bounded: a rule such as ``(a+)+$`` takes exponential time on long names, so it must come
    from whoever runs the validator, never from what is validated. Raises `InvalidArgument` if it is over `RULE_LIMIT`,
    is no regular expression or has no such group.
    """
    if len(text) > RULE_LIMIT:
        raise InvalidArgument(f"a project rule has at most {RULE_LIMIT} characters, not {len(text)}")
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as fault:
        raise InvalidArgument(f"the project rule {clip(text)} is no regular expression: {fault}") from fault
    if "project" in pattern.groupindex:
        return ProjectRule(pattern, "project")
    if pattern.groups != 1:
        raise InvalidArgument(
            f"the project rule {clip(text)} must have one group, such as '^services/([^/]+)/', or one named 'project'"
        )
    return ProjectRule(pattern, 1)


def project_of(case: Case, rule: ProjectRule | None = None) -> str | None:
    """The project that a case belongs to, made to fit `PROJECT_LIMIT` bytes.

    With a rule: what its group matches; ``None`` where it does not match or matches nothing. Without one, the
    top-level folder of the case's file; for a file in no folder, its name without its last suffix. A case without a
    file goes by its class, else by its name: up to the first ``/`` if there is one, else up to the first ``.``.
    """
    place = _place(case)
    if rule is not None:
        # By default pytest tells no file, only a class that is the file's module.
        as_path = place if case.file or not case.classname or "/" in place else place.replace(".", "/")
        found = (rule.pattern.search(text) for text in dict.fromkeys((as_path, place)))
        project = next((project for match in found if match and (project := match.group(rule.group))), None)
        return None if project is None else fit(project, PROJECT_LIMIT)
    parts = [part for part in place.split("/") if part not in ("", ".", "..")]
    if len(parts) > 1:
        project = parts[0]
    elif parts and case.file:
        project = PurePosixPath(parts[0]).stem
    else:
        whole = parts[0] if parts else place
        project = next((part for part in whole.split(".") if part), whole)
    return fit(project, PROJECT_LIMIT)


def task_of(case: Case) -> str:
    """The task that a case's issues belong to, made to fit `TASK_LIMIT` bytes: its file, else class, else name."""
    return fit(_place(case), TASK_LIMIT)


def unit_of(case: Case) -> str:
    """The test within its task, made to fit `UNIT_LIMIT` bytes.

    That is the case's name; where the task is a file, which may hold several classes, with the class and ``::``
    before it, without the part of the class that only repeats the file.
    """
    if not case.file or case.classname in ("", case.name, case.file):
        return fit(case.name, UNIT_LIMIT)
    module = case.file.rpartition(".")[0].replace("/", ".") or case.file
    if case.classname == module:
        return fit(case.name, UNIT_LIMIT)
    return fit(f"{case.classname.removeprefix(f'{module}.')}::{case.name}", UNIT_LIMIT)


def degrees(cases: Iterable[Case], rule: ProjectRule | None = None) -> dict[str, float]:
    """For each project, sorted, the share of its cases that failed or had an error: 0.0 to 1.0.

    Skipped cases do not count, and a project with no others is left out, as are cases without a project.
    """
    counted: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for case in cases:
        if case.outcome != "skipped" and (project := project_of(case, rule)) is not None:
            counted[project] += 1
            failed[project] += case.outcome != "passed"
    return {project: failed[project] / counted[project] for project in sorted(counted)}


def _place(case: Case) -> str:
    return case.file or case.classname or case.name
