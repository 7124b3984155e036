"""The log of what happened to each request."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import REASONS, OutcomeReason, RequestEvent, RequestLog, RequestState
from tests.domains.stovepipe.samples import ALIKE, NOON, OTHER, a_log, a_state_log


def test_an_event_comes_back_with_its_metadata(storage: stovepipe.Storage) -> None:
    log = a_log(metadata={"base_uri": "", "build_id": "b-1", "é\u2028": "💥 \x01"})
    storage.request_log.create(log)
    assert storage.request_log.get("r-7", log.id) == log


def test_a_log_without_metadata_has_empty_metadata(storage: stovepipe.Storage) -> None:
    log = RequestLog("monorepo/main", "r-7", "event/x", NOON, event=RequestEvent.BUILD_FINISHED)
    storage.request_log.create(log)
    assert storage.request_log.get("r-7", "event/x").metadata == {}


def test_the_same_occurrence_again_is_refused_and_the_original_kept(storage: stovepipe.Storage) -> None:
    storage.request_log.create(a_log())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.request_log.create(a_log(timestamp_ms=NOON + 5, metadata={}))
    assert storage.request_log.get("r-7", a_log().id) == a_log()


def test_an_occurrence_that_was_not_logged_is_not_found(storage: stovepipe.Storage) -> None:
    storage.request_log.create(a_log())
    for key in [("r-7", "state/1"), ("r-8", a_log().id)]:
        with pytest.raises(stovepipe.NotFound):
            storage.request_log.get(*key)


def test_occurrences_are_listed_by_time_and_then_by_id_whatever_order_they_came_in(storage: stovepipe.Storage) -> None:
    expected = [(NOON, "y"), (NOON + 1, "10"), (NOON + 1, "9"), (NOON + 1, "Z"), (NOON + 1, "z"), (NOON + 1, "é")]
    expected.append((NOON + 2, "a"))
    for at, name in [expected[i] for i in (6, 1, 5, 0, 3, 2, 4)]:
        log = a_log(id=f"event/{name}", timestamp_ms=at)
        storage.request_log.create(log)
    assert [(log.timestamp_ms, log.id) for log in storage.request_log.list("r-7")] == [
        (at, f"event/{name}") for at, name in expected
    ]


def test_a_long_log_is_listed_whole(storage: stovepipe.Storage) -> None:
    for number in range(450):
        storage.request_log.create(a_log(id=f"event/{number}", timestamp_ms=NOON + 1000 - number))
    logs = storage.request_log.list("r-7")
    assert [log.timestamp_ms for log in logs] == [NOON + 1000 - number for number in reversed(range(450))]


def test_the_list_of_a_request_that_nothing_is_known_of_is_not_found(storage: stovepipe.Storage) -> None:
    storage.request_log.create(a_log())
    for request_id in ["r-70", "r", "R-7"]:
        with pytest.raises(stovepipe.NotFound):
            storage.request_log.list(request_id)


def test_the_same_occurrence_in_two_queues_is_two(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    third = stovepipe.Stovepipe(storage.engine).for_queue("third")
    storage.request_log.create(a_log())
    other.request_log.create(a_log(queue=OTHER, timestamp_ms=1))
    assert storage.request_log.list("r-7") == [a_log()]
    assert other.request_log.list("r-7") == [a_log(queue=OTHER, timestamp_ms=1)]
    with pytest.raises(stovepipe.NotFound):
        third.request_log.list("r-7")


def test_ids_that_look_alike_are_different_occurrences(storage: stovepipe.Storage) -> None:
    for number, name in enumerate(ALIKE):
        storage.request_log.create(a_log(id=name, timestamp_ms=NOON + number))
    assert [log.id for log in storage.request_log.list("r-7")] == ALIKE


@pytest.mark.parametrize("state", list(RequestState))
def test_a_state_goes_with_its_own_reasons_and_no_others(storage: stovepipe.Storage, state: RequestState) -> None:
    allowed = REASONS[state] or {None}
    for number, reason in enumerate([None, *OutcomeReason], 1):
        log = a_state_log(state, number, outcome_reason=reason)
        if reason in allowed:
            storage.request_log.create(log)
            assert storage.request_log.get("r-7", log.id) == log
        else:
            with pytest.raises(strongroom.InvalidArgument):
                storage.request_log.create(log)


def test_the_reasons_are_those_of_the_source() -> None:
    spelled = {state.value: sorted(reason.value for reason in reasons) for state, reasons in REASONS.items()}
    assert spelled == {
        "accepted": [],
        "processing": [],
        "superseded": ["superseded_by_newer_head"],
        "succeeded": ["build_succeeded"],
        "cancelled": ["build_cancelled"],
        "failed": ["build_failed", "build_polling_exhausted", "processing_failed", "validation_timeout"],
    }


WRONG: dict[str, dict[str, Any]] = {
    "no id": {"id": ""},
    "no request": {"request_id": ""},
    "no queue": {"queue": ""},
    "time zero": {"timestamp_ms": 0},
    "negative time": {"timestamp_ms": -1},
    "neither state nor event": {"event": None},
    "both state and event": {"state": RequestState.ACCEPTED, "request_version": 1},
    "an event with a version": {"request_version": 1},
    "an event with a reason": {"outcome_reason": OutcomeReason.BUILD_FAILED},
    "a state without a version": {"event": None, "state": RequestState.ACCEPTED},
    "a negative version": {"event": None, "state": RequestState.ACCEPTED, "request_version": -1},
    "a version over 32 bits": {"event": None, "state": RequestState.ACCEPTED, "request_version": 2**31},
    "an unknown state": {"event": None, "state": "paused", "request_version": 1},
    "an unknown event": {"event": "build_exploded"},
    "an unknown reason": {"event": None, "state": RequestState.FAILED, "request_version": 3, "outcome_reason": "rain"},
    "metadata of another type": {"metadata": {"fact_degree": 0.5}},
    "metadata that are no mapping": {"metadata": ["build_id"]},
    "metadata with a NUL": {"metadata": {"build_id": "a\0b"}},
    "metadata over the limit": {"metadata": {"build_id": "b" * 65_536}},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG.keys())
def test_a_log_that_is_wrong_in_itself_is_refused_as_such_even_when_it_is_another_queues(
    unasked: stovepipe.Storage, changes: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_log.create(a_log(**changes))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_log.create(a_log(**{"queue": OTHER, **changes}))


def test_a_proper_log_of_another_queue_is_refused(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.request_log.create(a_log(queue=OTHER))


def test_an_empty_request_id_has_no_list(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_log.list("")
