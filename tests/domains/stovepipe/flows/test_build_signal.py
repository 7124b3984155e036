from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument, Unavailable
from strongroom.domains.stovepipe import Build, BuildStatus, NotFound, RequestEvent, RequestState, Storage
from strongroom.domains.stovepipe.flows import Signal, build, build_signal, ingest, process
from tests.domains.stovepipe.flows.support import QUEUE, before_first, end, race, refuse, slots

RUNNING, SUCCEEDED, FAILED, CANCELLED = (
    BuildStatus.RUNNING,
    BuildStatus.SUCCEEDED,
    BuildStatus.FAILED,
    BuildStatus.CANCELLED,
)
OUTCOMES = [
    (SUCCEEDED, RequestState.SUCCEEDED, "build_succeeded"),
    (FAILED, RequestState.FAILED, "build_failed"),
    (CANCELLED, RequestState.CANCELLED, "build_cancelled"),
]


def building(storage: Storage) -> None:
    ingest(storage, "git://1", now=100)
    process(storage, "1", slots=2, now=200)
    build(storage, "1", lambda _request: "bk-1", now=300)


@pytest.fixture
def one(storage: Storage) -> Storage:
    building(storage)
    return storage


def logged(storage: Storage) -> list[str]:
    return [log.id for log in storage.request_log.list("1")]


def test_a_running_build_is_to_be_polled_on_and_decides_nothing(one: Storage) -> None:
    done = build_signal(one, "bk-1", RUNNING, now=400)
    assert (done.signal, done.build) == (Signal.POLL, Build(QUEUE, "bk-1", "1", RUNNING, version=2))
    assert one.builds.get("bk-1") == done.build
    assert one.requests.get("1").state == RequestState.PROCESSING
    assert slots(one) == (1, ("1",))


@pytest.mark.parametrize(("status", "state", "reason"), OUTCOMES)
def test_the_end_of_a_build_decides_its_request_and_gives_the_slot_back(
    one: Storage, status: BuildStatus, state: RequestState, reason: str
) -> None:
    done = build_signal(one, "bk-1", status, now=400)
    assert (done.signal, done.request) == (Signal.RECORD, one.requests.get("1"))
    assert one.builds.get("bk-1") == Build(QUEUE, "bk-1", "1", status, version=2)
    assert (done.request.state, done.request.version) == (state, 3)
    assert slots(one) == (0, ())
    finished = one.request_log.get("1", "event/build_finished/bk-1")
    assert (finished.event, finished.metadata["build_id"]) == (RequestEvent.BUILD_FINISHED, "bk-1")
    summary = one.request_summaries.get("1")
    assert (summary.state, summary.outcome_reason, summary.state_timestamp_ms) == (state, reason, 400)


@pytest.mark.parametrize("later", [RUNNING, FAILED, CANCELLED, BuildStatus.ACCEPTED])
def test_a_terminal_status_is_the_last_one(one: Storage, later: BuildStatus) -> None:
    first = build_signal(one, "bk-1", SUCCEEDED, now=400)
    assert build_signal(one, "bk-1", later, now=500) == first
    assert one.builds.get("bk-1") == first.build
    assert one.requests.get("1").state == RequestState.SUCCEEDED


def test_a_late_signal_never_takes_a_running_build_back(one: Storage) -> None:
    build_signal(one, "bk-1", RUNNING)
    assert build_signal(one, "bk-1", BuildStatus.ACCEPTED).build.status == RUNNING


def test_the_same_signal_again_writes_nothing_and_gives_no_second_slot_back(one: Storage) -> None:
    ingest(one, "git://2")
    process(one, "2", slots=2)
    first = build_signal(one, "bk-1", FAILED, now=400)
    assert slots(one) == (1, ("2",))
    queue, ids = one.queues.get(QUEUE), logged(one)
    assert build_signal(one, "bk-1", FAILED, now=500) == first
    assert (one.queues.get(QUEUE), logged(one)) == (queue, ids)


