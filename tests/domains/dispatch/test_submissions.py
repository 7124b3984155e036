"""Submissions: once for each request key, up to the limit of the queue; and releases and jobs, which come before."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Job, RefusalCode, Refused, Release, RequestConflict, RunState
from strongroom.domains.dispatch.records import OUTCOMES, SUBMISSIONS
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.engine import Engine
from strongroom.patterns import digest
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard, a_release, state_of


def test_a_run_comes_back_as_it_was_asked_for(yard: Yard) -> None:
    submitted = yard.workspace.submit(yard.job.id, "k", '{"b": 1.50, "a": [1e3]}', requested_by="ci")
    run = yard.workspace.runs.get(submitted.run)
    assert run.id.startswith("run_")
    assert len(run.id) == 36
    assert (run.job, run.release, run.revision) == (yard.job.id, "release_1", 1)
    assert (run.state, run.attempt, run.token, run.holder) == (RunState.QUEUED, 0, 0, "")
    assert (run.caller, run.key, run.requested_by) == (OWNER, "k", "ci")
    assert run.input == '{"a":[1e3],"b":1.50}'
    queued = yard.workspace.journal.get(run.number)
    assert queued is not None
    assert (queued.kind, queued.run, queued.at_ms) == ("run.queued", run.id, run.created_at_ms)


def test_a_retry_is_answered_whatever_became_of_the_run(yard: Yard) -> None:
    run = yard.submit("k")
    for step in (yard.claim, lambda: None):
        step()
        again = yard.workspace.submit(yard.job.id, "k", "{}")
        assert (again.run, again.replayed) == (run, True)
    yard.workspace.dispatcher().restart()
    assert yard.workspace.submit(yard.job.id, "k", "{}").run == run
    known = yard.workspace.runs.requested(yard.job.id, "k")
    assert known is not None
    assert known.digest == digest(b"{}")
    assert known.record().state is RunState.INTERRUPTED


def test_another_request_under_the_same_key_is_refused(yard: Yard) -> None:
    yard.submit("k", '{"a":1}')
    for other in ('{"a":2}', '{"a":1.0}', "{}", "1"):
        with pytest.raises(RequestConflict) as refused:
            yard.submit("k", other)
        assert isinstance(refused.value, Refused)
        assert refused.value.code is RefusalCode.IDEMPOTENCY_CONFLICT
        assert not refused.value.retryable


def test_keys_of_other_callers_and_jobs_are_other_keys(yard: Yard) -> None:
    yard.workspace.releases.save(a_release("release_2"))
    other = yard.workspace.jobs.create("weekly", "release_2").job
    runs = {
        yard.workspace.submit(yard.job.id, "k", "{}").run,
        yard.workspace.submit(other.id, "k", "{}").run,
        yard.workspace.submit(yard.job.id, "k", "{}", caller="bob").run,
        yard.workspace.submit(yard.job.id, "K", "{}").run,
    }
    assert len(runs) == 4


def test_a_digest_of_the_caller_s_own_stands_for_the_request(yard: Yard) -> None:
    as_sent = digest(b"as it was sent")
    first = yard.workspace.submit(yard.job.id, "k", '{"prepared":1}', digest=as_sent)
    assert yard.workspace.submit(yard.job.id, "k", '{"prepared":2}', digest=as_sent).run == first.run
    with pytest.raises(RequestConflict):
        yard.workspace.submit(yard.job.id, "k", '{"prepared":1}')


def test_a_full_queue_refuses_new_requests_and_answers_old_ones(room: Engine) -> None:
    yard = Yard(dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER, queue_limit=3))
    runs = [yard.submit(key) for key in "abc"]
    yard.claim()
    before = state_of(room, SCHEMA.tables)
    with pytest.raises(Refused) as refused:
        yard.submit("d")
    assert refused.value.code is RefusalCode.QUEUE_FULL
    assert refused.value.retryable
    assert [yard.submit(key) for key in "abc"] == runs
    with pytest.raises(RequestConflict):
        yard.submit("a", "1")
    assert state_of(room, SCHEMA.tables) == before
    yard.workspace.dispatcher().restart()
    assert yard.submit("d")


def test_what_the_caller_does_not_accept_is_not_queued(yard: Yard) -> None:
    class Mismatch(Exception):
        pass

    mismatch = Mismatch()
    seen: list[tuple[Job, Release]] = []

    def accept(job: Job, release: Release) -> None:
        seen.append((job, release))
        raise mismatch

    run = yard.submit("old")
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Mismatch) as caught:
        yard.workspace.submit(yard.job.id, "k", "{}", accept=accept)
    assert caught.value is mismatch
    assert seen[0] == (yard.job, a_release())
    assert yard.workspace.submit(yard.job.id, "old", "{}", accept=accept).run == run  # a retry is not asked again
    assert state_of(yard.engine, SCHEMA.tables) == before


@pytest.mark.parametrize("text", ["", "{", "{} {}", "NaN", '{"a":1,"a":1}', '"' + "x" * 65_535 + '"', '"\ud800"'])
def test_an_input_is_one_json_value_that_fits(yard: Yard, text: str) -> None:
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(strongroom.InvalidArgument):
        yard.submit("k", text)
    assert state_of(yard.engine, SCHEMA.tables) == before


@pytest.mark.parametrize(
    "arguments",
    [{"key": ""}, {"key": "k" * 256}, {"caller": ""}, {"caller": "trigger:x"}, {"digest": ""}, {"requested_by": "\0"}],
    ids=str,
)
def test_a_request_out_of_range_is_refused(yard: Yard, arguments: dict[str, Any]) -> None:
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(strongroom.InvalidArgument):
        yard.workspace.submit(**{"job_id": yard.job.id, "key": "k", "input": "{}", **arguments})
    assert state_of(yard.engine, SCHEMA.tables) == before


@pytest.mark.parametrize("limit", [0, -1, 10_001, True])
def test_a_limit_of_a_queue_is_from_1_to_10_000(room: Engine, limit: int) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        dispatch.Dispatch(room).for_workspace(WORKSPACE, queue_limit=limit)


# Releases and jobs


def test_a_release_comes_back_to_the_byte(yard: Yard) -> None:
    documents = {name: f'{{"{name}":  [1.0, "é"]}}' for name in ("config", "lock", "validation", "sample", "preview")}
    given = a_release("release_2", pack="p", pack_version="1.2", tests="passed", test_evidence="[ ]", **documents)
    assert yard.workspace.releases.save(given) == given
    assert yard.workspace.releases.get("release_2") == given


def test_a_release_that_has_no_time_gets_the_engine_s(yard: Yard) -> None:
    kept = yard.workspace.releases.save(a_release("release_2", created_at_ms=0))
    assert kept.created_at_ms == yard.entries()[-1].at_ms > 0
    assert yard.workspace.releases.get("release_2") == kept


def test_a_release_has_one_job(yard: Yard) -> None:
    again = yard.workspace.jobs.create("nightly", "release_1")
    assert (again.job, again.replayed) == (yard.job, True)
    with pytest.raises(Refused) as refused:
        yard.workspace.jobs.create("weekly", "release_1")
    assert refused.value.code is RefusalCode.RELEASE_ALREADY_USED
    assert yard.workspace.jobs.list().items == [yard.job]


def test_a_job_is_its_owner_s_and_has_revision_1(yard: Yard) -> None:
    assert (yard.job.owner, yard.job.revision, yard.job.release) == (OWNER, 1, "release_1")
    assert yard.job.id.startswith("job_")
    created = yard.workspace.journal.get(yard.job.number)
    assert created is not None
    assert (created.kind, created.job, created.release) == ("job.created", yard.job.id, "release_1")


def test_what_was_asked_and_what_came_of_it_are_never_changed(yard: Yard) -> None:
    run = yard.run(yard.complete())
    submission = yard.engine.get(SUBMISSIONS, WORKSPACE, run.id)
    outcome = yard.engine.get(OUTCOMES, WORKSPACE, run.number)
    assert submission is not None
    assert outcome is not None
    with pytest.raises(strongroom.Unsupported):
        yard.engine.update(SUBMISSIONS, submission.replace(input="1"), expect=submission)
    with pytest.raises(strongroom.Unsupported):
        yard.engine.put(OUTCOMES, outcome.replace(result="1"))
    assert yard.run(run.id) == run
