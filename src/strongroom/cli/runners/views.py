"""What a fleet looks like: sections of rows, for a terminal, for a file, and for one that is drawn again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from strongroom.cli import output
from strongroom.cli.output import Part
from strongroom.cli.runners.fences import Remaining
from strongroom.cli.runners.policies import scale, standing, workspace
from strongroom.cli.runners.roots import place_of_host
from strongroom.domains.runners import AttemptState, Host, PolicyState, RunnerAttempt, ScalePolicy

_ATTEMPT_STYLES: Final = {
    AttemptState.BUSY: "green",
    AttemptState.FAILED: "red",
    AttemptState.ORPHANED: "red",
    AttemptState.CLEANED: "dim",
}
_POLICY_STYLES: Final = {
    PolicyState.ACTIVE: "green",
    PolicyState.DISABLED: "dim",
    PolicyState.REPAIR_REQUIRED: "red",
    PolicyState.AUTHENTICATION_FAILED: "red",
}

_SHORT: Final = 12
"""Columns of at most so many characters are cut last, when a terminal is too narrow."""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under names of columns. `empty` is said where there are none."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Part, ...], ...]
    empty: str


def hosts_section(
    hosts: Iterable[Host], policies: Iterable[ScalePolicy], remaining: Mapping[str, Remaining]
) -> Section:
    """Hosts, and how many attempts of their policies are active."""
    host_of = {policy.id: policy.host_id for policy in policies}
    rows = []
    for host in hosts:
        active = sum(counts.active for policy, counts in remaining.items() if host_of.get(policy) == host.id)
        rows.append(
            (
                (output.shown(host.id), "bold"),
                output.shown(host.display_name),
                f"{host.os} {host.architecture}",
                f"{active} of {host.host_capacity}",
                str(place_of_host(host)),
            )
        )
    return Section("hosts", ("id", "name", "system", "active", "runner root"), tuple(rows), "no hosts")


def policies_section(policies: Iterable[ScalePolicy], remaining: Mapping[str, Remaining]) -> Section:
    """Policies, and how many of their attempts are not cleaned."""
    rows = []
    for policy in policies:
        counts = remaining.get(policy.id, Remaining())
        labels = policy.routing_labels
        rows.append(
            (
                (policy.target_slug, "bold"),
                output.shown(policy.id),
                output.shown(policy.host_id),
                (standing(policy), _POLICY_STYLES.get(policy.state, "")),
                scale(policy),
                "-" if labels is None else ", ".join(labels.all),
                workspace(policy),
                str(counts.active),
                (str(counts.cleanup_blocked), "yellow" if counts.cleanup_blocked else ""),
            )
        )
    columns = ("target", "policy", "host", "state", "runners", "labels", "workspace", "active", "cleanup-blocked")
    return Section("policies", columns, tuple(rows), "no policies")


def attempts_section(attempts: Iterable[RunnerAttempt], targets: Mapping[str, str]) -> Section:
    """Attempts, each with its policy's target; the id of a policy that is gone."""
    rows = []
    for attempt in attempts:
        target = targets.get(attempt.policy_id)
        rows.append(
            (
                (output.shown(attempt.id), "bold"),
                f"{output.shown(attempt.policy_id)} (gone)" if target is None else target,
                (attempt.state.value, _ATTEMPT_STYLES.get(attempt.state, "")),
                output.when(attempt.last_state_change_at),
                attempt.slot_directory or "-",
                output.shown(attempt.process_id),
                output.shown(attempt.github_runner_id),
                outcome(attempt),
            )
        )
    columns = ("attempt", "target", "state", "since", "slot", "process", "runner", "outcome")
    return Section("attempts", columns, tuple(rows), "no attempts")


def outcome(attempt: RunnerAttempt) -> str:
    """How an attempt ended, in a few words; the text of a failure is never among them."""
    if attempt.outcome_kind is None:
        return "-"
    return attempt.outcome_kind.value if attempt.failure_reason is None else f"failed ({attempt.failure_reason})"


def say_view(sections: Sequence[Section]) -> None:
    """Print sections one after the other; their titles where there are several."""
    for section in sections:
        if len(sections) > 1 and section.rows:
            output.say((section.title, "bold"))
        indent = "  " if len(sections) > 1 and section.rows else ""
        for row in _padded(section):
            output.say(indent, *row)


def drawn(sections: Sequence[Section], footer: str) -> RenderableType:
    """The same for a terminal, to be drawn over and over, and a line under it.

    Each row is one line, however narrow the terminal is: columns with long values are cut first.
    """
    parts: list[RenderableType] = []
    for section in sections:
        if not section.rows:
            parts.append(Text(section.empty, style="dim"))
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        rows = [[_cell(part) for part in row] for row in section.rows]
        for place, column in enumerate(section.columns):
            widest = max(len(column), *(row[place].cell_len for row in rows))
            table.add_column(Text(column, no_wrap=True, overflow="ellipsis"), no_wrap=widest <= _SHORT)
        for row in rows:
            table.add_row(*row)
        if len(sections) > 1:
            parts.append(Text(section.title, style="bold"))
        parts.append(table)
    return Group(*parts, Text(footer, style="dim"))


def _padded(section: Section) -> Iterable[list[Part]]:
    if not section.rows:
        yield [(section.empty, "dim")]
        return
    header = tuple((column, "dim") for column in section.columns)
    lines = [[(output.one_line(text), style) for text, style in map(_styled, row)] for row in (header, *section.rows)]
    widths = [max(len(text) for text, _style in column) for column in zip(*lines, strict=True)]
    for line in lines:
        last = len(line) - 1
        parts: list[Part] = []
        for place, ((text, style), width) in enumerate(zip(line, widths, strict=True)):
            parts += [(text, style), "" if place == last else " " * (width - len(text) + 2)]
        yield parts


def _cell(part: Part) -> Text:
    text, style = _styled(part)
    return Text(output.one_line(text), style, no_wrap=True, overflow="ellipsis")


def _styled(part: Part) -> tuple[str, str]:
    return (part, "") if isinstance(part, str) else part
