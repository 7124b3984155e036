from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument, Unavailable
from strongroom.domains.stovepipe import (
    BuildStrategy,
    NotFound,
    Queue,
    Request,
    RequestState,
    Storage,
)
from strongroom.domains.stovepipe.flows import Processed, Verdict, ingest, process
from tests.domains.stovepipe.flows.support import QUEUE, before_first, end, race, refuse, slots


def change_queue(storage: Storage, **changes: object) -> None:
    """What a rival does: put the queue's row back with other values."""
    queue = storage.queues.get(QUEUE)
    storage.queues.update(queue.replace(**changes), queue.version, queue.version + 1)


@pytest.fixture
def one(storage: Storage) -> Storage:
    ingest(storage, "git://1", now=100)
    return storage


@pytest.fixture
def two(one: Storage) -> Storage:
    ingest(one, "git://2", now=110)
    return one


def test_the_latest_request_takes_a_slot_and_is_to_be_built_in_full(one: Storage) -> None:
    request = Request(QUEUE, "1", "git://1", RequestState.PROCESSING, BuildStrategy.FULL, "", version=2)
    assert process(one, "1", slots=2, now=200) == Processed(Verdict.BUILD, request)
    assert one.requests.get("1") == request
    assert slots(one) == (1, ("1",))
    log = one.request_log.get("1", "state/2")
    assert (log.state, log.timestamp_ms, log.metadata) == ("processing", 200, {"base_uri": ""})
    summary = one.request_summaries.get("1")
    assert (summary.state, summary.accepted_at_ms) == ("processing", 100)


def test_with_a_green_commit_it_is_built_from_there(one: Storage) -> None:
    change_queue(one, last_green_uri="git://green", last_green_request_id="0")
    request = process(one, "1", slots=1).request
    assert (request.build_strategy, request.base_uri) == (BuildStrategy.INCREMENTAL_SINCE_GREEN, "git://green")
    assert one.request_summaries.get("1").base_uri == "git://green"


def test_a_request_that_is_older_than_the_latest_is_superseded_and_takes_no_slot(two: Storage) -> None:
    superseded = Request(QUEUE, "1", "git://1", RequestState.SUPERSEDED, version=2)
    assert process(two, "1", slots=1, now=200) == Processed(Verdict.FINISHED, superseded)
    assert two.requests.get("1") == superseded
    summary = two.request_summaries.get("1")
    assert (summary.state, summary.outcome_reason) == ("superseded", "superseded_by_newer_head")
    assert slots(two) == (0, ())


def test_ages_are_compared_as_numbers(storage: Storage) -> None:
    for n in range(1, 11):
        ingest(storage, f"git://{n}", now=100)
    assert process(storage, "9", slots=1).request.state == RequestState.SUPERSEDED
    assert process(storage, "10", slots=1).verdict == Verdict.BUILD


def test_a_request_that_the_pointer_has_not_reached_yet_goes_on(two: Storage) -> None:
    change_queue(two, latest_request_id="1")
    assert process(two, "2", slots=1).verdict == Verdict.BUILD


def test_without_a_latest_request_it_waits_and_nothing_is_written(one: Storage) -> None:
    change_queue(one, latest_request_id="")
    before = one.queues.get(QUEUE)
    assert process(one, "1", slots=1) == Processed(Verdict.WAITING, one.requests.get("1"))
    assert (one.queues.get(QUEUE), one.requests.get("1").version) == (before, 1)


def test_a_closed_gate_holds_it_and_nothing_is_written(one: Storage) -> None:
    asked: list[tuple[Queue, Request]] = []

    def gate(queue: Queue, request: Request) -> bool:
        asked.append((queue, request))
        return False

    before = one.queues.get(QUEUE)
    assert process(one, "1", slots=1, gate=gate) == Processed(Verdict.HELD, one.requests.get("1"))
    assert asked == [(before, one.requests.get("1"))]
    assert (one.queues.get(QUEUE), one.requests.get("1").version) == (before, 1)


def test_when_all_slots_are_taken_it_is_held(one: Storage) -> None:
    process(one, "1", slots=1)
    ingest(one, "git://2")
    assert process(one, "2", slots=1).verdict == Verdict.HELD
    assert slots(one) == (1, ("1",))
    assert process(one, "2", slots=2).verdict == Verdict.BUILD
    assert slots(one) == (2, ("1", "2"))


