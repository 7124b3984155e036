"""A branch validated commit by commit: what comes on record, from what, and that nothing is run twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import strongroom
from strongroom import InvalidArgument, Unavailable
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import (
    BuildStatus,
    BuildStrategy,
    Issue,
    NotFound,
    OutcomeReason,
    RequestEvent,
    RequestState,
    Storage,
)
from strongroom.domains.stovepipe.flows import dead_letter, ingest, set_enablement
from strongroom.engine import Engine
from strongroom.validator.crew import Began, Ended, Planned
from strongroom.validator.records import RunState
from strongroom.validator.repository import commit_uri
from strongroom.validator.runs import Runs
from tests.validator.conftest import Checkout
from tests.validator.trunks import QUEUE, Bench, cases, ids, open_issues, states


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "bench"
    folder.mkdir()
    return Bench(folder)


@pytest.fixture
def memory() -> Engine:
    return strongroom.open("memory://")


@pytest.fixture
def storage(memory: Engine) -> Storage:
    return stovepipe.open(memory).for_queue(QUEUE)


def test_a_branch_comes_on_record_oldest_commit_first(room: Engine, checkout: Checkout, bench: Bench) -> None:
    green = checkout.commit("green", exit="0", cases=cases("store/a.py keep passed", "web/b.py shop passed"))
    red = checkout.commit("red", exit="1", cases=cases("store/a.py keep failed", "web/b.py shop passed"))
    fixed = checkout.commit("fixed", exit="0", cases=cases("store/a.py keep passed", "web/b.py shop passed"))
    outcome = bench.validate(room, checkout, junit="junit.xml")
    storage = stovepipe.open(room).for_queue(QUEUE)

    assert bench.runs() == ids(outcome) == [green, red, fixed]
    assert states(outcome) == ["succeeded", "failed", "succeeded"]
    assert outcome.last_green == commit_uri(fixed)
    assert [one.request.id for one in outcome.validated] == ["1", "2", "3"]
    assert [one.reason for one in outcome.validated] == [
        OutcomeReason.BUILD_SUCCEEDED,
        OutcomeReason.BUILD_FAILED,
        OutcomeReason.BUILD_SUCCEEDED,
    ]
    assert [one.fact.degree for one in outcome.validated if one.fact] == [0.0, 1.0, 0.0]
    listed = storage.facts_by_degree.list(commit_uri(red), limit=10)
    assert [(fact.project, fact.degree) for fact in listed] == [("store", 1.0), ("web", 0.0)]
    queue = storage.queues.get(QUEUE)
    assert (queue.last_green_uri, queue.in_flight_count, queue.slot_holders) == (commit_uri(fixed), 0, ())
    assert [(one.opened, one.resolved) for one in outcome.validated] == [(0, 0), (1, 0), (0, 1)]
    assert open_issues(storage) == []
    for number, state in enumerate(["succeeded", "failed", "succeeded"], 1):
        log = storage.request_log.list(str(number))
        assert [entry.state.value for entry in log if entry.state] == ["accepted", "processing", state]
        assert {entry.event for entry in log if entry.event} == {
            RequestEvent.BUILD_TRIGGERED,
            RequestEvent.BUILD_FINISHED,
            RequestEvent.VALIDATION_FACT_RECORDED,
        }
        summary = storage.request_summaries.get(str(number))
        assert (summary.state.value, summary.accepted_at_ms > 0) == (state, True)


def test_what_is_on_record_is_never_run_again(room: Engine, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("one", exit="1")
    first = bench.validate(room, checkout)
    again = bench.validate(room, checkout)
    assert (len(first.validated), len(again.validated), again.skipped) == (1, 0, 1)
    assert bench.events == [Planned(0, 1)]
    two = checkout.commit("two", exit="0")
    assert ids(bench.validate(room, checkout)) == [two]
    assert bench.runs() == [*ids(first), two]


def test_only_the_newest_commits_are_looked_at(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("one")
    two, three = checkout.commit("two"), checkout.commit("three")
    assert ids(bench.validate(memory, checkout, last=2)) == [two, three]


def test_a_merge_is_one_commit_of_its_first_parents_line(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    base = checkout.commit("base", exit="0")
    checkout.git("switch", "--quiet", "--create", "side")
    checkout.commit("on the side", side="1")
    checkout.git("switch", "--quiet", "main")
    main = checkout.commit("on main", main="1")
    checkout.git("merge", "--quiet", "--no-ff", "--message", "merge", "side")
    merge = checkout.git("rev-parse", "HEAD")
    assert ids(bench.validate(memory, checkout)) == [base, main, merge]
    assert bench.environments()[-1]["base"] == main


def test_the_command_learns_what_it_validates(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    green, red = checkout.commit("green", exit="0"), checkout.commit("red", exit="1")
    newest = checkout.commit("newest", exit="0")
    bench.validate(memory, checkout)
    incremental = "incremental_since_green"
    assert bench.environments() == [
        {"commit": green, "strategy": "full", "base": "-", "queue": QUEUE, "request": "1"},
        {"commit": red, "strategy": incremental, "base": green, "queue": QUEUE, "request": "2"},
        {"commit": newest, "strategy": incremental, "base": green, "queue": QUEUE, "request": "3"},
    ]


def test_full_builds_start_from_nothing(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("green", exit="0")
    checkout.commit("next", exit="0")
    outcome = bench.validate(memory, checkout, full=True)
    assert [one.request.build_strategy for one in outcome.validated] == [BuildStrategy.FULL] * 2
    assert [found["base"] for found in bench.environments()] == ["-", "-"]


def test_a_green_commit_of_a_line_that_was_rewritten_is_no_base(
    memory: Engine, checkout: Checkout, bench: Bench
) -> None:
    root = checkout.commit("root", exit="1")
    checkout.commit("green", exit="0")
    bench.validate(memory, checkout)
    checkout.git("reset", "--quiet", "--hard", root)
    rewritten = checkout.commit("rewritten", exit="0")
    outcome = bench.validate(memory, checkout)
    assert (ids(outcome), bench.environments()[-1]["base"]) == ([rewritten], "-")
    assert outcome.last_green == commit_uri(rewritten)


def test_older_commits_come_on_record_later_without_undoing_newer_ones(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    was_red = checkout.commit("was red", exit="1", cases="a.py keep failed")
    was_green = checkout.commit("was green", exit="0", cases="a.py keep passed")
    newest = checkout.commit("newest", exit="0", cases="a.py keep passed")
    bench.validate(memory, checkout, last=1, junit="junit.xml")
    outcome = bench.validate(memory, checkout, junit="junit.xml")
    assert ids(outcome) == [was_red, was_green]
    assert [found["base"] for found in bench.environments()] == ["-", "-", "-"]
    assert outcome.last_green == commit_uri(newest)
    assert open_issues(storage) == []
    assert [one.fact.degree for one in outcome.validated if one.fact] == [1.0, 0.0]


def test_an_issue_keeps_the_build_that_opened_it_until_it_is_resolved(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    checkout.commit("one", exit="1", cases=cases("a.py keep failed", "a.py sell passed"))
    checkout.commit("two", exit="1", cases=cases("a.py keep failed", "a.py sell failed"))
    bench.validate(memory, checkout, junit="junit.xml")
    assert open_issues(storage) == [(Issue("a.py", "keep"), "1.1"), (Issue("a.py", "sell"), "2.1")]
    checkout.commit("three", exit="1", cases=cases("a.py keep passed", "a.py sell failed"))
    [three] = bench.validate(memory, checkout, junit="junit.xml").validated
    assert (three.opened, three.resolved) == (0, 1)
    assert open_issues(storage) == [(Issue("a.py", "sell"), "2.1")]


def test_a_command_that_fails_without_a_failed_test_resolves_nothing(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    checkout.commit("one", exit="1", cases="a.py keep failed")
    checkout.commit("crashed", exit="2", cases="a.py other passed")
    outcome = bench.validate(memory, checkout, junit="junit.xml")
    assert open_issues(storage) == [(Issue("a.py", "keep"), "1.1")]
    assert outcome.validated[1].run is not None
    assert not outcome.validated[1].run.analysed


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({}, "no report junit.xml was left"),
        ({"report": "<testsuite><testcase"}, "junit.xml, line 1"),
        ({"report": "<html/>"}, "not a JUnit report"),
    ],
)
@pytest.mark.parametrize("code", ["0", "1"])
def test_a_bad_report_is_on_record_and_the_exit_code_decides_alone(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench, files: dict[str, str], fault: str, code: str
) -> None:
    checkout.commit("one", exit="1", cases="a.py keep failed")
    (checkout.path / "cases").unlink()
    checkout.commit("bad report", exit=code, **files)
    _, bad = bench.validate(memory, checkout, junit="junit.xml").validated
    assert bad.fact is not None
    assert bad.run is not None
    assert (bad.fact.degree, fault in bad.run.report_fault) == (float(code), True)
    assert storage.facts_by_degree.list(bad.request.uri, limit=10) == []
    assert open_issues(storage) == [(Issue("a.py", "keep"), "1.1")]


def test_a_report_that_was_committed_is_not_taken_for_the_commands_own(
    memory: Engine, checkout: Checkout, bench: Bench
) -> None:
    checkout.commit("by mistake", junit_dot_xml="<testsuite><testcase name='old'><failure/></testcase></testsuite>")
    [one] = bench.validate(memory, checkout, junit="junit.xml").validated
    assert one.run is not None
    assert (one.run.report_fault, one.run.cases) == ("no report junit.xml was left", 0)


def test_a_run_is_kept_with_its_output(memory: Engine, storage: Storage, checkout: Checkout, bench: Bench) -> None:
    commit = checkout.commit("red", exit="3", cases=cases("a.py keep failed", "a.py sell passed"))
    [one] = bench.validate(memory, checkout, junit="junit.xml").validated
    [run] = Runs(storage).of(one.request.id)
    assert one.run == run
    assert (run.state, run.exit_code, run.timed_out, run.attempt) == (RunState.ENDED, 3, False, 1)
    assert (run.subject, run.build, run.cases, run.failures, run.analysed) == ("red", "1.1", 2, 1, True)
    assert run.tail == f"validating {commit}\n" == Path(run.log_path).read_text()
    assert run.duration_ms > 0
    assert storage.builds.get("1.1").status == BuildStatus.FAILED


def test_a_timeout_fails_the_request_and_proves_nothing(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    checkout.commit("stuck", name="stuck", cases="a.py keep failed")
    bench.block("stuck")
    [one] = bench.validate(memory, checkout, timeout_s=1.5, junit="junit.xml").validated
    assert (one.request.state, one.reason) == (RequestState.FAILED, OutcomeReason.VALIDATION_TIMEOUT)
    assert one.fact is None
    with pytest.raises(NotFound):
        storage.facts.get(one.request.uri)
    assert one.run is not None
    assert (one.run.timed_out, one.run.exit_code, one.run.report_fault) == (True, None, "")
    assert storage.builds.get(one.run.build).status == BuildStatus.CANCELLED
    assert storage.queues.get(QUEUE).in_flight_count == 0
    assert bench.validate(memory, checkout).skipped == 1


def test_a_program_that_one_commit_lacks_fails_that_one(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("before the script")
    (checkout.path / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    (checkout.path / "check.sh").chmod(0o755)
    checkout.commit("with the script")
    before, after = bench.validate(memory, checkout, command=("./check.sh",)).validated
    assert before.run is not None
    assert (before.reason, before.run.exit_code) == (OutcomeReason.BUILD_FAILED, 127)
    assert "could not be started" in before.run.reason
    assert after.request.state is RequestState.SUCCEEDED


def test_several_jobs_validate_side_by_side_and_supersede_nothing(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    commits = [checkout.commit(name, name=name) for name in ("one", "two", "three")]
    meet = (sys.executable, "-c", MEET, str(bench.folder / "met"), "2")
    outcome = bench.validate(memory, checkout, jobs=2, command=meet)
    assert (ids(outcome), states(outcome)) == (commits, ["succeeded"] * 3)
    assert [one.request.id for one in outcome.validated] == ["1", "2", "3"]
    began = [event.commit.id for event in bench.events if isinstance(event, Began)]
    assert began == commits
    assert storage.queues.get(QUEUE).in_flight_count == 0


MEET = """
import os, sys, time
folder, number = sys.argv[1], int(sys.argv[2])
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, os.environ["STRONGROOM_COMMIT"]), "w").close()
end = time.monotonic() + 60
while len(os.listdir(folder)) < number:
    if time.monotonic() > end:
        sys.exit("never met")
    time.sleep(0.02)
