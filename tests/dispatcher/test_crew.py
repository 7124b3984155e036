"""Crews: every run that waits is performed once, what is lost is let go, and what is not sure ends the crew."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from strongroom.dispatcher.crew import (
    MOST_JOBS,
    Began,
    Ended,
    Event,
    Left,
    Lost,
    Orders,
    Started,
    Stopping,
    Troubled,
)
from strongroom.domains.dispatch import (
    Claim,
    Dispatcher,
    Ending,
    JournalKind,
    NotKept,
    OutcomeUnknown,
    Refused,
    Release,
    RunState,
    Unreadable,
    Update,
)
from strongroom.domains.dispatch.transitions import take_over_run
from strongroom.errors import Conflict as Contended
from strongroom.errors import InvalidArgument, StoreHeld, StrongroomError
from tests.dispatcher.sites import LONG, Site, Working, sh, until
from tests.domains.dispatch.samples import failed

T = TypeVar("T")


def overtake(site: Site, number: int) -> int:
    """Have a run taken over by somebody whose clock runs ahead: under which token."""

    def change(update: Update) -> int:
        held = update.running_run(number)
        assert held is not None
        update.moment._now = update.now + LONG
        return take_over_run(update.moment, held, "heir", LONG).token

    return site.workspace.update(change)


def states(site: Site, runs: list[str]) -> list[RunState]:
    return [site.run(run).state for run in runs]


@pytest.mark.parametrize("lease_ms", [LONG, None])
def test_what_waits_is_run_in_its_order_and_what_came_of_it_is_kept(site: Site, lease_ms: int | None) -> None:
    diary = site.folder / "diary"
    runs = site.submit_many(sh('echo "$STRONGROOM_RUN" >>"$0"', str(diary)), 5)
    runs += site.submit(sh("exit 7"))
    events = site.drain(lease_ms=lease_ms)
    assert diary.read_text().split() == runs[:5]
    assert states(site, runs) == [RunState.COMPLETED] * 5 + [RunState.FAILED]
    assert site.run(runs[5]).problem == "its exit code is 7"
    assert [event.claim.run for event in events if isinstance(event, Ended)] == runs
    kinds = [entry.kind for entry in site.entries() if not entry.job and not entry.release]
    assert kinds == [JournalKind.JOURNAL_BEGAN, JournalKind.RUNNER_STARTED, JournalKind.RUNNER_STOPPED]
    report = site.workspace.chain.verify()
    assert (report.valid, report.lines) == (True, 5)


def test_the_line_in_the_attempt_s_folder_is_the_one_that_the_store_has(site: Site) -> None:
    (run,) = site.submit(sh("cat"), input='{"commit":"1f3a"}')
    site.drain()
    folder = site.attempts.path(run, 1)
    kept = site.run(run)
    assert (folder / "record.json").read_bytes() == (kept.record or b"") + b"\n"
    assert (folder / "stdout").read_text() == '{"commit":"1f3a"}'
    assert json.loads(kept.record or b"")["token"] == kept.token


def test_as_many_commands_run_at_once_as_were_ordered_and_no_more_is_claimed(site: Site) -> None:
    runs = site.submit_many(site.waiting(), 5)
    with Working(site, jobs=3, drain=True) as crew:
        until(lambda: all(site.began(run) for run in runs[:3]), "three commands run at once")
        waiting = site.workspace.read(lambda reads: [queued.run for queued in reads.queued_runs()])
        assert waiting == runs[3:], "what can't be begun is left to others"
        site.go()
        crew.join()
    assert states(site, runs) == [RunState.COMPLETED] * 5


@pytest.mark.parametrize("jobs", [0, -1, MOST_JOBS + 1])
def test_a_number_of_jobs_that_can_t_be_is_refused(jobs: int) -> None:
    with pytest.raises(InvalidArgument, match=f"must be 1 to {MOST_JOBS}"):
        Orders(jobs=jobs)


def test_a_crew_waits_for_runs_until_it_is_told_to_stop(site: Site) -> None:
    with Working(site) as crew:
        until(lambda: crew.seen(Started), "it has started")
        (run,) = site.submit(sh("true"))
        until(lambda: crew.seen(Ended), "the run that came later has ended")
        crew.stop.set()
        crew.join()
    assert (crew.fault, site.run(run).state) == (None, RunState.COMPLETED)
    assert site.entries()[-1].kind is JournalKind.RUNNER_STOPPED


def test_told_to_stop_a_crew_ends_what_it_has_begun_and_claims_nothing_more(site: Site) -> None:
    runs = site.submit_many(site.waiting(), 3)
    with Working(site, jobs=1) as crew:
        until(lambda: site.began(runs[0]), "the first command is at work")
        crew.stop.set()
        until(lambda: crew.seen(Stopping) == [Stopping(1)], "it has heard that it is to stop")
        site.go()
        crew.join()
    assert crew.fault is None
    assert states(site, runs) == [RunState.COMPLETED, RunState.QUEUED, RunState.QUEUED]


def test_told_to_end_without_leases_its_runs_are_interrupted(site: Site) -> None:
    (run,) = site.submit(site.waiting())
    with Working(site, lease_ms=None) as crew:
        until(lambda: site.began(run), "the command is at work")
        crew.stop.set()
        crew.end.set()
        crew.join()
    kept = site.run(run)
    assert (kept.state, kept.problem) == (RunState.INTERRUPTED, "it was stopped together with its dispatcher")
    assert kept.interrupted_at_ms is not None
    assert site.entries()[-1].kind is JournalKind.RUNNER_STOPPED


def test_told_to_end_with_leases_its_runs_are_left_to_be_taken_over(site: Site) -> None:
    (run,) = site.submit(site.waiting())
    with Working(site, lease_ms=3_000) as crew:
        until(lambda: site.began(run), "the command is at work")
        crew.stop.set()
        crew.end.set()
        crew.join()
    assert [event.claim.run for event in crew.seen(Left)] == [run]
    assert site.run(run).state is RunState.RUNNING
    site.go()
    site.drain()
    kept = site.run(run)
    assert (kept.state, kept.attempt) == (RunState.COMPLETED, 2)


def test_a_dead_dispatcher_s_run_is_taken_over_in_a_folder_of_its_own(site: Site) -> None:
    (run,) = site.submit(sh("ls >listed; touch here"))
    dead = site.workspace.dispatcher("dead", lease_ms=1)
    (claim,) = dead.claim()
    (site.attempts.begin(run, 1, claim.input).work / "half").touch()
    site.drain()
    kept = site.run(run)
    assert (kept.state, kept.attempt) == (RunState.COMPLETED, 2)
    assert kept.token > claim.token
    assert (site.attempts.path(run, 2) / "work" / "listed").read_text() == "listed\n"
    assert sorted(path.name for path in (site.attempts.path(run, 1) / "work").iterdir()) == ["half"]
    assert site.kinds_of(run) == ["run.queued", "run.started", "run.started", "run.completed"]


def test_a_drain_waits_for_what_others_have_begun(site: Site) -> None:
    (run,) = site.submit(sh("true"))
    other = site.workspace.dispatcher("other", lease_ms=LONG)
    (claim,) = other.claim()
    with Working(site, drain=True) as crew:
        until(lambda: crew.seen(Started), "it has started")
        other.finish(claim, failed())
        crew.join()
    assert crew.fault is None
    assert site.run(run).state is RunState.FAILED


def test_a_run_that_is_lost_is_let_go_and_its_command_ended(site: Site) -> None:
    (run,) = site.submit(site.waiting())
    with Working(site, lease_ms=3_000) as crew:
        until(lambda: site.began(run), "the command is at work")
        taken = overtake(site, site.run(run).number)
        until(lambda: crew.seen(Lost), "it is noticed")
        assert site.run(run).token == taken
        crew.stop.set()
        crew.join()
    assert crew.fault is None
    assert crew.seen(Ended) == []
    assert site.kinds_of(run) == ["run.queued", "run.started", "run.started"]


def test_what_a_slow_dispatcher_says_late_is_refused_and_it_goes_on(site: Site) -> None:
    class Late(Dispatcher):
        """It is overtaken just before it finishes."""

        def finish_many(self, endings: Any) -> Any:
            for claim, _ in endings:
                overtake(site, claim.running.number)
            return super().finish_many(endings)

    runs = site.submit_many(sh("true"), 2)
    late = Late(site.workspace.dispatcher()._bound, "late", LONG)
    events: list[Event] = []
    stop = threading.Event()

    def watch(event: Event) -> None:
        events.append(event)
        if isinstance(event, Lost) and len([one for one in events if isinstance(one, Lost)]) == 2:
            stop.set()

    site.crew_of(late, watch, stop=stop).run()
    assert [event.claim.run for event in events if isinstance(event, Lost)] == runs
    assert states(site, runs) == [RunState.RUNNING] * 2
    assert site.workspace.chain.head() is None


def test_an_attempt_s_folder_is_never_used_again_and_that_is_for_somebody_to_look_at(site: Site) -> None:
    (run, other) = site.submit(sh("touch there"), sh("true"))
    site.attempts.begin(run, 1, "{}")
    site.drain()
    kept = site.run(run)
    assert (kept.state, kept.review) == (RunState.FAILED, True)
    assert (kept.problem or "").startswith("its attempt 1 was begun before: ")
    assert list((site.attempts.path(run, 1) / "work").iterdir()) == []
    assert site.run(other).state is RunState.COMPLETED


def test_a_job_without_a_command_fails_its_runs_and_holds_nobody_up(site: Site) -> None:
    site.workspace.releases.save(Release(site.workspace.name, "release_1", "by hand", config="{}"))
    job = site.workspace.jobs.create("by hand", "release_1").job
    run = site.workspace.submit(job.id, "key", "{}").run
    (other,) = site.submit(sh("true"))
    site.drain()
    kept = site.run(run)
    assert (kept.state, kept.review) == (RunState.FAILED, True)
    assert "'release_1' has no command that can be run" in (kept.problem or "")
    assert not site.attempts.path(run, 1).exists()
    assert site.run(other).state is RunState.COMPLETED


def test_without_leases_a_restart_interrupts_what_was_left_running(site: Site) -> None:
    dead, waiting = site.submit_many(sh("true"), 2)
    site.workspace.dispatcher("dead").claim()
    events = site.drain(lease_ms=None)
    assert [event.restarted.interrupted for event in events if isinstance(event, Started)] == [[dead]]
    assert states(site, [dead, waiting]) == [RunState.INTERRUPTED, RunState.COMPLETED]
    assert not site.attempts.path(dead, 1).exists(), "nothing is run again"


def test_without_leases_there_is_one_crew_at_a_time(site: Site) -> None:
    (run,) = site.submit(site.waiting())
    with Working(site, lease_ms=None):
        until(lambda: site.began(run), "the command is at work")
        with pytest.raises(StoreHeld):
            site.crew(lease_ms=None).run()
        assert site.run(run).state is RunState.RUNNING


class Faulty(Dispatcher):
    """A dispatcher some of whose calls fail: with `before`, nothing done; with `behind`, done, but not known."""

    def __init__(self, site: Site, lease_ms: int | None, method: str, fault: StrongroomError, *, done: bool) -> None:
        super().__init__(site.workspace.dispatcher()._bound, "here", lease_ms)
        self._method, self._fault, self._done = method, fault, done
        self.failed = 0

    def _call(self, method: str, call: Callable[[], T]) -> T:
        if method != self._method or self.failed == 2:
            return call()
        self.failed += 1
        if self._done:
            call()
        raise self._fault

    def claim(self, limit: int = 1) -> list[Claim]:
        return self._call("claim", lambda: super(Faulty, self).claim(limit))

    def finish_many(self, endings: Any) -> Any:
        return self._call("finish", lambda: super(Faulty, self).finish_many(endings))

    def stop(self) -> int:
        return self._call("stop", lambda: super(Faulty, self).stop())


TROUBLES = [NotKept("gone"), Contended("rivals")]
UNKNOWN = OutcomeUnknown("lost", token="t")


@pytest.mark.parametrize("method", ["claim", "finish", "stop"])
@pytest.mark.parametrize("fault", TROUBLES, ids=lambda fault: type(fault).__name__)
def test_a_store_in_trouble_is_asked_again(site: Site, method: str, fault: StrongroomError) -> None:
    (run,) = site.submit(sh("true"))
    dispatcher = Faulty(site, None, method, fault, done=False)
    events: list[Event] = []
    site.crew_of(dispatcher, events.append, drain=True).run()
    assert [event.fault for event in events if isinstance(event, Troubled)] == [fault] * 2
    assert (dispatcher.failed, site.run(run).state) == (2, RunState.COMPLETED)


def test_an_ending_whose_answer_was_lost_is_said_again_and_counts_once(site: Site) -> None:
    runs = site.submit_many(sh("true"), 2)
    events: list[Event] = []
    site.crew_of(Faulty(site, None, "finish", UNKNOWN, done=True), events.append, drain=True).run()
    assert [event.claim.run for event in events if isinstance(event, Ended)] == runs
    assert site.kinds_of(runs[0]) == ["run.queued", "run.started", "run.completed"]
    assert site.workspace.chain.verify().lines == 2


def test_with_leases_a_claim_whose_answer_was_lost_is_taken_over(site: Site) -> None:
    (run, other) = site.submit_many(sh("true"), 2)
    dispatcher = Faulty(site, 1_000, "claim", UNKNOWN, done=True)
    site.crew_of(dispatcher, drain=True).run()
    assert states(site, [run, other]) == [RunState.COMPLETED] * 2
    assert [site.run(one).attempt for one in (run, other)] == [2, 2]


def test_without_leases_a_claim_whose_answer_was_lost_ends_the_crew(site: Site) -> None:
    (run,) = site.submit(sh("true"))
    with pytest.raises(OutcomeUnknown):
        site.crew_of(Faulty(site, None, "claim", UNKNOWN, done=True), drain=True).run()
    assert site.run(run).state is RunState.RUNNING
    site.drain(lease_ms=None)
    assert site.run(run).state is RunState.INTERRUPTED


@pytest.mark.parametrize("method", ["claim", "finish"])
def test_what_is_not_sure_ends_the_crew_and_its_commands(site: Site, method: str) -> None:
    runs = [*site.submit(sh("true")), *site.submit(site.waiting())]
    events: list[Event] = []
    crew = site.crew_of(Faulty(site, LONG, method, Unreadable("bad"), done=False), events.append, jobs=2)
    with pytest.raises(Unreadable):
        crew.run()
    assert "strongroom-" not in " ".join(thread.name for thread in threading.enumerate())
    assert {*states(site, runs)} <= {RunState.QUEUED, RunState.RUNNING}
    assert JournalKind.RUNNER_STOPPED not in {entry.kind for entry in site.entries()}


def test_an_ending_that_is_refused_ends_the_crew_and_the_run_goes_on_running(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = site.submit(sh("true"))
    ending = Ending.__init__

    def recordless(self: Ending, **given: Any) -> None:
        ending(self, **{**given, "record": None})

    monkeypatch.setattr(Ending, "__init__", recordless)
    with pytest.raises(Refused, match="has not exactly one record line"):
        site.drain()
    assert site.run(run).state is RunState.RUNNING


def test_a_store_that_stays_gone_is_given_up(site: Site) -> None:
    site.submit(sh("true"))

    class Gone(Dispatcher):
        def finish_many(self, endings: Any) -> Any:
            raise NotKept("gone")

    gone = Gone(site.workspace.dispatcher()._bound, "here", LONG)
    events: list[Event] = []
    with pytest.raises(NotKept):
        site.crew_of(gone, events.append, drain=True, patience_s=0.2).run()
    assert [event for event in events if isinstance(event, Troubled)]


def test_a_watch_that_fails_ends_the_crew_with_its_commands(site: Site) -> None:
    site.submit(site.waiting())

    def watch(event: Event) -> None:
        if isinstance(event, Began):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        site.crew(watch).run()


def test_crews_share_a_queue_and_every_run_ends_once(site: Site) -> None:
    diary = site.folder / "diary"
    runs = site.submit_many(sh('echo "$STRONGROOM_RUN" >>"$0"', str(diary)), 24)
    with Working(site, jobs=2, drain=True) as one, Working(site, jobs=2, drain=True) as two:
        one.join()
        two.join()
    assert (one.fault, two.fault) == (None, None)
    assert sorted(diary.read_text().split()) == sorted(runs)
    ended = [event.claim.run for event in (*one.seen(Ended), *two.seen(Ended))]
    assert sorted(ended) == sorted(runs)
    assert site.workspace.chain.verify().lines == 24
