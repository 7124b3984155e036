from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument, ScopeMismatch, Unavailable
from strongroom.domains.stovepipe import (
    BuildStrategy,
    MetadataKey,
    NotFound,
    OutcomeReason,
    Request,
    RequestAcceptance,
    RequestEvent,
    RequestLog,
    RequestState,
    RequestSummary,
    Storage,
)
from strongroom.domains.stovepipe.flows import Inconsistent, persist_log
from strongroom.domains.stovepipe.flows.materializer import ensure_state, event_log, state_log
from tests.domains.stovepipe.flows.support import QUEUE, acceptances, before_first, refuse

REASONS = {
    RequestState.SUPERSEDED: OutcomeReason.SUPERSEDED_BY_NEWER_HEAD,
    RequestState.SUCCEEDED: OutcomeReason.BUILD_SUCCEEDED,
    RequestState.FAILED: OutcomeReason.BUILD_FAILED,
    RequestState.CANCELLED: OutcomeReason.BUILD_CANCELLED,
}


def request(state: RequestState = RequestState.ACCEPTED, version: int = 1) -> Request:
    return Request(QUEUE, "7", "git://a", state, version=version)


def accepted(at: int = 100) -> RequestLog:
    return RequestLog(QUEUE, "7", "state/1", at, state=RequestState.ACCEPTED, request_version=1)


def processing(at: int = 200, metadata: dict[str, str] | None = None) -> RequestLog:
    return RequestLog(
        QUEUE, "7", "state/2", at, state=RequestState.PROCESSING, request_version=2, metadata=metadata or {}
    )


def failed(reason: OutcomeReason = OutcomeReason.BUILD_FAILED, at: int = 300) -> RequestLog:
    return RequestLog(QUEUE, "7", "state/3", at, state=RequestState.FAILED, request_version=3, outcome_reason=reason)


@pytest.fixture
def with_request(storage: Storage) -> Storage:
    storage.requests.create(request())
    return storage


@pytest.mark.parametrize("state", list(RequestState))
def test_every_state_is_logged_at_now_and_shown(with_request: Storage, state: RequestState) -> None:
    log = state_log(request(state, version=4), REASONS.get(state), now=0)
    stored = persist_log(with_request, log, now=500)
    assert stored == log.replace(timestamp_ms=500)
    assert with_request.request_log.list("7") == [stored]
    assert with_request.request_summaries.get("7") == RequestSummary(
        QUEUE,
        "7",
        "git://a",
        state,
        request_version=4,
        state_timestamp_ms=500,
        accepted_at_ms=500 if state == RequestState.ACCEPTED else 0,
        outcome_reason=REASONS.get(state),
    )


def test_without_now_the_engines_clock_is_taken(with_request: Storage) -> None:
    before = with_request.engine.now()
    assert before <= persist_log(with_request, accepted(0)).timestamp_ms <= with_request.engine.now()


def test_a_given_time_is_kept(with_request: Storage) -> None:
    assert persist_log(with_request, accepted(100), now=500).timestamp_ms == 100


def test_ids_are_the_same_on_every_retry() -> None:
    event = event_log(request(), RequestEvent.BUILD_TRIGGERED, "bk-1", {}, now=1)
    assert (state_log(request(), now=1).id, event.id) == ("state/1", "event/build_triggered/bk-1")
    assert event.id == event_log(request(), RequestEvent.BUILD_TRIGGERED, "bk-1", {}, now=2).id


def test_a_baseline_is_logged_once_there_is_a_strategy_and_is_empty_for_a_full_build() -> None:
    full = request().replace(build_strategy=BuildStrategy.FULL)
    since = full.replace(build_strategy=BuildStrategy.INCREMENTAL_SINCE_GREEN, base_uri="git://green")
    assert [state_log(each, now=1).metadata for each in (request(), full, since)] == [
        {},
        {"base_uri": ""},
        {"base_uri": "git://green"},
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        failed().replace(outcome_reason=None),
        accepted().replace(outcome_reason=OutcomeReason.BUILD_FAILED),
        accepted().replace(request_version=0),
        accepted().replace(event=RequestEvent.BUILD_FINISHED),
        accepted().replace(id=""),
        accepted(-1),
    ],
)
def test_a_log_that_can_not_be_is_refused_and_nothing_is_written(with_request: Storage, wrong: RequestLog) -> None:
    with pytest.raises(InvalidArgument):
        persist_log(with_request, wrong, now=5)
    assert_nothing_is_written(with_request)