"""
"""Ends only once as many commits as that have been begun with."""


def test_the_queue_is_enabled_from_the_first_commit(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    first = checkout.commit("one")
    bench.validate(memory, checkout)
    checkout.commit("two")
    bench.validate(memory, checkout)
    [occurrence] = storage.queue_log.list(limit=10)
    assert (occurrence.enabled, occurrence.effective_commit_uri) == (True, commit_uri(first))
    assert storage.queues.get(QUEUE).enabled
    assert storage.queue_summaries.get(QUEUE).enabled


def test_a_disabled_queue_is_refused_before_anything_is_written(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    checkout.commit("one")
    set_enablement(storage, "op-1", False, "", "it is moving house")
    with pytest.raises(InvalidArgument, match=r"fruit/main is disabled: it is moving house"):
        bench.validate(memory, checkout)
    assert (bench.runs(), bench.events) == ([], [])
    assert not (bench.folder / "logs").exists()


def test_what_others_decided_about_a_queue_is_left_as_it_is(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    set_enablement(storage, "op-1", True, "git:elsewhere", "by hand")
    checkout.commit("one")
    bench.validate(memory, checkout)
    [occurrence] = storage.queue_log.list(limit=10)
    assert occurrence.operation_id == "op-1"


def test_a_request_that_was_ended_elsewhere_is_not_run(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    commit = checkout.commit("one")
    request = ingest(storage, commit_uri(commit)).request
    storage.requests.update(request.replace(state=RequestState.CANCELLED), 1, 2)
    dead_letter(storage, request.id)  # what was left undone about it is its log
    [one] = bench.validate(memory, checkout).validated
    assert (bench.runs(), one.request.state, one.run, one.fact) == ([], RequestState.CANCELLED, None, None)


def test_commits_taken_in_before_are_not_superseded_by_newer_ones(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    commits = [checkout.commit("one"), checkout.commit("two")]
    for commit in commits:
        ingest(storage, commit_uri(commit))
    assert ids(bench.validate(memory, checkout)) == bench.runs() == commits


def test_two_queues_of_one_room_know_nothing_of_each_other(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    commit = checkout.commit("one")
    for queue in ("fruit/main", "fruit/nightly"):
        assert ids(bench.validate(memory, checkout, queue=queue)) == [commit]
    assert bench.runs() == [commit, commit]


def test_a_commit_that_cannot_be_checked_out_stays_to_be_validated(
    memory: Engine, storage: Storage, checkout: Checkout, bench: Bench
) -> None:
    commit = checkout.commit("one", _dot_gitattributes="*.bin filter=broken\n", a_dot_bin="x")
    checkout.git("config", "filter.broken.smudge", "false")
    checkout.git("config", "filter.broken.required", "true")
    with pytest.raises(Unavailable, match="cannot check out"):
        bench.validate(memory, checkout)
    assert storage.requests.get("1").state is RequestState.PROCESSING
    checkout.git("config", "filter.broken.smudge", "cat")
    [one] = bench.validate(memory, checkout).validated
    assert (bench.runs(), one.request.state) == ([commit], RequestState.SUCCEEDED)


def test_every_commit_is_told_of_when_it_begins_and_ends(memory: Engine, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("one")
    checkout.commit("two")
    outcome = bench.validate(memory, checkout)
    one, two = outcome.validated
    assert bench.events == [
        Planned(2, 0),
        Began(one.commit, 1),
        Ended(one.commit, one),
        Began(two.commit, 1),
        Ended(two.commit, two),
    ]


def test_nothing_is_left_in_the_repository(memory: Engine, new_checkout: Callable[..., Checkout], bench: Bench) -> None:
    checkout = new_checkout()
    checkout.commit("one")
    bench.validate(memory, checkout)
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize("jobs", [0, -1, 1001])
def test_a_number_of_jobs_out_of_range_is_refused(memory: Engine, checkout: Checkout, bench: Bench, jobs: int) -> None:
    checkout.commit("one")
    with pytest.raises(InvalidArgument, match="jobs must be 1 to 1000"):
        bench.validate(memory, checkout, jobs=jobs)