@pytest.mark.parametrize(
    "state", [RequestState.SUPERSEDED, RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED]
)
def test_a_request_that_has_ended_is_left_as_it_is(one: Storage, state: RequestState) -> None:
    end(one, "1", state)
    before = (one.requests.get("1"), one.queues.get(QUEUE))
    assert process(one, "1", slots=1) == Processed(Verdict.FINISHED, before[0])
    assert (one.requests.get("1"), one.queues.get(QUEUE)) == before


def test_a_request_that_is_being_processed_is_handed_on_again_without_a_second_slot(one: Storage) -> None:
    first = process(one, "1", slots=5, now=200)
    assert process(one, "1", slots=5, now=300) == first
    assert slots(one) == (1, ("1",))
    assert one.request_log.get("1", "state/2").timestamp_ms == 200


def test_a_request_that_is_being_processed_gets_the_log_that_a_stopped_run_left_out(
    one: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, one.request_log, "create", refuse)
    with pytest.raises(Unavailable):
        process(one, "1", slots=1, now=200)
    assert (one.requests.get("1").state, slots(one)) == ("processing", (1, ("1",)))
    process(one, "1", slots=1, now=300)
    assert one.request_summaries.get("1").state_timestamp_ms == 300


def test_what_is_not_there_is_not_taken_for_not_there_yet(storage: Storage) -> None:
    storage.requests.create(Request(QUEUE, "1", "git://1"))
    with pytest.raises(NotFound):
        process(storage, "1", slots=1)
    storage.queues.create(Queue(QUEUE, latest_request_id="1"))
    with pytest.raises(NotFound):
        process(storage, "2", slots=1)


@pytest.mark.parametrize(("slots", "now"), [(0, 1), (-1, 1), (True, 1), (1, 0)])
def test_arguments_out_of_range_are_refused(one: Storage, slots: int, now: int) -> None:
    with pytest.raises(InvalidArgument):
        process(one, "1", slots=slots, now=now)
    assert one.queues.get(QUEUE).version == 1


