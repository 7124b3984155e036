"""Listings: newest first, page after page, filtered row by row."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Listing, RunState, RunSummary, journal, listings, run_store
from strongroom.domains.dispatch.records import RUNNING, SUBMISSIONS
from strongroom.engine import Engine
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard, a_release, completed, failed, remove_row


def listed(yard: Yard, **wanted: Any) -> list[str]:
    """All pages' runs."""
    found: list[RunSummary] = []
    after = 0
    while True:
        page = yard.workspace.runs.list(**wanted, after=after)
        found += page.items
        if not page.next:
            return [run.id for run in found]
        after = page.next


def test_runs_are_listed_newest_first_wherever_they_stand(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(5)]
    claims = yard.dispatcher.claim(4)
    yard.dispatcher.finish(claims[2], completed())
    yard.dispatcher.finish(claims[0], failed())
    assert listed(yard) == runs[::-1]
    assert listed(yard, limit=2) == runs[::-1]
    assert listed(yard, limit=5) == runs[::-1]
    states = [run.state.value for run in yard.workspace.runs.list().items]
    assert states == ["queued", "running", "completed", "running", "failed"]


def test_a_page_knows_whether_there_is_another(yard: Yard) -> None:
    for _ in range(4):
        yard.submit()
    assert yard.workspace.runs.list(limit=4).next == 0
    assert yard.workspace.runs.list(limit=10_000).next == 0
    page = yard.workspace.runs.list(limit=3)
    assert page.next == page.items[-1].number
    last = yard.workspace.runs.list(limit=3, after=page.next)
    assert (len(last.items), last.next) == (1, 0)
    assert yard.workspace.runs.list(after=1) == Listing([], 0)


def test_runs_that_are_queued_meanwhile_disturb_no_page(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(4)]
    page = yard.workspace.runs.list(limit=2)
    yard.submit()
    yard.claim()
    rest = yard.workspace.runs.list(after=page.next)
    assert [run.id for run in page.items + rest.items] == runs[::-1]


def test_runs_are_filtered_by_state_job_review_and_text(yard: Yard) -> None:
    yard.workspace.releases.save(a_release("release_2"))
    other = yard.workspace.jobs.create("weekly 100%", "release_2").job
    mine, theirs = [], []
    for number in range(3):
        mine.append(yard.submit())
        theirs.append(yard.workspace.submit(other.id, f"{number}", "{}").run)
    first, second = yard.dispatcher.claim(2)
    yard.dispatcher.finish(first, completed(review=True))
    yard.dispatcher.finish(second, failed())
    yard.claim()
    assert listed(yard, state=RunState.COMPLETED) == [mine[0]]
    assert listed(yard, state=RunState.FAILED) == [theirs[0]]
    assert listed(yard, state=RunState.RUNNING) == [mine[1]]
    assert listed(yard, state=RunState.QUEUED) == [theirs[2], mine[2], theirs[1]]
    assert listed(yard, state=RunState.INTERRUPTED) == []
    assert listed(yard, job=yard.job.id) == mine[::-1]
    assert listed(yard, job=other.id, limit=1) == theirs[::-1]
    assert listed(yard, job=other.id, state=RunState.QUEUED) == [theirs[2], theirs[1]]
    assert listed(yard, job="job_0") == []
    assert listed(yard, review=True) == [mine[0]]
    assert len(listed(yard, review=False)) == 5
    assert listed(yard, q="weekly 100%") == theirs[::-1]
    assert listed(yard, q="%") == theirs[::-1]  # a literal text, and no pattern
    assert listed(yard, q="Weekly") == []
    assert listed(yard, q=mine[1][4:]) == [mine[1]]
    assert listed(yard, q=other.id, limit=2) == theirs[::-1]


def test_a_summary_has_no_input_and_the_beginning_of_its_result(yard: Yard) -> None:
    run = yard.complete(result='"' + "x" * 500 + '"')
    (summary,) = yard.workspace.runs.list().items
    assert type(summary) is RunSummary
    assert not hasattr(summary, "input")
    assert not hasattr(summary, "record")
    assert summary.result == '"' + "x" * 255
    whole = yard.run(run)
    assert len(whole.result or "") == 502
    assert (summary.id, summary.entry, summary.finished_at_ms) == (run, whole.entry, whole.finished_at_ms)


def test_a_page_of_what_is_rare_looks_at_a_bounded_number_of_rows(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "EXAMINED", 4)
    monkeypatch.setattr(listings, "_CHUNK", 2)
    rare = yard.complete(review=True)
    for _ in range(9):
        yard.submit()
        yard.dispatcher.finish(yard.claim(), failed())
    page = yard.workspace.runs.list(review=True, limit=1)
    assert page.items == []
    assert page.next
    assert listed(yard, review=True, limit=1) == [rare]
    monkeypatch.setattr(journal, "EXAMINED", 4)
    monkeypatch.setattr(journal, "_CHUNK", 2)
    yard.workspace.record_refusal("submit", "x", status=400, concerns=dispatch.Concerns(job="job_rare"))
    found, after, more = [], 0, True
    while more:
        entries = yard.workspace.journal.page(job="job_rare", after=after, limit=4)
        found += entries.items
        after, more = entries.next, entries.more
    assert [entry.kind for entry in found] == ["admission.refused"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"after": -1},
        {"after": True},
        {"limit": 0},
        {"limit": 10_001},
        {"q": "x" * 201},
        {"q": "é" * 101},
        {"state": "asleep"},
        {"job": "x" * 256},
    ],
    ids=str,
)
def test_a_listing_that_can_t_be_is_refused(yard: Yard, wanted: dict[str, Any]) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        yard.workspace.runs.list(**wanted)


def test_jobs_are_listed_newest_first(room: Engine) -> None:
    workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
    names = ["nightly", "weekly", "on demand"]
    for number, name in enumerate(names):
        workspace.releases.save(a_release(f"release_{number}"))
        workspace.jobs.create(name, f"release_{number}")
    assert [job.name for job in workspace.jobs.list().items] == names[::-1]
    page = workspace.jobs.list(limit=2)
    assert [job.name for job in page.items] == ["on demand", "weekly"]
    assert [job.name for job in workspace.jobs.list(after=page.next).items] == ["nightly"]
    assert [job.name for job in workspace.jobs.list(q="ly").items] == ["weekly", "nightly"]


def test_a_run_that_stands_nowhere_or_was_never_asked_for_is_unreadable() -> None:
    yard = Yard(dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER))
    orphan, lost = yard.complete(), yard.submit()
    yard.claim()
    (running,) = yard.workspace.read(lambda reads: reads.running_runs())
    remove_row(yard.engine, RUNNING, running)
    with pytest.raises(dispatch.Unreadable):
        yard.run(lost)
    with pytest.raises(dispatch.Unreadable):
        yard.workspace.runs.list(job=yard.job.id)
    remove_row(yard.engine, SUBMISSIONS, yard.engine.get(SUBMISSIONS, WORKSPACE, orphan))
    with pytest.raises(dispatch.Unreadable):
        yard.workspace.runs.list()
    with pytest.raises(dispatch.Absent):
        yard.run(orphan)