def test_another_queues_log_is_refused_and_nothing_is_written(with_request: Storage) -> None:
    with pytest.raises(ScopeMismatch):
        persist_log(with_request, accepted().replace(queue="other"))
    assert_nothing_is_written(with_request)


def assert_nothing_is_written(storage: Storage) -> None:
    for read in (lambda: storage.request_log.list("7"), lambda: storage.request_summaries.get("7")):
        with pytest.raises(NotFound):
            read()
    assert acceptances(storage) == []


def test_a_replay_at_another_time_is_a_success_that_changes_nothing(with_request: Storage) -> None:
    first = persist_log(with_request, accepted(100))
    assert persist_log(with_request, accepted(900)) == first
    assert with_request.request_summaries.get("7").version == 1
    assert acceptances(with_request) == [(100, "7")]


def test_a_replay_with_another_reason_is_inconsistent_and_the_first_stays(with_request: Storage) -> None:
    persist_log(with_request, failed())
    with pytest.raises(Inconsistent):
        persist_log(with_request, failed(OutcomeReason.VALIDATION_TIMEOUT))
    assert with_request.request_log.list("7") == [failed()]
    assert with_request.request_summaries.get("7").outcome_reason == OutcomeReason.BUILD_FAILED


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ({}, {"base_uri": "x"}, True),
        ({"base_uri": "x"}, {}, True),
        ({"base_uri": "x", "a": "1"}, {"base_uri": "x", "b": "2"}, True),
        ({"base_uri": "x", "a": "1"}, {"base_uri": "x", "a": "2"}, False),
    ],
)
def test_only_the_metadata_keys_that_both_logs_have_must_agree(
    with_request: Storage, first: dict[str, str], second: dict[str, str], agree: bool
) -> None:
    persist_log(with_request, processing(metadata=first))
    if agree:
        assert persist_log(with_request, processing(metadata=second)).metadata == first
    else:
        with pytest.raises(Inconsistent):
            persist_log(with_request, processing(metadata=second))


def test_an_event_is_only_logged(storage: Storage) -> None:
    log = event_log(request(), RequestEvent.BUILD_TRIGGERED, "bk-1", {}, now=5)
    assert persist_log(storage, log) == log
    with pytest.raises(NotFound):
        storage.request_summaries.get("7")


def test_a_missing_summary_is_made_from_the_log_not_from_the_request_as_it_is_now(storage: Storage) -> None:
    storage.requests.create(request(RequestState.PROCESSING, version=2).replace(base_uri="git://b"))
    persist_log(storage, accepted())
    summary = storage.request_summaries.get("7")
    assert (summary.state, summary.request_version, summary.base_uri, summary.version) == ("accepted", 1, "", 1)


def test_a_summary_needs_its_request(storage: Storage) -> None:
    with pytest.raises(NotFound):
        persist_log(storage, accepted())
    storage.requests.create(request())
    persist_log(storage, accepted(900))
    assert acceptances(storage) == [(100, "7")]


def test_a_request_without_a_uri_is_not_shown(storage: Storage) -> None:
    storage.requests.create(request().replace(uri=""))
    with pytest.raises(Inconsistent):
        persist_log(storage, accepted())
    assert acceptances(storage) == []


def test_a_later_version_replaces_the_state_and_an_older_one_never_does(with_request: Storage) -> None:
    persist_log(with_request, accepted(100))
    persist_log(with_request, processing(50, {"base_uri": "git://green"}))
    after = with_request.request_summaries.get("7")
    assert (after.state, after.state_timestamp_ms, after.base_uri, after.version) == (
        "processing",
        50,
        "git://green",
        2,
    )
    persist_log(with_request, accepted(700))
    assert with_request.request_summaries.get("7") == after
    persist_log(with_request, failed())
    final = with_request.request_summaries.get("7")
    assert (final.state, final.outcome_reason) == ("failed", "build_failed")
    assert final.base_uri == "git://green"  # a log that does not know the baseline leaves it


