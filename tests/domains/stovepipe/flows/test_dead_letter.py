from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument
from strongroom.domains.stovepipe import (
    BuildStatus,
    NotFound,
    OutcomeReason,
    RequestState,
    Storage,
    VersionMismatch,
)
from strongroom.domains.stovepipe.flows import (
    build,
    build_signal,
    dead_letter,
    dead_letter_record,
    ingest,
    process,
    record,
)
from tests.domains.stovepipe.flows.support import QUEUE, before_first, end, race, slots


def processing(storage: Storage) -> None:
    ingest(storage, "git://1", now=100)
    process(storage, "1", slots=2, now=200)
    build(storage, "1", lambda _request: "bk-1", now=300)


@pytest.fixture
def one(storage: Storage) -> Storage:
    processing(storage)
    return storage


def test_a_missing_request_is_none_and_nothing_is_written(storage: Storage) -> None:
    assert dead_letter(storage, "1") is None
    with pytest.raises(NotFound):
        storage.queues.get(QUEUE)


def test_an_accepted_request_fails_with_the_reason_given(storage: Storage) -> None:
    ingest(storage, "git://1", now=100)
    request = dead_letter(storage, "1", reason=OutcomeReason.VALIDATION_TIMEOUT, now=500)
    assert request == storage.requests.get("1")
    assert (request.state, request.version) == (RequestState.FAILED, 2)
    summary = storage.request_summaries.get("1")
    assert (summary.state, summary.outcome_reason, summary.state_timestamp_ms) == ("failed", "validation_timeout", 500)


def test_a_processing_request_gives_its_slot_back_first(one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, tuple[str, ...]]] = []
    before_first(monkeypatch, one.requests, "update", lambda: seen.append(slots(one)))
    request = dead_letter(one, "1")
    assert request is not None
    assert request.state == RequestState.FAILED
    assert seen == [(0, ())]
    assert one.request_summaries.get("1").outcome_reason == "processing_failed"


def test_a_slot_that_a_stopped_run_claimed_is_given_back(storage: Storage) -> None:
    ingest(storage, "git://1")
    queue = storage.queues.get(QUEUE)
    storage.queues.update(queue.replace(in_flight_count=1, slot_holders=("1",)), 1, 2)
    dead_letter(storage, "1")
    assert slots(storage) == (0, ())


def test_another_requests_slot_is_never_given_back(one: Storage) -> None:
    ingest(one, "git://2")
    assert dead_letter(one, "2") is not None
    assert slots(one) == (1, ("1",))


def test_a_drained_count_stays_at_zero(one: Storage) -> None:
    queue = one.queues.get(QUEUE)
    one.queues.update(queue.replace(in_flight_count=0), queue.version, queue.version + 1)
    dead_letter(one, "1")
    assert slots(one) == (0, ())


@pytest.mark.parametrize(
    "state", [RequestState.SUPERSEDED, RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED]
)
def test_a_request_that_has_ended_keeps_its_end_and_gets_the_log_that_was_left_out(
    storage: Storage, state: RequestState
) -> None:
    ingest(storage, "git://1")
    end(storage, "1", state)
    request = storage.requests.get("1")
    assert dead_letter(storage, "1") == request
    assert storage.requests.get("1") == request
    assert storage.request_summaries.get("1").state == state


def test_a_reason_that_is_logged_stays(one: Storage) -> None:
    build_signal(one, "bk-1", BuildStatus.FAILED, now=400)
    queue = one.queues.get(QUEUE)
    dead_letter(one, "1", reason=OutcomeReason.VALIDATION_TIMEOUT, now=500)
    assert one.request_summaries.get("1").outcome_reason == "build_failed"
    assert one.queues.get(QUEUE) == queue


