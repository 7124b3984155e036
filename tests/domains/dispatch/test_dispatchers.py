"""Dispatchers: claims in groups, leases and take-overs, expiry in the queue, and what a restart finds."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import BITE, Conflict, EndState, JournalKind, Refused, RunState
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.engine import Engine
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard, completed, failed, interrupted, state_of


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    made = Hands()
    monkeypatch.setattr(WritePort, "now", lambda self: made.now)
    return made


def test_a_claim_says_what_to_do_and_under_which_token(yard: Yard) -> None:
    run = yard.submit(input='{"commit": "abc", "a": 1}')
    claim = yard.claim()
    assert (claim.run, claim.input) == (run, '{"a":1,"commit":"abc"}')
    started = yard.workspace.journal.get(claim.token)
    assert started is not None
    assert (started.kind, started.run) == (JournalKind.RUN_STARTED, run)
    now = yard.run(run)
    assert (now.state, now.attempt, now.token, now.holder, now.until_ms) == (
        RunState.RUNNING,
        1,
        claim.token,
        "here",
        0,
    )
    assert yard.dispatcher.claim() == []


def test_claims_come_in_groups_in_the_order_of_the_queue(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(20)]
    assert [claim.run for claim in yard.dispatcher.claim(BITE)] == runs[:BITE]
    assert [claim.run for claim in yard.dispatcher.claim(BITE)] == runs[BITE:]


@pytest.mark.parametrize("limit", [0, -1, BITE + 1, True, 1.0])
def test_a_group_that_no_transaction_holds_is_refused(yard: Yard, limit: int) -> None:
    yard.submit()
    with pytest.raises(strongroom.InvalidArgument):
        yard.dispatcher.claim(limit)
    with pytest.raises(strongroom.InvalidArgument):
        yard.workspace.dispatcher(lease_ms=1).take_over(limit)


def test_many_runs_end_together_and_one_that_is_refused_is_in_nobody_s_way(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(40)]
    claims = [claim for _ in range(3) for claim in yard.dispatcher.claim(BITE)]
    yard.dispatcher.finish(claims[7], failed("elsewhere"))
    endings = [(claim, completed()) for claim in claims]
    endings[20] = (claims[20], completed(record=b"two\nlines"))
    answers = yard.dispatcher.finish_many(endings)
    assert isinstance(answers[7], Conflict)
    assert isinstance(answers[20], Refused)
    assert [yard.run(run).state for run in runs].count(RunState.COMPLETED) == 38
    assert yard.run(runs[20]).state is RunState.RUNNING
    assert len(yard.lines()) == 38
    assert yard.workspace.chain.verify().valid
    # The same again changes nothing.
    before = state_of(yard.engine, SCHEMA.tables)
    again = yard.dispatcher.finish_many(endings)
    assert [type(answer) for answer in again] == [type(answer) for answer in answers]
    assert state_of(yard.engine, SCHEMA.tables) == before


def test_large_outcomes_end_in_several_transactions(yard: Yard) -> None:
    for _ in range(12):
        yard.submit()
    claims = yard.dispatcher.claim(12)
    large = completed(record=b"r" * 65_535, result='"' + "x" * 65_000 + '"')
    answers = yard.dispatcher.finish_many([(claim, large) for claim in claims])
    assert all(isinstance(answer, dispatch.Outcome) for answer in answers)
    assert len(yard.lines()) == 12


def test_how_a_run_ended_is_told_whole(yard: Yard) -> None:
    runs = [yard.submit() for _ in range(3)]
    for claim, ending in zip(
        yard.dispatcher.claim(3),
        [completed(signatures='["s"]', review=True), failed("no memory"), interrupted()],
        strict=True,
    ):
        yard.dispatcher.finish(claim, ending)
    done, broken, stopped = map(yard.run, runs)
    assert (done.state, done.result, done.record) == (RunState.COMPLETED, '{"ok":true}', b'{"evaluated":true}')
    assert (done.signatures, done.review, done.problem, done.entry) == ('["s"]', True, None, 1)
    assert (broken.state, broken.problem, broken.entry, broken.interrupted_at_ms) == (
        RunState.FAILED,
        "no memory",
        None,
        None,
    )
    assert (stopped.state, stopped.interrupted_at_ms) == (RunState.INTERRUPTED, stopped.finished_at_ms)
    for run in (done, broken, stopped):
        assert run.created_at_ms <= (run.started_at_ms or 0) <= (run.finished_at_ms or 0)
        assert run.attempt == 1


def test_a_run_that_waits_can_only_fail(yard: Yard) -> None:
    yard.submit()
    queued = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert queued is not None
    for ending in (completed(), interrupted()):
        with pytest.raises(Refused) as refused:
            yard.workspace.update(lambda update: update.end_run(queued, ending))  # noqa: B023
        assert refused.value.code is dispatch.RefusalCode.ILLEGAL_TRANSITION
    assert yard.run(queued.run).state is RunState.QUEUED


# Restarts


def test_a_restart_interrupts_what_was_running_and_leaves_what_waits(yard: Yard) -> None:
    done = yard.complete()
    running = [yard.submit() for _ in range(3)]
    yard.dispatcher.claim(3)
    waiting = yard.submit()
    restarted = yard.workspace.dispatcher().restart("1.2", "sha256:abc")
    assert restarted.interrupted == running
    run = yard.run(running[0])
    assert (run.state, run.problem) == (RunState.INTERRUPTED, "its dispatcher stopped before it was finished")
    assert run.interrupted_at_ms is None
    assert run.finished_at_ms is not None
    assert yard.run(done).state is RunState.COMPLETED
    assert yard.claim().run == waiting
    entry = next(entry for entry in yard.entries() if entry.run == running[0] and entry.kind == "run.interrupted")
    assert f'"lastKnownRunning":{run.started_at_ms},"restart":{restarted.sequence},"seen":false' in entry.detail


def test_a_restart_never_runs_anything_again(yard: Yard) -> None:
    run = yard.submit()
    claim = yard.claim()
    later = yard.workspace.dispatcher()
    later.restart()
    assert later.claim() == []
    with pytest.raises(Conflict):
        yard.dispatcher.finish(claim, completed())
    assert yard.run(run).state is RunState.INTERRUPTED
    assert yard.lines() == []
    assert later.restart().interrupted == []


def test_a_restart_ends_many_runs_in_steps_that_are_whole_each(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(Exception):
        pass

    runs = [yard.submit() for _ in range(50)]
    for _ in range(4):
        yard.dispatcher.claim(BITE)
    later = yard.workspace.dispatcher()
    update, calls = later._bound.update, []

    def killed(change: object) -> object:
        calls.append(change)
        if len(calls) > 3:
            raise Killed
        return update(change)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(later._bound, "update", killed)
        with pytest.raises(Killed):
            later.restart()
    ended = [run for run in runs if yard.run(run).state is RunState.INTERRUPTED]
    assert ended == runs[: 2 * BITE]
    assert [entry.run for entry in yard.entries() if entry.kind is JournalKind.RUN_INTERRUPTED] == ended
    assert later.restart().interrupted == runs[2 * BITE :]
    assert yard.workspace.read(lambda reads: reads.active_runs()) == 0


def test_the_owner_of_a_workspace_is_who_wrote_first(yard: Yard) -> None:
    stranger = dispatch.open(yard.engine).for_workspace(WORKSPACE, owner="eve")
    run = yard.submit()
    yard.claim()
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Refused) as refused:
        stranger.dispatcher().restart()
    assert refused.value.code is dispatch.RefusalCode.OTHER_OWNER
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(run).state is RunState.RUNNING


def test_a_dispatcher_says_that_it_starts_and_stops(room: Engine) -> None:
    workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
    dispatcher = workspace.dispatcher()
    assert dispatcher.restart("1.2", "sha256:abc").sequence == 2
    assert dispatcher.stop() == 3
    began, started, stopped = workspace.journal.page().items
    assert [entry.kind for entry in (began, started, stopped)] == ["journal.began", "runner.started", "runner.stopped"]
    assert started.detail == '{"runtimeDigest":"sha256:abc","version":"1.2"}'
    assert stopped.detail == ""


# Leases


def test_a_dead_dispatcher_s_run_is_taken_over_and_its_late_finish_refused(yard: Yard, hands: Hands) -> None:
    dead = yard.workspace.dispatcher("dead", lease_ms=1000)
    alive = yard.workspace.dispatcher("alive", lease_ms=1000)
    run = yard.submit()
    (lost,) = dead.claim()
    assert alive.take_over() == []
    hands.now += 999
    assert alive.take_over() == []
    hands.now += 1
    (taken,) = alive.take_over()
    assert taken.token > lost.token
    assert taken.input == lost.input
    before = state_of(yard.engine, SCHEMA.tables)
    for late in (completed(), failed(), interrupted()):
        with pytest.raises(Conflict) as conflict:
            dead.finish(lost, late)
        assert conflict.value.expected == f"running under {lost.token}"
        assert conflict.value.found == f"running under {taken.token}"
    with pytest.raises(Conflict):
        dead.renew(lost)
    assert state_of(yard.engine, SCHEMA.tables) == before
    alive.finish(taken, completed())
    with pytest.raises(Conflict):
        dead.finish(lost, completed())
    ended = yard.run(run)
    assert (ended.state, ended.attempt, ended.token) == (RunState.COMPLETED, 2, taken.token)
    assert yard.kinds_of(run) == ["run.queued", "run.started", "run.started", "run.completed"]
    again = [entry for entry in yard.entries() if entry.run == run][2]
    assert (again.from_state, again.to_state) == ("running", "running")
    assert again.detail == f'{{"attempt":2,"takenOver":{{"attempt":1,"until":{lost.running.until_ms}}}}}'


def test_a_renewed_lease_keeps_others_away_and_is_no_change_of_state(yard: Yard, hands: Hands) -> None:
    first = yard.workspace.dispatcher("first", lease_ms=1000)
    second = yard.workspace.dispatcher("second", lease_ms=1000)
    yard.submit()
    (claim,) = first.claim()
    before = yard.kinds()
    for _ in range(3):
        hands.now += 900
        claim = first.renew(claim)
        assert claim.running.until_ms == hands.now + 1000
        assert second.take_over() == []
    assert yard.kinds() == before
    assert first.finish(claim, completed()).state is EndState.COMPLETED


def test_a_lease_that_is_over_is_good_as_long_as_nobody_took_the_run(yard: Yard, hands: Hands) -> None:
    dispatcher = yard.workspace.dispatcher(lease_ms=1000)
    runs = [yard.submit(), yard.submit()]
    first, second = dispatcher.claim(2)
    hands.now += 5000
    dispatcher.finish(first, completed())
    dispatcher.finish(dispatcher.renew(second), completed())
    assert [yard.run(run).state for run in runs] == [RunState.COMPLETED] * 2


def test_a_claim_without_a_lease_is_never_taken_over(yard: Yard, hands: Hands) -> None:
    yard.submit()
    claim = yard.claim()
    hands.now += 10**9
    assert yard.workspace.dispatcher(lease_ms=1).take_over() == []
    yard.dispatcher.finish(claim, completed())
    with pytest.raises(strongroom.InvalidArgument):
        yard.dispatcher.take_over()
    with pytest.raises(strongroom.InvalidArgument):
        yard.dispatcher.renew(claim)


def test_a_restart_leaves_live_leases_alone(yard: Yard, hands: Hands) -> None:
    leased = yard.workspace.dispatcher("leased", lease_ms=1000)
    runs = [yard.submit() for _ in range(3)]
    leased.claim()
    hands.now += 500
    leased.claim()
    yard.claim()
    hands.now += 600
    # The first lease is over, the second is live, and the third claim has none.
    assert yard.workspace.dispatcher(lease_ms=1000).restart().interrupted == []
    assert yard.workspace.dispatcher().restart().interrupted == [runs[0], runs[2]]
    assert yard.run(runs[1]).state is RunState.RUNNING


@pytest.mark.parametrize("lease", [0, -1, True, 1.5, 2**63])
def test_a_lease_is_some_milliseconds(workspace: dispatch.Workspace, lease: int) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        workspace.dispatcher(lease_ms=lease)


# Expiry in the queue


def expiring(yard: Yard, *expires_at: int) -> list[str]:
    """Runs of occurrences of no interest from those times on; 0 for never."""
    trigger = yard.workspace.triggers.create(yard.job.id, "schedule")
    runs = []
    for number, at in enumerate(expires_at):
        received = yard.workspace.occurrences.receive(trigger.id, f"{trigger.id}-{number}", expires_at_ms=at)
        occurrence = yard.workspace.occurrences.move(
            received.occurrence.id, dispatch.OccurrenceState.READY, expect=dispatch.OccurrenceState.RECEIVED
        )
        runs.append(yard.workspace.submit_occurrence(occurrence.id, "{}").run)
    return runs


def test_a_run_that_expired_in_the_queue_fails_and_is_not_started(yard: Yard, hands: Hands) -> None:
    gone, never, live = expiring(yard, hands.now + 10, 0, hands.now + 11)
    hands.now += 10
    assert [claim.run for claim in yard.dispatcher.claim(3)] == [never, live]
    run = yard.run(gone)
    assert (run.state, run.problem, run.attempt) == (RunState.FAILED, "it expired before it was started", 0)
    assert (run.started_at_ms, run.finished_at_ms) == (None, hands.now)
    assert yard.kinds_of(gone)[-1] is JournalKind.RUN_EXPIRED


def test_a_claim_goes_on_behind_what_expired(yard: Yard, hands: Hands) -> None:
    runs = expiring(yard, *[hands.now + 1] * 3, 0)
    hands.now += 1
    assert yard.claim().run == runs[3]
    assert [yard.run(run).state for run in runs[:3]] == [RunState.FAILED] * 3


def test_expired_runs_can_be_ended_without_a_claim(yard: Yard, hands: Hands) -> None:
    runs = expiring(yard, *[hands.now + 1] * 20, 0)
    before = yard.kinds()
    assert yard.dispatcher.expire() == []
    assert yard.kinds() == before
    hands.now += 1
    assert yard.dispatcher.expire() == runs[:20]
    assert yard.dispatcher.expire() == []
    assert yard.run(runs[20]).state is RunState.QUEUED