def test_accepted_twice_keeps_the_first_time_and_one_acceptance(with_request: Storage) -> None:
    persist_log(with_request, accepted(100))
    persist_log(with_request, accepted(150))
    persist_log(with_request, processing())
    persist_log(with_request, accepted(160))
    assert with_request.request_summaries.get("7").state == RequestState.PROCESSING
    assert acceptances(with_request) == [(100, "7")]


def test_an_older_accepted_log_fills_in_a_missing_time_of_acceptance(with_request: Storage) -> None:
    persist_log(with_request, processing())
    assert acceptances(with_request) == []
    persist_log(with_request, accepted(100))
    summary = with_request.request_summaries.get("7")
    assert (summary.state, summary.accepted_at_ms, summary.version) == ("processing", 100, 2)
    assert acceptances(with_request) == [(100, "7")]


def test_another_time_of_acceptance_is_inconsistent_and_not_listed(with_request: Storage) -> None:
    summary = RequestSummary(QUEUE, "7", "git://a", RequestState.PROCESSING, 2, 200, accepted_at_ms=90)
    with_request.request_summaries.create(summary)
    with pytest.raises(Inconsistent):
        persist_log(with_request, accepted(100))
    assert with_request.request_summaries.get("7") == summary
    assert acceptances(with_request) == []


def test_a_known_time_is_listed_although_the_summary_needs_no_write(with_request: Storage) -> None:
    summary = RequestSummary(QUEUE, "7", "git://a", RequestState.PROCESSING, 2, 200, accepted_at_ms=90)
    with_request.request_summaries.create(summary)
    persist_log(with_request, processing(200))
    assert with_request.request_summaries.get("7") == summary
    assert acceptances(with_request) == [(90, "7")]


@pytest.mark.parametrize(
    "shown",
    [
        RequestSummary(
            QUEUE, "7", "git://a", RequestState.FAILED, 3, 300, outcome_reason=OutcomeReason.VALIDATION_TIMEOUT
        ),
        RequestSummary(QUEUE, "7", "git://a", RequestState.FAILED, 3, 301),
        RequestSummary(QUEUE, "7", "git://a", RequestState.CANCELLED, 3, 300),
    ],
)
def test_a_summary_that_shows_the_same_version_otherwise_is_inconsistent(
    with_request: Storage, shown: RequestSummary
) -> None:
    with_request.request_summaries.create(shown)
    with pytest.raises(Inconsistent):
        persist_log(with_request, failed())
    assert with_request.request_summaries.get("7") == shown


def test_a_missing_reason_of_the_same_version_is_filled_in(with_request: Storage) -> None:
    with_request.request_summaries.create(RequestSummary(QUEUE, "7", "git://a", RequestState.FAILED, 3, 300))
    persist_log(with_request, failed())
    summary = with_request.request_summaries.get("7")
    assert (summary.outcome_reason, summary.version) == ("build_failed", 2)


def test_the_loser_of_a_race_to_make_the_summary_goes_on_from_the_winners(
    with_request: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, with_request.request_summaries, "create", lambda: persist_log(with_request, processing()))
    persist_log(with_request, accepted())
    summary = with_request.request_summaries.get("7")
    assert (summary.state, summary.accepted_at_ms, summary.version) == ("processing", 100, 2)
    assert acceptances(with_request) == [(100, "7")]


