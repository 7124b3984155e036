"""Queues: their coordination, the log of their enablement and how it is shown, with three counters kept apart."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Queue
from strongroom.engine import Engine
from tests.domains.stovepipe.samples import NOON, OTHER, QUEUE, a_queue, a_queue_summary, an_occurrence


def test_a_queue_that_is_new_has_nothing_in_flight_and_is_not_enabled(storage: stovepipe.Storage) -> None:
    storage.queues.create(Queue(QUEUE))
    found = storage.queues.get(QUEUE)
    assert (found.in_flight_count, found.latest_request_id, found.last_green_uri) == (0, "", "")
    assert (found.enabled, found.enablement_sequence, found.version) == (False, 0, 1)


def test_the_fields_that_a_queue_is_created_with_are_kept(storage: stovepipe.Storage) -> None:
    storage.queues.create(a_queue(version=4))
    assert storage.queues.get(QUEUE) == a_queue(version=4)


def test_the_admission_gates_bytes_are_never_looked_into(storage: stovepipe.Storage) -> None:
    every_byte = bytes(range(256)) * 4
    storage.queues.create(a_queue(admission_state=every_byte))
    assert storage.queues.get(QUEUE).admission_state == every_byte


@pytest.mark.parametrize("name", [OTHER, "Monorepo/main", "monorepo/main ", "m"])
def test_another_queue_is_not_found_and_the_engine_is_not_asked(unasked: stovepipe.Storage, name: str) -> None:
    with pytest.raises(stovepipe.NotFound):
        unasked.queues.get(name)
    with pytest.raises(stovepipe.NotFound):
        unasked.queue_summaries.get(name)


def test_another_queue_is_not_found_even_where_it_exists(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.queues.create(a_queue())
    other.queues.create(a_queue(name=OTHER))
    with pytest.raises(stovepipe.NotFound):
        storage.queues.get(OTHER)
    with pytest.raises(strongroom.ScopeMismatch):
        storage.queues.create(a_queue(name="third"))


def test_updating_one_queue_leaves_another_as_it_was(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.queues.create(a_queue())
    other.queues.create(a_queue(name=OTHER))
    storage.queues.update(Queue(QUEUE, in_flight_count=9), 1, 2)
    assert other.queues.get(OTHER) == a_queue(name=OTHER)
    assert storage.queues.get(QUEUE) == Queue(QUEUE, in_flight_count=9, version=2)


@pytest.mark.parametrize(
    "changes",
    [
        {"in_flight_count": -1},
        {"in_flight_count": 2**31},
        {"enablement_sequence": -1},
        {"enabled": 1},
        {"admission_state": "text"},
        {"admission_state": bytes(65_536)},
        {"version": 0},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_queue_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.queues.create(a_queue(**changes))


# The log


def log_of(storage: stovepipe.Storage, **wanted: Any) -> list[int]:
    return [occurrence.sequence for occurrence in storage.queue_log.list(**{"limit": 100, **wanted})]


def test_an_occurrence_comes_back_as_it_was(storage: stovepipe.Storage) -> None:
    occurrence = an_occurrence(enabled=False, effective_commit_uri="", reason="")
    storage.queue_log.create(occurrence)
    assert storage.queue_log.get(1) == occurrence


def test_a_second_occurrence_of_one_sequence_is_refused_and_the_first_kept(storage: stovepipe.Storage) -> None:
    storage.queue_log.create(an_occurrence())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.queue_log.create(an_occurrence(operation_id="rival", enabled=False, occurred_at_ms=NOON + 1))
    assert storage.queue_log.get(1) == an_occurrence()


def test_the_log_is_read_in_order_behind_any_sequence(storage: stovepipe.Storage) -> None:
    for sequence in range(1, 13):
        storage.queue_log.create(an_occurrence(sequence))
    assert log_of(storage) == list(range(1, 13))
    assert log_of(storage, after=9, limit=2) == [10, 11]
    assert log_of(storage, after=12) == log_of(storage, after=500) == []


def test_the_latest_occurrence_is_the_one_with_the_highest_sequence(storage: stovepipe.Storage) -> None:
    for sequence in range(1, 12):
        storage.queue_log.create(an_occurrence(sequence))
        assert storage.queue_log.latest() == an_occurrence(sequence)


def test_a_queue_that_nothing_happened_to_has_an_empty_log(storage: stovepipe.Storage) -> None:
    assert log_of(storage) == []
    with pytest.raises(stovepipe.NotFound):
        storage.queue_log.latest()
    with pytest.raises(stovepipe.NotFound):
        storage.queue_log.get(1)


def test_a_history_with_a_hole_is_never_taken_for_a_short_one(storage: stovepipe.Storage) -> None:
    storage.queue_log.create(an_occurrence(1))
    storage.queue_log.create(an_occurrence(3))
    with pytest.raises(strongroom.Corrupt):
        log_of(storage)
    assert log_of(storage, after=2) == [3]


def test_the_logs_of_two_queues_are_numbered_apart(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.queue_log.create(an_occurrence(1))
    storage.queue_log.create(an_occurrence(2))
    other.queue_log.create(an_occurrence(1, queue=OTHER))
    assert log_of(storage) == [1, 2]
    assert log_of(other) == [1]
    assert other.queue_log.latest().queue == OTHER


def test_another_queues_occurrence_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.queue_log.create(an_occurrence(queue=OTHER))


@pytest.mark.parametrize(
    "changes",
    [{"sequence": 0}, {"sequence": -1}, {"operation_id": ""}, {"occurred_at_ms": 0}, {"reason": "r" * 4097}],
    ids=lambda changes: next(iter(changes)),
)
def test_an_occurrence_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.queue_log.create(an_occurrence().replace(**changes))


def test_a_place_in_the_log_that_can_not_be_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    for call in (
        lambda: unasked.queue_log.get(0),
        lambda: unasked.queue_log.list(after=-1, limit=1),
        lambda: unasked.queue_log.list(after=True, limit=1),
        lambda: unasked.queue_log.list(limit=0),
        lambda: unasked.queue_log.list(limit=10_001),
    ):
        with pytest.raises(strongroom.InvalidArgument):
            call()


# The summary, and the three together


def test_the_three_counters_go_their_own_ways(storage: stovepipe.Storage) -> None:
    storage.queue_log.create(an_occurrence(1))
    storage.queues.create(Queue(QUEUE, enabled=True, enablement_sequence=1, version=1))
    storage.queue_summaries.create(a_queue_summary())
    for version in range(1, 6):
        queue = storage.queues.get(QUEUE)
        storage.queues.update(queue.replace(in_flight_count=version), version, version + 1)
    storage.queue_log.create(an_occurrence(2, enabled=False))
    storage.queue_summaries.update(a_queue_summary(enabled=False, enablement_sequence=2), 1, 2)
    queue, summary = storage.queues.get(QUEUE), storage.queue_summaries.get(QUEUE)
    assert (queue.version, queue.enablement_sequence) == (6, 1)
    assert (summary.version, summary.enablement_sequence) == (2, 2)
    assert storage.queue_log.latest().sequence == 2


def test_a_stale_projection_never_overwrites_a_newer_one(storage: stovepipe.Storage) -> None:
    storage.queue_summaries.create(a_queue_summary())
    storage.queue_summaries.update(a_queue_summary(enablement_sequence=2), 1, 2)
    with pytest.raises(stovepipe.VersionMismatch):
        storage.queue_summaries.update(a_queue_summary(), 1, 2)
    assert storage.queue_summaries.get(QUEUE).enablement_sequence == 2


def test_a_summary_can_be_made_from_the_log_alone(room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)
    storage.queue_log.create(an_occurrence(1))
    storage.queue_log.create(an_occurrence(2, enabled=False, reason="flaky"))
    last = storage.queue_log.latest()
    storage.queue_summaries.create(
        a_queue_summary(enabled=last.enabled, enablement_sequence=last.sequence, reason=last.reason)
    )
    found = storage.queue_summaries.get(QUEUE)
    assert (found.enabled, found.enablement_sequence, found.reason, found.version) == (False, 2, "flaky", 1)


@pytest.mark.parametrize("changes", [{"enablement_sequence": 0}, {"occurred_at_ms": 0}, {"enabled": None}])
def test_a_summary_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.queue_summaries.create(a_queue_summary(**changes))
