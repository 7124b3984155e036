"""The audit: whatever stands otherwise than the journal says is named, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.dispatcher import audit as auditing
from strongroom.dispatcher.audit import Audit, audit
from strongroom.domains import dispatch
from strongroom.domains.dispatch import JournalKind, Unreadable
from strongroom.domains.dispatch.records import JOURNAL, OUTCOMES, QUEUED, RUNNING
from tests.domains.dispatch.samples import (
    OWNER,
    WORKSPACE,
    Yard,
    completed,
    failed,
    insert_row,
    interrupted,
    overwrite_row,
    remove_row,
)


@pytest.fixture
def yard() -> Yard:
    """A workspace of the memory engine, which lets an intruder change what never changes."""
    return Yard(dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER))


def test_an_empty_workspace_is_explained() -> None:
    workspace = dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE)
    assert audit(workspace) == Audit(0, 0, ())


def test_runs_in_every_state_are_explained(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_PAGE", 3)
    yard.complete()
    for ending in (failed(), interrupted()):
        yard.submit()
        yard.dispatcher.finish(yard.claim(), ending)
    leased = yard.workspace.dispatcher("brief", lease_ms=1)
    yard.submit()
    leased.claim()
    while not (taken := leased.take_over()):
        pass
    leased.finish(taken[0], completed())
    yard.submit()
    yard.claim()
    yard.dispatcher.restart()
    yard.submit()
    yard.claim()
    yard.submit()
    found = audit(yard.workspace)
    assert (found.findings, found.runs, found.entries) == ((), 7, yard.workspace.journal.head())
    assert found.valid


def test_a_run_that_moves_while_it_is_looked_at_is_no_finding(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    run = yard.submit()
    listed = yard.workspace.runs.list

    def moved(**given: Any) -> Any:
        page = listed(**given)
        if yard.run(run).state == "queued":
            yard.claim()
            yard.submit()
        return page

    monkeypatch.setattr(yard.workspace.runs, "list", moved)
    assert audit(yard.workspace).findings == ()


def test_a_run_that_stands_elsewhere_is_named(yard: Yard) -> None:
    run = yard.complete()
    outcome = yard.engine.get(OUTCOMES, WORKSPACE, yard.run(run).number)
    assert outcome is not None
    overwrite_row(yard.engine, OUTCOMES, outcome.replace(attempt=2))
    found = audit(yard.workspace)
    assert not found.valid
    token = outcome.token
    stands = f"{run} is completed (attempt 2, token {token}, chain 1)"
    assert found.findings == (f"{stands}, but the journal tells of completed (attempt 1, token {token}, chain 1)",)


@pytest.mark.parametrize("change", [{"token": 1}, {"state": "failed", "entry": None}, {"entry": 2}])
def test_every_part_of_where_a_run_stands_is_held_to_the_journal(yard: Yard, change: dict[str, Any]) -> None:
    run = yard.complete()
    outcome = yard.engine.get(OUTCOMES, WORKSPACE, yard.run(run).number)
    assert outcome is not None
    overwrite_row(yard.engine, OUTCOMES, outcome.replace(**change))
    assert [finding.split()[0] for finding in audit(yard.workspace).findings] == [run]


def test_a_run_that_the_journal_does_not_know_is_named_and_so_is_one_that_is_gone(yard: Yard) -> None:
    run = yard.submit()
    overwrite_row(yard.engine, JOURNAL, yard.entries()[-1].replace(run="run_other"))
    queued = "queued (attempt 0, token 0, chain -)"
    assert audit(yard.workspace).findings == (
        f"run_other is not there, but the journal tells of {queued}",
        f"{run} is {queued}, but the journal tells of no such run",
    )


def test_a_run_without_a_place_is_no_run(yard: Yard) -> None:
    run = yard.submit()
    remove_row(yard.engine, QUEUED, yard.engine.get(QUEUED, WORKSPACE, yard.run(run).number))
    with pytest.raises(Unreadable):
        audit(yard.workspace)


def test_an_entry_that_does_not_follow_the_one_before_is_named(yard: Yard) -> None:
    run = yard.submit()
    claim = yard.claim()
    yard.dispatcher.finish(claim, failed())
    entry = yard.entries()[-1]
    overwrite_row(yard.engine, JOURNAL, entry.replace(from_state="queued"))
    found = audit(yard.workspace)
    assert found.findings == (f"entry {entry.sequence}: {run} goes from queued to failed, but it was running",)


def test_a_run_that_ends_twice_is_named(yard: Yard) -> None:
    run = yard.submit()
    yard.dispatcher.finish(yard.claim(), failed())
    entry = yard.entries()[-1]
    insert_row(yard.engine, JOURNAL, entry.replace(sequence=entry.sequence + 1))
    assert audit(yard.workspace).findings == (
        f"entry {entry.sequence + 1}: {run} goes from running to failed, but it was failed",
    )


def test_an_end_that_nothing_began_is_named(yard: Yard) -> None:
    run = yard.submit()
    yard.dispatcher.finish(yard.claim(), failed())
    first = next(entry for entry in yard.entries() if entry.kind is JournalKind.RUN_QUEUED)
    overwrite_row(yard.engine, JOURNAL, first.replace(run="run_other"))
    assert f"entry {first.sequence + 1}: {run} goes from queued to running, but it was nothing" in (
        audit(yard.workspace).findings
    )


def test_a_gap_in_the_journal_is_no_history(yard: Yard) -> None:
    yard.submit()
    yard.claim()
    remove_row(yard.engine, JOURNAL, yard.entries()[1])
    with pytest.raises(Unreadable):
        audit(yard.workspace)


def test_a_run_whose_claim_is_not_the_journal_s_is_named(yard: Yard) -> None:
    run = yard.submit()
    running = yard.claim().running
    overwrite_row(yard.engine, RUNNING, running.replace(token=running.token + 1))
    assert [finding.split()[0] for finding in audit(yard.workspace).findings] == [run]
