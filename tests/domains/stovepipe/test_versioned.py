"""Compare-and-set, the same in every store of versioned records (W2): versions belong to the caller."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import BuildStatus, RequestState
from strongroom.engine import Engine, retry
from tests.domains.engines import OvertakenEngine
from tests.domains.stovepipe.samples import (
    OTHER,
    QUEUE,
    a_build,
    a_processing_request,
    a_queue,
    a_queue_summary,
    a_request,
    a_summary,
)


@dataclass(frozen=True)
class Case:
    """A store of versioned records: a record, the same one changed in all that may change, and how to get it."""

    store: str
    before: Any
    after: Any
    key: str
    scope: str = "queue"

    def of(self, storage: stovepipe.Storage) -> Any:
        return getattr(storage, self.store)

    def stored(self, storage: stovepipe.Storage) -> Any:
        return self.of(storage).get(self.key)


CASES = [
    Case("requests", a_request(), a_processing_request(uri="git://monorepo/moved"), a_request().id),
    Case("builds", a_build(), a_build(status=BuildStatus.RUNNING), "b-1"),
    Case(
        "request_summaries",
        a_summary(accepted_at_ms=0),
        a_summary(state=RequestState.PROCESSING, request_version=2, base_uri="git://monorepo/5"),
        "r-7",
    ),
    Case(
        "queues",
        a_queue(),
        stovepipe.Queue(QUEUE, "git://monorepo/6", "r-6", 0, latest_request_id="r-9", admission_state=b"\x01"),
        QUEUE,
        scope="name",
    ),
    Case(
        "queue_summaries",
        a_queue_summary(),
        a_queue_summary(enabled=False, enablement_sequence=2, effective_commit_uri="git://monorepo/8", reason="flaky"),
        QUEUE,
    ),
]

every_store = pytest.mark.parametrize("case", CASES, ids=lambda case: case.store)


@every_store
def test_what_was_created_is_got(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    assert case.stored(storage) == case.before


@every_store
def test_a_second_create_is_refused_and_changes_nothing(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    with pytest.raises(stovepipe.AlreadyExists):
        case.of(storage).create(case.after)
    assert case.stored(storage) == case.before


@every_store
def test_what_was_never_created_is_not_found(case: Case, storage: stovepipe.Storage) -> None:
    with pytest.raises(stovepipe.NotFound):
        case.stored(storage)


@every_store
def test_an_update_writes_everything_that_may_change_and_the_new_version(
    case: Case, storage: stovepipe.Storage
) -> None:
    case.of(storage).create(case.before)
    case.of(storage).update(case.after, 1, 2)
    assert case.stored(storage) == case.after.replace(version=2)


@every_store
def test_the_same_update_again_is_a_mismatch(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    case.of(storage).update(case.after, 1, 2)
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(storage).update(case.before, 1, 2)
    assert case.stored(storage) == case.after.replace(version=2)


@every_store
def test_an_update_of_nothing_is_a_mismatch_and_never_not_found(case: Case, storage: stovepipe.Storage) -> None:
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(storage).update(case.after, 1, 2)
    with pytest.raises(stovepipe.NotFound):
        case.stored(storage)


@every_store
def test_updates_follow_each_other_whatever_version_the_record_carries(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    case.of(storage).update(case.after.replace(version=77), 1, 2)
    case.of(storage).update(case.after.replace(version=1), 2, 3)
    assert case.stored(storage) == case.after.replace(version=3)


@every_store
@pytest.mark.parametrize(("old", "new"), [(1, 9), (1, 2**31 - 1), (5, 2), (4, 4)])
def test_the_new_version_is_written_exactly_as_given(
    case: Case, storage: stovepipe.Storage, old: int, new: int
) -> None:
    case.of(storage).create(case.before.replace(version=old))
    case.of(storage).update(case.after, old, new)
    assert case.stored(storage).version == new
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(storage).update(case.before, old if old != new else old - 1, new + 1 if new < 9 else new)


@every_store
def test_an_update_that_changes_nothing_still_tells_the_truth(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    case.of(storage).update(case.before, 1, 1)
    assert case.stored(storage) == case.before
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(storage).update(case.before, 2, 2)


@every_store
def test_the_callers_object_is_left_as_it_is(case: Case, storage: stovepipe.Storage) -> None:
    case.of(storage).create(case.before)
    given = case.after.replace(version=40)
    case.of(storage).update(given, 1, 2)
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(storage).update(given, 1, 3)
    assert given == case.after.replace(version=40)


@every_store
def test_another_queues_record_is_refused_before_the_engine_is_asked(case: Case, unasked: stovepipe.Storage) -> None:
    foreign = case.before.replace(**{case.scope: OTHER})
    with pytest.raises(strongroom.ScopeMismatch):
        case.of(unasked).create(foreign)
    with pytest.raises(strongroom.ScopeMismatch):
        case.of(unasked).update(foreign, 1, 2)


@every_store
@pytest.mark.parametrize(
    ("old", "new"), [(0, 1), (1, 0), (-1, 1), (1, 2**31), (2**31, 1), (True, 2), (1, "2"), (1.0, 2)]
)
def test_a_version_that_can_not_be_is_refused_before_the_engine_is_asked(
    case: Case, unasked: stovepipe.Storage, old: Any, new: Any
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        case.of(unasked).update(case.after, old, new)


@every_store
def test_another_kind_of_record_is_refused_before_the_engine_is_asked(case: Case, unasked: stovepipe.Storage) -> None:
    for record in (stovepipe.OpenIssue(QUEUE, "t", "u", "b"), None, case.before.as_dict()):
        with pytest.raises(strongroom.InvalidArgument):
            case.of(unasked).create(record)
        with pytest.raises(strongroom.InvalidArgument):
            case.of(unasked).update(record, 1, 2)


@every_store
def test_two_queues_never_see_each_others_records(
    case: Case, storage: stovepipe.Storage, other: stovepipe.Storage
) -> None:
    case.of(storage).create(case.before)
    elsewhere = OTHER if case.key == QUEUE else case.key
    with pytest.raises(stovepipe.NotFound):
        case.of(other).get(elsewhere)
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(other).update(case.after.replace(**{case.scope: OTHER}), 1, 2)
    case.of(other).create(case.after.replace(**{case.scope: OTHER}))
    case.of(other).update(case.before.replace(**{case.scope: OTHER}), 1, 2)
    assert case.stored(storage) == case.before
    assert case.of(other).get(elsewhere).version == 2


@every_store
def test_of_many_that_update_the_same_version_one_succeeds(case: Case, room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)
    case.of(storage).create(case.before)
    won: list[int] = []

    def race(new_version: int) -> None:
        try:
            case.of(storage).update(case.after, 1, new_version)
        except stovepipe.VersionMismatch:
            return
        won.append(new_version)

    together([lambda number=number: race(number) for number in range(2, 8)])  # type: ignore[misc]
    assert [case.stored(storage).version] == won


@every_store
def test_an_update_that_a_rival_gets_ahead_of_is_a_mismatch(case: Case, room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)
    case.of(storage).create(case.before)
    overtaken = OvertakenEngine(room, lambda: case.of(storage).update(case.before, 1, 2))
    with pytest.raises(stovepipe.VersionMismatch):
        case.of(stovepipe.Stovepipe(overtaken).for_queue(QUEUE)).update(case.after, 1, 2)
    assert case.stored(storage) == case.before.replace(version=2)


def test_five_writers_that_read_and_try_again_lose_no_update(room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)
    storage.queues.create(stovepipe.Queue(QUEUE))

    def claim() -> None:
        queue = storage.queues.get(QUEUE)
        claimed = queue.replace(in_flight_count=queue.in_flight_count + 1)
        storage.queues.update(claimed, queue.version, queue.version + 1)

    def work() -> None:
        for _ in range(10):
            retry(claim, on=stovepipe.VersionMismatch)

    together([work] * 5)
    queue = storage.queues.get(QUEUE)
    assert (queue.in_flight_count, queue.version) == (50, 51)


def together(calls: list[Callable[[], None]]) -> None:
    """Make the calls at the same time, each in a thread of its own, and pass on what they raise."""
    start = threading.Barrier(len(calls))
    faults: list[BaseException] = []

    def run(call: Callable[[], None]) -> None:
        try:
            start.wait()
            call()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