class TestWhenRivalsChangeTheQueueBeforeTheClaim:
    def test_the_claim_is_made_again_and_keeps_their_changes(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, one.queues, "update", lambda: change_queue(one, admission_state=b"theirs"))
        assert process(one, "1", slots=1).verdict == Verdict.BUILD
        assert one.queues.get(QUEUE).admission_state == b"theirs"
        assert slots(one) == (1, ("1",))

    def test_a_newer_request_supersedes_this_one(self, one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        before_first(monkeypatch, one.queues, "update", lambda: ingest(one, "git://2"))
        assert process(one, "1", slots=1).request.state == RequestState.SUPERSEDED
        assert slots(one) == (0, ())

    def test_the_gate_is_asked_again(self, one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        before_first(monkeypatch, one.queues, "update", lambda: change_queue(one, admission_state=b"closed"))
        gate = lambda queue, _request: queue.admission_state != b"closed"  # noqa: E731
        assert process(one, "1", slots=1, gate=gate).verdict == Verdict.HELD
        assert slots(one) == (0, ())

    def test_the_strategy_follows_their_green_commit(self, one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        before_first(monkeypatch, one.queues, "update", lambda: change_queue(one, last_green_uri="git://green"))
        assert process(one, "1", slots=1).request.base_uri == "git://green"

    def test_the_last_slot_may_be_gone(self, two: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        change_queue(two, latest_request_id="1")
        before_first(monkeypatch, two.queues, "update", lambda: process(two, "2", slots=1))
        assert process(two, "1", slots=1).verdict == Verdict.HELD
        assert slots(two) == (1, ("2",))

    @pytest.mark.parametrize(("store", "method"), [("queues", "get"), ("requests", "get"), ("queues", "update")])
    def test_a_request_that_was_built_meanwhile_takes_no_slot(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch, store: str, method: str
    ) -> None:
        def rivals() -> None:
            process(one, "1", slots=1)
            change_queue(one, in_flight_count=0, slot_holders=())  # given back, and the outcome still to come

        before_first(monkeypatch, getattr(one, store), method, rivals)
        assert process(one, "1", slots=1).verdict == Verdict.BUILD
        assert slots(one) == (0, ())


class TestBetweenTheClaimAndTheMark:
    def test_a_request_that_a_rival_ended_gives_its_slot_back(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, one.requests, "update", lambda: end(one, "1", RequestState.FAILED))
        done = process(one, "1", slots=1)
        assert (done.verdict, done.request.state) == (Verdict.FINISHED, RequestState.FAILED)
        assert slots(one) == (0, ())

    def test_a_rival_for_the_same_request_goes_on_with_the_same_slot(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, one.requests, "update", lambda: process(one, "1", slots=1, now=50))
        assert process(one, "1", slots=1, now=60).verdict == Verdict.BUILD
        assert slots(one) == (1, ("1",))
        assert one.request_log.get("1", "state/2").timestamp_ms == 50

    def test_a_fault_gives_the_slot_back_and_comes_out(self, one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        before_first(monkeypatch, one.requests, "update", refuse)
        with pytest.raises(Unavailable):
            process(one, "1", slots=1)
        assert slots(one) == (0, ())
        assert one.requests.get("1").state == RequestState.ACCEPTED

    def test_a_fault_leaves_the_slot_to_a_rival_that_has_marked_the_request(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def rival_and_fault() -> None:
            process(one, "1", slots=1)
            refuse()

        before_first(monkeypatch, one.requests, "update", rival_and_fault)
        with pytest.raises(Unavailable):
            process(one, "1", slots=1)
        assert slots(one) == (1, ("1",))

    def test_a_slot_that_could_not_be_given_back_is_used_by_the_next_run(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fault() -> None:
            before_first(monkeypatch, one.queues, "update", refuse)
            refuse()

        before_first(monkeypatch, one.requests, "update", fault)
        with pytest.raises(Unavailable):
            process(one, "1", slots=1)
        assert slots(one) == (1, ("1",))
        assert process(one, "1", slots=1).verdict == Verdict.BUILD
        assert slots(one) == (1, ("1",))

    def test_a_slot_that_was_left_behind_is_given_back_when_the_request_is_superseded(
        self, one: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change_queue(one, in_flight_count=1, slot_holders=("1",))
        ingest(one, "git://2")
        assert process(one, "1", slots=1).request.state == RequestState.SUPERSEDED
        assert slots(one) == (0, ())


def test_threads_never_take_more_slots_than_there_are(two: Storage) -> None:
    for n in range(3, 9):
        ingest(two, f"git://{n}")
    change_queue(two, latest_request_id="1")
    seen: list[int] = []

    def gate(queue: Queue, _request: Request) -> bool:
        seen.append(queue.in_flight_count)
        return True

    def every_other(first: int) -> list[Verdict]:
        return [process(two, str(n), slots=3, gate=gate).verdict for n in range(first, 9, 2)]

    verdicts = [verdict for part in race(lambda: every_other(1), lambda: every_other(2)) for verdict in part]
    assert sorted(verdicts) == [Verdict.BUILD] * 3 + [Verdict.HELD] * 5
    count, holders = slots(two)
    assert (count, len(set(holders))) == (3, 3)
    assert max(seen) <= 3
    assert {str(n) for n in range(1, 9) if two.requests.get(str(n)).state == RequestState.PROCESSING} == set(holders)


def test_threads_that_process_one_request_take_one_slot(one: Storage) -> None:
    done = race(*[lambda: process(one, "1", slots=4)] * 3)
    assert {each.verdict for each in done} == {Verdict.BUILD}
    assert slots(one) == (1, ("1",))


def test_it_may_be_stopped_at_every_write_on_the_way_to_a_build(survives_stops: Callable[..., int]) -> None:
    def flow(storage: Storage) -> None:
        assert process(storage, "1", slots=1, now=200).verdict == Verdict.BUILD

    assert survives_stops(lambda storage: ingest(storage, "git://1", now=100), flow) == 4


def test_it_may_be_stopped_at_every_write_on_the_way_to_being_superseded(survives_stops: Callable[..., int]) -> None:
    def before(storage: Storage) -> None:
        ingest(storage, "git://1", now=100)
        change_queue(storage, in_flight_count=1, slot_holders=("1",))
        ingest(storage, "git://2", now=110)

    def flow(storage: Storage) -> None:
        assert process(storage, "1", slots=1, now=200).verdict == Verdict.FINISHED

    assert survives_stops(before, flow) == 4