def test_of_two_builds_the_first_to_end_decides(one: Storage) -> None:
    build(one, "1", lambda _request: "bk-1b", now=310)
    build_signal(one, "bk-1b", SUCCEEDED, now=400)
    done = build_signal(one, "bk-1", FAILED, now=500)
    assert (done.signal, done.build.status, done.request.state) == (Signal.RECORD, FAILED, RequestState.SUCCEEDED)
    assert logged(one)[-1] == "event/build_finished/bk-1"
    assert one.request_summaries.get("1").outcome_reason == "build_succeeded"


def test_a_rival_that_decides_first_wins(one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    build(one, "1", lambda _request: "bk-1b", now=310)
    before_first(monkeypatch, one.requests, "update", lambda: build_signal(one, "bk-1b", SUCCEEDED, now=400))
    assert build_signal(one, "bk-1", FAILED, now=500).request.state == RequestState.SUCCEEDED
    assert one.request_summaries.get("1").state_timestamp_ms == 400


def test_threads_whose_builds_end_together_agree_on_one_outcome(one: Storage) -> None:
    build(one, "1", lambda _request: "bk-1b", now=310)
    done = race(lambda: build_signal(one, "bk-1", FAILED), lambda: build_signal(one, "bk-1b", SUCCEEDED))
    assert {each.request for each in done} == {one.requests.get("1")}
    assert slots(one) == (0, ())


def test_a_slot_that_can_not_be_given_back_leaves_the_request_undecided(
    one: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, one.queues, "update", refuse)
    with pytest.raises(Unavailable):
        build_signal(one, "bk-1", SUCCEEDED)
    assert one.requests.get("1").state == RequestState.PROCESSING
    assert build_signal(one, "bk-1", SUCCEEDED).request.state == RequestState.SUCCEEDED


def test_a_queue_changed_by_rivals_keeps_their_changes(one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before_first(monkeypatch, one.queues, "update", lambda: ingest(one, "git://2"))
    build_signal(one, "bk-1", SUCCEEDED)
    assert one.queues.get(QUEUE).latest_request_id == "2"
    assert slots(one) == (0, ())


def test_a_request_that_failed_otherwise_keeps_that_outcome_and_its_build_its_status(one: Storage) -> None:
    end(one, "1", RequestState.FAILED)
    done = build_signal(one, "bk-1", SUCCEEDED, now=400)
    assert (done.signal, done.build.status, done.request.state) == (Signal.RECORD, SUCCEEDED, RequestState.FAILED)
    assert one.request_summaries.get("1").outcome_reason == "processing_failed"


@pytest.mark.parametrize("state", [RequestState.SUPERSEDED, RequestState.ACCEPTED])
def test_a_request_that_is_not_being_processed_is_let_alone(one: Storage, state: RequestState) -> None:
    end(one, "1", state)
    before = (one.requests.get("1"), one.builds.get("bk-1"), logged(one), one.queues.get(QUEUE))
    assert build_signal(one, "bk-1", FAILED).signal == Signal.IGNORE
    assert (one.requests.get("1"), one.builds.get("bk-1"), logged(one), one.queues.get(QUEUE)) == before


def test_a_missing_build_or_request_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound):
        build_signal(storage, "bk-1", RUNNING)
    storage.builds.create(Build(QUEUE, "bk-1", "1"))
    with pytest.raises(NotFound):
        build_signal(storage, "bk-1", RUNNING)


def test_an_unknown_status_or_a_time_out_of_range_is_refused_and_nothing_is_written(one: Storage) -> None:
    with pytest.raises(InvalidArgument):
        build_signal(one, "bk-1", "exploded")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        build_signal(one, "bk-1", FAILED, now=-1)
    assert one.builds.get("bk-1").version == 1


@pytest.mark.parametrize(("status", "state", "reason"), OUTCOMES)
def test_it_may_be_stopped_at_every_write(
    survives_stops: Callable[..., int], status: BuildStatus, state: RequestState, reason: str
) -> None:
    def before(storage: Storage) -> None:
        building(storage)
        # Another request holds a slot, which no retry may ever give back.
        ingest(storage, "git://2", now=310)
        process(storage, "2", slots=2, now=320)
        build_signal(storage, "bk-1", RUNNING, now=400)

    def flow(storage: Storage) -> None:
        assert build_signal(storage, "bk-1", status, now=500).request.state == state

    # status, event, slot, outcome, log, summary
    assert survives_stops(before, flow) == 6
