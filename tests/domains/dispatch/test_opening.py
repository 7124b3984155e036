"""Opening, workspaces apart from each other, and what the operator's tools see of a store of this domain."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Asked
from strongroom.domains.dispatch.records import JOURNAL, REQUESTS
from strongroom.engine import Engine
from strongroom.operations import verify
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard, a_release, completed, failed, remove_row
from tests.domains.engines import FailingEngine, RefusingEngine


def test_an_engine_of_single_record_strength_is_refused_by_name() -> None:
    with SingleRecordEngine(strongroom.open("memory://")) as engine:
        with pytest.raises(strongroom.Unsupported, match="dispatch needs multi-record transactions"):
            dispatch.open(engine)
        assert engine.tables() == set()


def test_making_a_workspace_asks_the_engine_nothing() -> None:
    workspace = dispatch.Dispatch(RefusingEngine()).for_workspace(WORKSPACE, owner=OWNER)
    workspace.dispatcher("here", lease_ms=1)
    assert "build" in repr(workspace)


@pytest.mark.parametrize(("name", "owner"), [("", OWNER), ("x" * 256, OWNER), (WORKSPACE, ""), (WORKSPACE, "x" * 256)])
def test_a_workspace_has_a_name_and_an_owner(name: str, owner: str) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        dispatch.Dispatch(RefusingEngine()).for_workspace(name, owner=owner)


def test_a_workspace_sees_and_changes_nothing_of_another(yard: Yard) -> None:
    run = yard.complete()
    waiting = yard.submit("k")
    trigger = yard.workspace.triggers.create(yard.job.id, "schedule")
    other = dispatch.Dispatch(yard.engine).for_workspace("release", owner="bob")
    assert other.runs.list().items == []
    assert other.jobs.list().items == []
    assert other.triggers.list() == []
    assert other.journal.page().items == []
    assert other.chain.page().lines == []
    assert other.dispatcher().claim() == []
    assert other.runs.requested(yard.job.id, "k", caller=OWNER) is None
    assert other.dispatcher().restart().interrupted == []
    for call in (
        lambda: other.runs.get(run),
        lambda: other.releases.get("release_1"),
        lambda: other.submit(yard.job.id, "k", "{}"),
        lambda: other.triggers.pause(trigger.id),
    ):
        with pytest.raises(dispatch.Absent):
            call()
    with pytest.raises(strongroom.ScopeMismatch):
        other.releases.save(a_release("release_2"))
    other.releases.save(a_release(workspace="release"))
    job = other.jobs.create("nightly", "release_1").job
    assert not other.submit(job.id, "k", "{}").replayed
    assert yard.run(waiting).state is dispatch.RunState.QUEUED
    assert len(yard.workspace.runs.list().items) == 2


def test_a_claim_is_of_no_use_in_another_workspace_though_numbers_and_tokens_are_the_same(yard: Yard) -> None:
    twin = Yard(dispatch.Dispatch(yard.engine).for_workspace("twin", owner=OWNER))
    mine, theirs = yard.submit(), twin.submit()
    queued = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert queued is not None
    claim, other = yard.claim(), twin.claim()
    assert (claim.running.number, claim.token) == (other.running.number, other.token)
    running = claim.running
    leased = twin.workspace.dispatcher(lease_ms=1)
    for call in (
        lambda: twin.dispatcher.finish(claim, completed()),
        lambda: twin.dispatcher.finish_many([(other, completed()), (claim, completed())]),
        lambda: leased.renew(claim),
        lambda: twin.workspace.update(lambda update: update.start_run(queued)),
        lambda: twin.workspace.update(lambda update: update.end_run(running, failed())),
        lambda: twin.workspace.update(lambda update: update.create_run("r", Asked(yard.job, OWNER, "k", "d", "{}"))),
    ):
        with pytest.raises(strongroom.ScopeMismatch):
            call()
    assert yard.run(mine).state is twin.run(theirs).state is dispatch.RunState.RUNNING


def test_a_sound_store_has_no_findings(yard: Yard) -> None:
    yard.complete()
    yard.submit()
    yard.submit()
    yard.claim()
    trigger = yard.workspace.triggers.create(yard.job.id, "schedule")
    yard.workspace.occurrences.receive(trigger.id, "a")
    assert list(verify(yard.engine, [dispatch.SUBJECT])) == []


def test_the_operator_s_check_names_what_does_not_fit_together() -> None:
    yard = Yard(dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER))
    run = yard.run(yard.complete())
    remove_row(yard.engine, JOURNAL, yard.entries()[2])
    request = yard.engine.get(REQUESTS, WORKSPACE, yard.job.id, OWNER, run.key)
    assert request is not None
    remove_row(yard.engine, REQUESTS, request)
    yard.engine.insert(REQUESTS, request.replace(key="forged"))
    found = list(verify(yard.engine, [dispatch.SUBJECT]))
    assert {finding.table for finding in found} == {JOURNAL.name, REQUESTS.name}


def test_an_engine_that_is_away_is_no_failed_commit(yard: Yard) -> None:
    away = FailingEngine(strongroom.Unavailable("away"))
    workspace = dispatch.Dispatch(away).for_workspace(WORKSPACE, owner=OWNER)
    with pytest.raises(strongroom.Unavailable) as fault:
        workspace.dispatcher().claim()
    assert not isinstance(fault.value, dispatch.Durability)


def test_a_caller_s_own_faults_come_out_as_they_are(room: Engine) -> None:
    workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
    for fault in (
        strongroom.CommitUnknown("mine", token="t"),
        strongroom.Unavailable("mine"),
        strongroom.Corrupt("mine"),
        KeyError("mine"),
    ):

        def raises(_: object, fault: Exception = fault) -> None:
            raise fault

        with pytest.raises(type(fault)) as caught:
            workspace.update(raises)
        assert caught.value is fault
        with pytest.raises(type(fault)) as caught:
            workspace.read(raises)
        assert caught.value is fault