def test_a_late_success_wins(one: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before_first(monkeypatch, one.requests, "update", lambda: build_signal(one, "bk-1", BuildStatus.SUCCEEDED, now=400))
    with pytest.raises(VersionMismatch) as raised:
        dead_letter(one, "1", now=400)
    assert raised.value.retryable
    request = dead_letter(one, "1", now=500)
    assert request is not None
    assert request.state == RequestState.SUCCEEDED
    assert one.request_summaries.get("1").outcome_reason == "build_succeeded"


def test_a_claim_that_comes_between_is_given_back_by_who_made_it(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(storage, "git://1")
    before_first(monkeypatch, storage.requests, "update", lambda: dead_letter(storage, "1"))
    assert process(storage, "1", slots=1).request.state == RequestState.FAILED
    assert slots(storage) == (0, ())


def test_beside_a_signal_one_end_is_reached_and_no_slot_is_kept(one: Storage) -> None:
    def give_up() -> None:
        try:
            dead_letter(one, "1")
        except VersionMismatch:
            dead_letter(one, "1")

    race(give_up, lambda: build_signal(one, "bk-1", BuildStatus.SUCCEEDED))
    request = one.requests.get("1")
    assert request.state in (RequestState.SUCCEEDED, RequestState.FAILED)
    assert one.request_summaries.get("1").state == request.state
    assert slots(one) == (0, ())


def test_no_fact_is_made_of_it(one: Storage) -> None:
    dead_letter(one, "1")
    record(one, "1", {"api": 1.0})
    with pytest.raises(NotFound):
        one.facts.get("git://1")


@pytest.mark.parametrize(
    ("reason", "now"),
    [(OutcomeReason.BUILD_SUCCEEDED, 1), (OutcomeReason.SUPERSEDED_BY_NEWER_HEAD, 1), ("because", 1), (None, 0)],
)
def test_a_reason_or_time_out_of_range_is_refused_and_nothing_is_written(
    one: Storage, reason: OutcomeReason | None, now: int
) -> None:
    with pytest.raises(InvalidArgument):
        dead_letter(one, "1", reason=reason or OutcomeReason.PROCESSING_FAILED, now=now)
    assert slots(one) == (1, ("1",))


@pytest.mark.parametrize("reason", [OutcomeReason.PROCESSING_FAILED, OutcomeReason.BUILD_POLLING_EXHAUSTED])
def test_it_may_be_stopped_at_every_write(survives_stops: Callable[..., int], reason: OutcomeReason) -> None:
    def before(storage: Storage) -> None:
        processing(storage)
        ingest(storage, "git://2", now=310)
        process(storage, "2", slots=2, now=320)

    def flow(storage: Storage) -> None:
        request = dead_letter(storage, "1", reason=reason, now=500)
        assert request is not None
        assert request.state == RequestState.FAILED

    # slot, state, log, summary
    assert survives_stops(before, flow) == 4


class TestARecordingThatWasGivenUp:
    def recordable(self, storage: Storage) -> None:
        processing(storage)
        build_signal(storage, "bk-1", BuildStatus.SUCCEEDED, now=400)

    def test_it_is_run_again(self, storage: Storage) -> None:
        self.recordable(storage)
        promoted: list[str] = []
        done = dead_letter_record(storage, "1", {"api": 0.0}, promote=lambda request: promoted.append(request.id))
        assert (done.promoted, promoted) == (True, ["1"])
        assert storage.facts.get("git://1", "api").is_green
        with pytest.raises(NotFound):
            storage.request_log.get("1", "event/promotion_failed/repository")

    def test_a_promotion_that_fails_again_is_logged_once_and_comes_out(self, storage: Storage) -> None:
        def fail(_request: object) -> None:
            raise ConnectionError("no promotion today")

        self.recordable(storage)
        for now in (500, 600):
            with pytest.raises(ConnectionError):
                dead_letter_record(storage, "1", promote=fail, now=now)
        assert storage.request_log.get("1", "event/promotion_failed/repository").timestamp_ms == 500

    def test_it_may_be_stopped_at_every_write(self, survives_stops: Callable[..., int]) -> None:
        def fail(_request: object) -> None:
            raise ConnectionError("no promotion today")

        def flow(storage: Storage) -> None:
            with pytest.raises(ConnectionError):
                dead_letter_record(storage, "1", {"api": 0.0}, promote=fail, now=500)

        # two facts, a place, the event, the bookmark, the failure
        assert survives_stops(self.recordable, flow) == 6
