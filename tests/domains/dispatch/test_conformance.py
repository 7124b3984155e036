"""The contract of a job runner's store, case by case, on every engine.

`test_mutants.py` breaks one safeguard at a time and has each of these functions notice it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import pytest

import strongroom
from strongroom.conformance.harness import Ability
from strongroom.conformance.unreliable import UnreliableEngine
from strongroom.domains import dispatch
from strongroom.domains.dispatch import (
    Claim,
    Conflict,
    EndState,
    JournalKind,
    Refused,
    RequestConflict,
    RunState,
    Taken,
    Unreadable,
)
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.records import CHAIN_LINES, RELEASES, SUBMISSIONS, ChainLine
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.engine import Engine
from tests.domains.dispatch.samples import (
    OWNER,
    RECORD,
    WORKSPACE,
    Yard,
    a_release,
    broken_seals,
    completed,
    failed,
    insert_row,
    retried,
    state_of,
)

T = TypeVar("T")


def test_a_release_is_created_once(yard: Yard) -> None:
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Taken):
        yard.workspace.releases.save(a_release(title="Another"))
    assert yard.workspace.releases.get("release_1") == a_release()
    assert state_of(yard.engine, SCHEMA.tables) == before


def test_a_run_is_queued_once_under_its_id_and_once_under_its_request_key(yard: Yard) -> None:
    yard.create("run_1", key="k")
    before = state_of(yard.engine, SCHEMA.tables)
    for run_id, key in [("run_1", "other"), ("run_2", "k")]:
        with pytest.raises(Taken):
            yard.create(run_id, key)
    assert state_of(yard.engine, SCHEMA.tables) == before
    yard.create("run_2", key="k", caller="bob")  # another caller's key is another key
    assert [run.id for run in yard.workspace.runs.list().items] == ["run_2", "run_1"]


def test_the_queue_is_served_in_the_order_in_which_runs_were_queued(yard: Yard) -> None:
    ids = ["run_c", "run_a", "run_b"]  # their own order is another
    for run_id in ids:
        yard.create(run_id)
    first = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert first is not None
    assert first.run == "run_c"
    claims = yard.dispatcher.claim(2) + yard.dispatcher.claim(2)
    assert [claim.run for claim in claims] == ids
    assert [run.run for run in yard.workspace.read(lambda reads: reads.running_runs())] == ids
    assert yard.workspace.dispatcher().restart().interrupted == ids


def test_a_run_that_was_read_as_queued_is_claimed_once(yard: Yard) -> None:
    run = yard.submit()
    queued = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert queued is not None
    yard.workspace.update(lambda update: update.start_run(queued, holder="first"))
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Conflict):
        yard.workspace.update(lambda update: update.start_run(queued, holder="second"))
    with pytest.raises(Conflict):
        yard.workspace.update(lambda update: update.end_run(queued, failed()))
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(run).holder == "first"


def test_a_claim_is_ended_once_and_by_its_own_token_alone(yard: Yard) -> None:
    run = yard.submit()
    claim = yard.claim()
    stranger = Claim(claim.submission, claim.running.replace(token=claim.token + 1))
    with pytest.raises(Conflict):
        yard.dispatcher.finish(stranger, failed())
    yard.dispatcher.finish(claim, completed())
    with pytest.raises(Conflict):
        yard.dispatcher.finish(claim, failed())
    assert yard.run(run).state is RunState.COMPLETED


def test_concurrent_claimers_are_granted_every_run_once_and_none_is_lost(yard: Yard) -> None:
    producing = threading.Event()

    def submit(key: str) -> str:
        return retried(lambda: yard.workspace.submit(yard.job.id, key, "{}").run)

    def produce(name: int) -> list[str]:
        return [submit(f"{name}-{number}") for number in range(10)]

    def claim() -> list[str]:
        dispatcher = yard.workspace.dispatcher()
        granted: list[str] = []
        while True:
            over = producing.is_set()
            claims = retried(lambda: dispatcher.claim(2))
            granted += [claim.run for claim in claims]
            if over and not claims:
                return granted

    with ThreadPoolExecutor(10) as crowd:
        producers = [crowd.submit(produce, name) for name in range(4)]
        claimers = [crowd.submit(claim) for _ in range(6)]
        wait(producers)
        producing.set()
    made = [run for producer in producers for run in producer.result()]
    granted = [run for claimer in claimers for run in claimer.result()]
    assert Counter(granted) == Counter(made)
    assert len(made) == 40
    started = [entry.run for entry in yard.entries() if entry.kind is JournalKind.RUN_STARTED]
    assert Counter(started) == Counter(made)


def test_a_transaction_that_fails_keeps_nothing(yard: Yard) -> None:
    class Stop(Exception):
        pass

    run = yard.submit()
    queued = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert queued is not None
    before = state_of(yard.engine, SCHEMA.tables)
    stop = Stop()

    def change(update: dispatch.Update) -> None:
        update.create_release(a_release("release_2"))
        update.end_run(update.start_run(queued), completed())
        raise stop

    with pytest.raises(Stop) as caught:
        yard.workspace.update(change)
    assert caught.value is stop
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(run).state is RunState.QUEUED
    assert yard.claim().run == run


def test_a_commit_that_fails_is_durability_and_never_a_success(room: Engine) -> None:
    unreliable = UnreliableEngine(room)
    yard = Yard(dispatch.open(unreliable).for_workspace(WORKSPACE, owner=OWNER))
    run = yard.submit()
    claim = yard.claim()
    before = state_of(room, SCHEMA.tables)
    calls: list[Callable[[], object]] = [
        lambda: yard.dispatcher.finish(claim, completed()),
        lambda: yard.submit("again"),
        lambda: yard.workspace.releases.save(a_release("release_2")),
        lambda: yard.dispatcher.stop(),
    ]
    for call in calls:
        unreliable.fault = Ability.FAILED_COMMIT
        with pytest.raises(dispatch.NotKept) as failed_commit:
            call()
        assert isinstance(failed_commit.value, dispatch.Durability)
        assert isinstance(failed_commit.value.__cause__, strongroom.Unavailable)
        unreliable.fault = Ability.LOST_COMMIT
        with pytest.raises(dispatch.OutcomeUnknown) as lost:
            call()
        assert isinstance(lost.value, dispatch.Durability)
        assert unreliable.resolve(lost.value.token) is False
    unreliable.fault = None
    assert state_of(room, SCHEMA.tables) == before
    assert yard.dispatcher.finish(claim, completed()).run == run


def test_an_answer_that_is_lost_is_found_out_by_asking_again(room: Engine) -> None:
    unreliable = UnreliableEngine(room)
    yard = Yard(dispatch.open(unreliable).for_workspace(WORKSPACE, owner=OWNER))
    yard.submit("k")
    claim = yard.claim()
    unreliable.fault = Ability.LOST_ANSWER
    with pytest.raises(dispatch.OutcomeUnknown) as lost:
        yard.dispatcher.finish(claim, completed())
    unreliable.fault = None
    assert unreliable.resolve(lost.value.token) is True
    before = state_of(room, SCHEMA.tables)
    assert yard.dispatcher.finish(claim, completed()).state is EndState.COMPLETED
    assert state_of(room, SCHEMA.tables) == before


def test_the_chain_has_one_entry_for_each_completed_run_in_the_order_of_completion(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(4)]
    claims = yard.dispatcher.claim(4)
    order = [claims[2], claims[0], claims[3]]
    yard.dispatcher.finish(claims[1], failed())
    for claim in order:
        yard.dispatcher.finish(claim, completed())
    entries = [dispatch.RUN_LINES.parse(line) for line in yard.lines()]
    assert [entry.run for entry in entries] == [claim.run for claim in order]
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert [yard.workspace.chain.entry_sequence(run) for run in runs] == [2, None, 1, 3]
    assert [yard.run(run).entry for run in runs] == [2, None, 1, 3]
    assert yard.workspace.chain.verify().valid


@pytest.mark.parametrize("record", [None, b"", b"a\nb", b"a\n", b"\n", b"a\rb"], ids=repr)
def test_a_completion_without_its_one_record_line_is_not_recorded(yard: Yard, record: bytes | None) -> None:
    run = yard.submit()
    claim = yard.claim()
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Refused) as refused:
        yard.dispatcher.finish(claim, completed(record=record))
    assert refused.value.code is dispatch.RefusalCode.RECORD_LINE_REQUIRED
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(run).state is RunState.RUNNING
    yard.dispatcher.finish(claim, failed())  # which needs none
    assert yard.lines() == []


def test_chain_entries_are_read_in_their_order_whatever_order_they_were_made_in(yard: Yard) -> None:
    for sequence in (11, 2, 9, 1, 10, 3, 8, 4, 7, 5, 6):
        insert_row(yard.engine, CHAIN_LINES, ChainLine(WORKSPACE, sequence, b"%d" % sequence))
    page = yard.workspace.chain.page(limit=4)
    assert (page.lines, page.last) == ([b"1", b"2", b"3", b"4"], 4)
    page = yard.workspace.chain.page(after=7)
    assert (page.lines, page.last) == ([b"8", b"9", b"10", b"11"], 11)
    page = yard.workspace.chain.page(after=11)
    assert (page.lines, page.last) == ([], 11)


def test_what_is_not_held_reads_absent(workspace: dispatch.Workspace) -> None:
    absent: list[Callable[[], object]] = [
        lambda: workspace.releases.get("release_0"),
        lambda: workspace.jobs.get("job_0"),
        lambda: workspace.runs.get("run_0"),
        lambda: workspace.triggers.get("trg_0"),
        lambda: workspace.occurrences.get("occ_0"),
        lambda: workspace.chain.prove("run_0"),
        lambda: workspace.jobs.create("nightly", "release_0"),
        lambda: workspace.submit("job_0", "k", "{}"),
        lambda: workspace.occurrences.receive("trg_0", "i"),
    ]
    for call in absent:
        with pytest.raises(dispatch.Absent) as caught:
            call()
        assert isinstance(caught.value, strongroom.NotFound)
    assert workspace.runs.requested("job_0", "k") is None
    assert workspace.chain.entry_sequence("run_0") is None
    assert workspace.chain.entry_line("run_0") is None
    assert workspace.chain.head() is None
    assert workspace.journal.head() == 0
    assert workspace.dispatcher().claim() == []
    assert workspace.read(lambda reads: reads.oldest_queued()) is None


def test_a_record_that_is_not_what_was_written_is_unreadable(yard: Yard) -> None:
    with broken_seals(yard.engine, SUBMISSIONS, RELEASES):
        run = yard.submit("k")
        yard.workspace.releases.save(a_release("release_2"))
    before = yard.kinds()
    unreadable: list[Callable[[], object]] = [
        lambda: yard.workspace.runs.get(run),
        lambda: yard.workspace.releases.get("release_2"),
        lambda: yard.workspace.runs.list(),
        lambda: yard.dispatcher.claim(),
    ]
    for call in unreadable:
        with pytest.raises(Unreadable) as caught:
            call()
        assert isinstance(caught.value, strongroom.Corrupt)
        assert isinstance(caught.value.__cause__, strongroom.Corrupt)
        assert caught.value.table in (SUBMISSIONS.name, RELEASES.name)
    assert yard.kinds() == before
    # What the key stands for is told without reading the run's record.
    known = yard.workspace.runs.requested(yard.job.id, "k")
    assert known is not None
    assert known.run == run
    assert yard.workspace.submit(yard.job.id, "k", "{}").replayed
    with pytest.raises(Unreadable):
        known.record()


def test_a_replay_is_answered_and_written_once(yard: Yard) -> None:
    first = yard.workspace.submit(yard.job.id, "k", '{"b": 1.0, "a": 2}')
    before = state_of(yard.engine, SCHEMA.tables)
    again = yard.workspace.submit(yard.job.id, "k", '{"a":2,"b":1.0}')
    assert (again.run, again.replayed) == (first.run, True)
    with pytest.raises(RequestConflict):
        yard.workspace.submit(yard.job.id, "k", '{"a":2,"b":1}')
    assert state_of(yard.engine, SCHEMA.tables) == before


@pytest.mark.parametrize("step", [-3_600_000, -1, 1, 3_600_000])
def test_a_claim_is_one_dispatcher_s_whatever_the_clock_does(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    clock = [10_000_000]
    monkeypatch.setattr(WritePort, "now", lambda self: clock[0])
    first = yard.workspace.dispatcher("first", lease_ms=60_000)
    second = yard.workspace.dispatcher("second", lease_ms=60_000)
    run = yard.submit()
    (claim,) = first.claim()
    clock[0] += step
    taken = second.take_over()
    # A clock that steps back never shortens a lease; one that steps past its end ends it, and fences the first.
    assert [one.run for one in taken] == ([run] if step > 60_000 else [])
    assert second.claim() == []
    for one in taken:
        assert one.token > claim.token
        with pytest.raises(Conflict):
            first.finish(claim, completed())
        with pytest.raises(Conflict):
            first.renew(claim)
        second.finish(one, completed())
    if not taken:
        assert first.renew(claim).running.until_ms >= claim.running.until_ms
        first.finish(claim, completed())
    assert yard.run(run).state is RunState.COMPLETED
    assert len(yard.lines()) == 1
    places = [entry.sequence for entry in yard.entries()]
    assert places == list(range(1, len(places) + 1))


def test_a_reopened_store_holds_what_it_held(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/room.db?exclusive=1"
    with strongroom.open(url) as room:
        yard = Yard(dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER))
        ended = yard.complete()
        claimed = yard.submit()
        yard.claim()
        waiting = [yard.submit("b"), yard.submit("a")]
        entries, lines = yard.entries(), yard.lines()
    with strongroom.open(url) as room:
        again = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
        assert again.runs.get(claimed).state is RunState.RUNNING
        assert again.runs.get(ended).record == RECORD
        assert again.chain.entry_line(ended) == lines[0]
        assert [one.run for one in again.read(lambda reads: reads.queued_runs())] == waiting
        assert again.releases.get("release_1") == a_release()
        assert again.submit(yard.job.id, "b", "{}").run == waiting[0]
        assert again.journal.page(limit=1000).items == entries


def test_one_engine_holds_an_exclusive_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/room.db?exclusive=1"
    with strongroom.open(url) as room:
        dispatch.open(room)
        with pytest.raises(strongroom.StoreHeld):
            strongroom.open(url)