def test_the_loser_of_a_race_to_change_the_summary_projects_again(
    with_request: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    persist_log(with_request, accepted())
    before_first(monkeypatch, with_request.request_summaries, "update", lambda: persist_log(with_request, failed()))
    persist_log(with_request, processing())
    summary = with_request.request_summaries.get("7")
    assert (summary.state, summary.request_version) == ("failed", 3)


@pytest.mark.parametrize("store", ["request_log", "request_summaries", "acceptances"])
def test_what_an_engine_refuses_comes_out_and_the_next_try_repairs_it(
    with_request: Storage, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    before_first(monkeypatch, getattr(with_request, store), "create", refuse)
    with pytest.raises(Unavailable):
        persist_log(with_request, accepted())
    assert acceptances(with_request) == []
    persist_log(with_request, accepted(900), now=900)
    at = 900 if store == "request_log" else 100
    assert with_request.request_summaries.get("7").accepted_at_ms == at
    assert acceptances(with_request) == [(at, "7")]


@pytest.mark.parametrize(("store", "method"), [("request_summaries", "update"), ("acceptances", "create")])
def test_a_late_acceptance_that_was_stopped_is_repaired_by_the_next_try_with_one_write_of_each(
    with_request: Storage, monkeypatch: pytest.MonkeyPatch, store: str, method: str
) -> None:
    persist_log(with_request, processing())
    before_first(monkeypatch, getattr(with_request, store), method, refuse)
    with pytest.raises(Unavailable):
        persist_log(with_request, accepted(100))
    assert acceptances(with_request) == []
    persist_log(with_request, accepted(900))
    summary = with_request.request_summaries.get("7")
    assert (summary.state, summary.accepted_at_ms, summary.version) == ("processing", 100, 2)
    assert acceptances(with_request) == [(100, "7")]


def test_a_state_found_as_it_is_gets_its_log_once_and_the_first_reason_stays(with_request: Storage) -> None:
    found = request(RequestState.FAILED, version=3)
    assert ensure_state(with_request, found, now=10).timestamp_ms == 10
    stored = ensure_state(with_request, found, if_failed=OutcomeReason.BUILD_FAILED, now=20)
    assert (stored.timestamp_ms, stored.outcome_reason) == (10, "processing_failed")
    assert with_request.request_summaries.get("7").outcome_reason == OutcomeReason.PROCESSING_FAILED


def test_a_state_found_with_the_log_of_another_one_is_inconsistent(with_request: Storage) -> None:
    persist_log(with_request, failed())
    with pytest.raises(Inconsistent):
        ensure_state(with_request, request(RequestState.SUCCEEDED, 3), now=1)


@pytest.mark.parametrize(("state", "reason"), REASONS.items())
def test_a_state_found_as_it_is_is_logged_with_the_reason_that_it_must_have(
    with_request: Storage, state: RequestState, reason: OutcomeReason
) -> None:
    stored = ensure_state(with_request, request(state, 3), if_failed=OutcomeReason.BUILD_FAILED, now=1)
    assert stored.outcome_reason == reason


def test_an_occurrence_too_long_for_an_id_is_there_as_its_digest(storage: Storage) -> None:
    build_id = "b" * 255
    log = event_log(request(), RequestEvent.BUILD_TRIGGERED, build_id, {MetadataKey.BUILD_ID: build_id}, now=5)
    assert persist_log(storage, log).metadata["build_id"] == build_id
    assert log.id.startswith("event/build_triggered/blake2b:")
    other = event_log(request(), RequestEvent.BUILD_TRIGGERED, build_id[1:] + "c", {}, now=5)
    assert other.id != log.id
    fits = event_log(request(), RequestEvent.BUILD_TRIGGERED, "b" * 233, {}, now=5)
    assert fits.id == "event/build_triggered/" + "b" * 233


def test_an_acceptance_of_another_request_at_the_same_time_is_another_one(with_request: Storage) -> None:
    with_request.acceptances.create(RequestAcceptance(QUEUE, 100, "6"))
    persist_log(with_request, accepted(100))
    assert acceptances(with_request) == [(100, "7"), (100, "6")]


def test_it_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    def before(storage: Storage) -> None:
        storage.requests.create(request())

    def flow(storage: Storage) -> None:
        for log in (processing(200, {"base_uri": "git://green"}), accepted(), failed()):
            persist_log(storage, log)

    assert survives_stops(before, flow) == 3 + 3 + 1
