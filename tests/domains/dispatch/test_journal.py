"""The journal: one entry for everything that changes, none for what does not, in an order that nobody can lose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import (
    RUNNER,
    Actor,
    ActorKind,
    Concerns,
    JournalEntry,
    JournalKind,
    OccurrenceState,
    RefusalCode,
    Refused,
    RequestConflict,
)
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.records import JOURNAL
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.engine import Engine
from tests.domains.dispatch.samples import (
    OWNER,
    WORKSPACE,
    Yard,
    a_release,
    completed,
    failed,
    insert_row,
    interrupted,
    state_of,
)

S = OccurrenceState
INSTALLATION = (ActorKind.INSTALLATION, OWNER, None)
BY_RUNNER = (ActorKind.RUNNER, "", None)


def everything(workspace: dispatch.Workspace, hands: list[int]) -> None:
    """A life in which each of the 26 kinds comes up."""
    owner = Actor(ActorKind.INSTALLATION, OWNER)
    workspace.releases.save(a_release())
    job = workspace.jobs.create("nightly", "release_1").job
    dispatcher = workspace.dispatcher("here")
    dispatcher.restart("1.0")
    trigger = workspace.triggers.create(job.id, "webhook", '{"secret-config":1}')
    trigger = workspace.triggers.rotate_key(trigger.id).trigger
    workspace.triggers.configure(trigger.id, '{"secret-config":2}')
    workspace.triggers.pause(trigger.id, "maintenance")
    workspace.occurrences.receive(trigger.id, "while paused")
    trigger = workspace.triggers.resume(trigger.id)

    def occurrence(identity: str, *states: OccurrenceState, expires_at_ms: int = 0) -> str:
        by = dispatch.credential_actor(trigger)
        received = workspace.occurrences.receive(trigger.id, identity, expires_at_ms=expires_at_ms, by=by)
        before = received.occurrence.state
        for state in states:
            workspace.occurrences.move(received.occurrence.id, state, expect=before, reason="so it is")
            before = state
        return received.occurrence.id

    occurrence("fails", S.PREPARING, S.FAILED)
    occurrence("expires", S.EXPIRED)
    occurrence("reconciled", S.PREPARING, S.NEEDS_ATTENTION, S.RECONCILED)
    occurrence("cancelled", S.READY, S.CANCELLED)
    ready = occurrence("submitted", S.PREPARING, S.READY, expires_at_ms=hands[0] + 5)
    workspace.submit_occurrence(ready, '{"secret-input":1}')
    hands[0] += 10
    for key in ("a", "b", "c"):
        workspace.submit(job.id, f"secret-key-{key}", '{"secret-input":2}')
    endings = [completed(result='{"secret-result":1}'), failed("no memory"), interrupted()]
    for claim, ending in zip(dispatcher.claim(4), endings, strict=True):
        dispatcher.finish(claim, ending)
    workspace.record_refusal("submit", "queue_full", status=429, concerns=Concerns(job=job.id), by=owner)
    dispatcher.stop()


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [1_000_000]
    monkeypatch.setattr(WritePort, "now", lambda self: now[0])
    return now


def test_every_kind_of_change_has_its_entry_and_its_detail(workspace: dispatch.Workspace, hands: list[int]) -> None:
    everything(workspace, hands)
    entries = workspace.journal.page(limit=1000).items
    assert {entry.kind for entry in entries} == set(JournalKind)
    job = workspace.jobs.list().items[0]
    (trigger,) = workspace.triggers.list()
    ids = {run.state: run.id for run in workspace.runs.list().items}

    def one(kind: str, run: str = "") -> JournalEntry:
        return next(entry for entry in entries if entry.kind == kind and (not run or entry.run == run))

    def told(entry: JournalEntry) -> tuple[Any, ...]:
        detail = json.loads(entry.detail) if entry.detail else None
        return (entry.by, entry.by_name, entry.by_revision), (entry.from_state, entry.to_state), entry.reason, detail

    by_trigger = (ActorKind.TRIGGER, trigger.id, 2)
    by_credential = (ActorKind.TRIGGER_CREDENTIAL, trigger.id, 1)
    held = {"jobs": 0, "triggers": 0, "occurrences": 0, "runs": 0}
    done = workspace.runs.get(ids[dispatch.RunState.COMPLETED])
    assert told(one("journal.began")) == (BY_RUNNER, ("", ""), "", {"held": held})
    assert told(one("release.previewed")) == (INSTALLATION, ("", ""), "", None)
    assert told(one("job.created")) == (INSTALLATION, ("", ""), "", None)
    assert told(one("runner.started")) == (BY_RUNNER, ("", ""), "", {"version": "1.0", "runtimeDigest": ""})
    assert told(one("trigger.configured")) == (INSTALLATION, ("", "active"), "", None)
    assert told(one("trigger.key-rotated")) == (INSTALLATION, ("", ""), "", {"keyRevision": 1})
    assert told(one("trigger.paused")) == (INSTALLATION, ("active", "paused"), "maintenance", None)
    assert told(one("trigger.resumed")) == (INSTALLATION, ("paused", "active"), "", None)
    assert told(one("occurrence.skipped")) == (by_trigger, ("", "skipped"), "the trigger is paused", None)
    assert told(one("occurrence.received")) == (by_credential, ("", "received"), "", None)
    assert told(one("occurrence.preparing")) == (BY_RUNNER, ("received", "preparing"), "so it is", None)
    assert told(one("occurrence.needs-attention"))[1] == ("preparing", "needs-attention")
    assert told(one("occurrence.reconciled"))[1] == ("needs-attention", "reconciled")
    assert told(one("occurrence.submitted")) == (by_trigger, ("ready", "submitted"), "", None)
    assert one("occurrence.submitted").run == one("run.expired").run
    assert told(one("run.queued")) == (by_trigger, ("", "queued"), "", None)
    assert told(one("run.queued", done.id)) == (INSTALLATION, ("", "queued"), "", None)
    assert told(one("run.started", done.id)) == (BY_RUNNER, ("queued", "running"), "", {"attempt": 1})
    expired = "it expired before it was started"
    assert told(one("run.expired")) == (BY_RUNNER, ("queued", "failed"), expired, None)
    assert told(one("run.completed")) == (BY_RUNNER, ("running", "completed"), "", {"chainSequence": 1})
    assert told(one("run.failed")) == (BY_RUNNER, ("running", "failed"), "no memory", None)
    seen = {"interruption": {"seen": True, "at": hands[0]}}
    assert told(one("run.interrupted")) == (BY_RUNNER, ("running", "interrupted"), "asked to stop", seen)
    refused = {"code": "queue_full", "request": "submit", "status": 429}
    assert told(one("admission.refused")) == (INSTALLATION, ("", ""), "", refused)
    assert told(one("runner.stopped")) == (BY_RUNNER, ("", ""), "", None)
    assert (one("run.completed").job, one("run.completed").release) == (job.id, "release_1")
    assert one("run.expired").trigger == trigger.id
    assert one("run.expired").occurrence == one("occurrence.submitted").occurrence


def test_no_entry_holds_an_input_a_result_a_key_or_a_digest(workspace: dispatch.Workspace, hands: list[int]) -> None:
    everything(workspace, hands)
    text = repr(workspace.journal.page(limit=1000).items)
    assert "secret" not in text
    assert "sha256" not in text
    assert "evaluated" not in text
    digest = workspace.triggers.list()[0].key_digest
    assert digest
    assert digest not in text


def test_what_changes_nothing_writes_nothing(workspace: dispatch.Workspace, hands: list[int]) -> None:
    everything(workspace, hands)
    (job,) = workspace.jobs.list().items
    (trigger,) = workspace.triggers.list()
    submitted = workspace.occurrences.list(trigger.id, state=S.SUBMITTED).items[0]
    waiting = workspace.submit(job.id, "waiting", "{}")
    before = state_of(workspace.engine, SCHEMA.tables)
    assert workspace.jobs.create("nightly", "release_1").replayed
    assert workspace.submit(job.id, "waiting", " {} ").run == waiting.run
    assert workspace.submit_occurrence(submitted.id, '{"secret-input":1}').replayed
    assert workspace.occurrences.receive(trigger.id, "submitted").replayed
    workspace.triggers.configure(trigger.id, '{ "secret-config": 2 }')
    workspace.triggers.resume(trigger.id)
    same = workspace.record_refusal("submit", "queue_full", status=429, concerns=Concerns(job=job.id))
    assert same is None
    refused: list[tuple[type[Exception], Callable[[], object]]] = [
        (RequestConflict, lambda: workspace.submit(job.id, "waiting", "1")),
        (Refused, lambda: workspace.jobs.create("weekly", "release_1")),
        (dispatch.Taken, lambda: workspace.releases.save(a_release())),
        (dispatch.Conflict, lambda: workspace.occurrences.move(submitted.id, S.FAILED, expect=S.READY)),
        (Refused, lambda: workspace.occurrences.move(submitted.id, S.FAILED, expect=S.SUBMITTED)),
    ]
    for kind, call in refused:
        with pytest.raises(kind):
            call()
    assert workspace.update(lambda update: update.abandon(update.create_release(a_release("r")))).id == "r"
    assert state_of(workspace.engine, SCHEMA.tables) == before


def test_entries_are_dense_and_in_the_order_of_commits(yard: Yard) -> None:
    for _ in range(5):
        yard.complete()
    places = [entry.sequence for entry in yard.entries()]
    assert places == list(range(1, len(places) + 1))
    assert yard.workspace.journal.head() == len(places)
    assert yard.workspace.journal.get(1) == yard.entries()[0]
    assert yard.workspace.journal.get(len(places) + 1) is None


def test_the_journal_begins_with_its_beginning_whoever_writes_first(room: Engine) -> None:
    workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
    assert workspace.journal.page() == dispatch.JournalPage(None, [], 0, False)
    workspace.record_refusal("submit", "queue_full", status=429)
    page = workspace.journal.page()
    assert [entry.kind for entry in page.items] == ["journal.began", "admission.refused"]
    assert page.began == page.items[0].at_ms


def test_pages_go_forward_oldest_first(yard: Yard) -> None:
    for _ in range(7):
        yard.submit()
    entries = yard.entries()
    found: list[JournalEntry] = []
    page = yard.workspace.journal.page(limit=3)
    while True:
        found += page.items
        assert page.began == entries[0].at_ms
        assert page.next == found[-1].sequence
        if not page.more:
            break
        assert len(page.items) == 3
        page = yard.workspace.journal.page(after=page.next, limit=3)
    assert found == entries
    assert yard.workspace.journal.page(after=page.next) == dispatch.JournalPage(page.began, [], page.next, False)
    yard.submit()
    assert [entry.kind for entry in yard.workspace.journal.page(after=page.next).items] == ["run.queued"]


def test_one_job_s_entries_are_picked_out_of_all(yard: Yard) -> None:
    yard.workspace.releases.save(a_release("release_2"))
    other = yard.workspace.jobs.create("weekly", "release_2").job
    for number in range(4):
        yard.submit()
        yard.workspace.submit(other.id, f"{number}", "{}")
    mine = [entry for entry in yard.entries() if entry.job == yard.job.id]
    first = yard.workspace.journal.page(job=yard.job.id, limit=3)
    assert (first.items, first.more) == (mine[:3], True)
    rest = yard.workspace.journal.page(after=first.next, job=yard.job.id)
    assert (rest.items, rest.more) == (mine[3:], False)
    assert yard.workspace.journal.page(job="job_0").items == []


@pytest.mark.parametrize(
    "arguments",
    [{"after": -1}, {"after": True}, {"limit": 0}, {"limit": 10_001}, {"limit": True}, {"job": "x" * 256}],
    ids=str,
)
def test_a_page_that_can_t_be_is_refused(yard: Yard, arguments: dict[str, Any]) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        yard.workspace.journal.page(**arguments)


def test_a_journal_with_a_hole_is_unreadable_and_never_taken_for_a_short_one(yard: Yard) -> None:
    last = yard.entries()[-1]
    insert_row(yard.engine, JOURNAL, last.replace(sequence=last.sequence + 2))
    with pytest.raises(dispatch.Unreadable):
        yard.workspace.journal.page()


def test_a_refusal_is_told_once_a_minute(yard: Yard, hands: list[int]) -> None:
    def refuse(code: str = "queue_full", reason: str = "") -> int | None:
        return yard.workspace.record_refusal("submit", code, status=429, reason=reason)

    assert refuse() is not None
    assert refuse() is None
    assert refuse(reason="another") is not None
    assert refuse(code="idempotency_conflict") is not None
    hands[0] += 59_999
    assert refuse() is None
    hands[0] += 1
    assert refuse() is not None
    assert yard.kinds().count(JournalKind.ADMISSION_REFUSED) == 4


def test_a_long_reason_is_cut_between_two_characters(yard: Yard) -> None:
    yard.submit()
    yard.dispatcher.finish(yard.claim(), failed("é" * 600))
    entry = yard.entries()[-1]
    assert entry.reason == "é" * 512
    yard.workspace.record_refusal("submit", "x", status=400, reason="a" + "💥" * 300)
    assert yard.entries()[-1].reason == "a" + "💥" * 255


def test_entries_are_ordered_by_their_place_and_not_by_the_clock(yard: Yard, hands: list[int]) -> None:
    yard.submit()
    hands[0] -= 500_000
    yard.submit()
    times = [entry.at_ms for entry in yard.entries()]
    assert times != sorted(times)
    assert [entry.sequence for entry in yard.entries()] == list(range(1, len(times) + 1))


def test_the_runner_is_nobody() -> None:
    assert Actor(ActorKind.RUNNER) == RUNNER
    assert {code.value for code in RefusalCode} >= {"queue_full", "idempotency_conflict"}
