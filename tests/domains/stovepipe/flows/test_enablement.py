from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strongroom import Corrupt, InvalidArgument, Unavailable
from strongroom.domains.stovepipe import NotFound, Queue, QueueLog, QueueSummary, Storage, VersionMismatch
from strongroom.domains.stovepipe.flows import OperationConflict, ingest, set_enablement, settle_enablement
from strongroom.domains.stovepipe.records import ENABLEMENT_OPERATIONS, QUEUE_LOG, EnablementOperation
from tests.domains.stovepipe.flows.support import QUEUE, before_first, race, refuse


def enable(storage: Storage, operation: str = "op-1", now: int = 100, **others: Any) -> QueueLog:
    return set_enablement(storage, operation, True, "git://a", "it is time", now=now, **others)


def disable(storage: Storage, operation: str = "op-2", now: int = 200, **others: Any) -> QueueLog:
    return set_enablement(storage, operation, False, "git://b", "too red", now=now, **others)


FIRST = QueueLog(QUEUE, 1, "op-1", True, "git://a", "it is time", 100)
SECOND = QueueLog(QUEUE, 2, "op-2", False, "git://b", "too red", 200)


def test_the_first_change_is_logged_and_followed_by_row_and_summary(storage: Storage) -> None:
    assert enable(storage) == FIRST
    assert storage.queue_log.list(limit=10) == [FIRST]
    assert storage.queues.get(QUEUE) == Queue(QUEUE, enabled=True, enablement_sequence=1)
    assert storage.queue_summaries.get(QUEUE) == QueueSummary(QUEUE, True, 1, "git://a", "it is time", 100)


def test_the_next_change_follows_it(storage: Storage) -> None:
    enable(storage)
    assert disable(storage) == SECOND
    assert storage.queue_log.list(limit=10) == [FIRST, SECOND]
    assert storage.queues.get(QUEUE) == Queue(QUEUE, enabled=False, enablement_sequence=2, version=2)
    assert storage.queue_summaries.get(QUEUE) == QueueSummary(QUEUE, False, 2, "git://b", "too red", 200, version=2)


def test_a_queue_may_be_disabled_first_and_a_change_may_have_no_boundary_or_reason(storage: Storage) -> None:
    assert set_enablement(storage, "op", False, "", "", now=1) == QueueLog(QUEUE, 1, "op", False, "", "", 1)


def test_sequence_row_version_and_projection_version_count_apart(storage: Storage) -> None:
    for number in range(1, 4):
        ingest(storage, f"git://{number}")
    enable(storage)
    queue, summary = storage.queues.get(QUEUE), storage.queue_summaries.get(QUEUE)
    assert (queue.enablement_sequence, queue.version, summary.version) == (1, 4, 1)
    assert queue.latest_request_id == "3"


class TestAReplay:
    def test_it_returns_its_first_result_and_changes_nothing(self, storage: Storage) -> None:
        enable(storage)
        before = (storage.queues.get(QUEUE), storage.queue_summaries.get(QUEUE))
        assert enable(storage, now=900) == FIRST
        assert (storage.queues.get(QUEUE), storage.queue_summaries.get(QUEUE)) == before

    def test_it_returns_its_first_result_after_later_changes_too(self, storage: Storage) -> None:
        enable(storage)
        disable(storage)
        enable(storage, "op-3", now=300)
        assert enable(storage, now=900, expected_sequence=0) == FIRST
        assert disable(storage, now=900) == SECOND
        assert storage.queues.get(QUEUE).enablement_sequence == 3

    @pytest.mark.parametrize(
        "other", [(False, "git://a", "it is time"), (True, "git://x", "it is time"), (True, "git://a", "for fun")]
    )
    def test_with_other_content_it_is_a_conflict_and_the_first_stays(
        self, storage: Storage, other: tuple[bool, str, str]
    ) -> None:
        enable(storage)
        with pytest.raises(OperationConflict) as raised:
            set_enablement(storage, "op-1", *other)
        assert not raised.value.retryable
        disable(storage)
        with pytest.raises(OperationConflict):
            set_enablement(storage, "op-1", *other)
        assert storage.queue_log.list(limit=10) == [FIRST, SECOND]

    def test_the_same_id_in_another_queue_is_another_operation(self, storage: Storage) -> None:
        enable(storage)
        assert disable(Storage(storage.engine, "other"), "op-1").sequence == 1


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("", True, "git://a", "why"),
            ("o" * 256, True, "git://a", "why"),
            ("op", 1, "git://a", "why"),
            ("op", True, "u" * 256, "why"),
            ("op", True, "git://a", "w" * 4097),
            ("op", True, "git://a", None),
        ],
    )
    def test_values_out_of_range(self, storage: Storage, arguments: tuple[Any, Any, Any, Any]) -> None:
        with pytest.raises(InvalidArgument):
            set_enablement(storage, *arguments)
        assert_nothing_is_written(storage)

    def test_a_time_out_of_range(self, storage: Storage) -> None:
        with pytest.raises(InvalidArgument):
            enable(storage, now=0)
        assert_nothing_is_written(storage)

    @pytest.mark.parametrize("sequence", [-1, True, "1"])
    def test_an_expected_sequence_that_can_not_be(self, storage: Storage, sequence: Any) -> None:
        with pytest.raises(InvalidArgument):
            enable(storage, expected_sequence=sequence)
        assert_nothing_is_written(storage)

    def test_a_change_to_what_the_queue_is_already(self, storage: Storage) -> None:
        enable(storage)
        with pytest.raises(InvalidArgument):
            enable(storage, "op-2")
        assert storage.queue_log.list(limit=10) == [FIRST]

    def test_a_change_of_what_the_caller_has_not_seen(self, storage: Storage) -> None:
        with pytest.raises(VersionMismatch):
            enable(storage, expected_sequence=1)
        assert_nothing_is_written(storage)
        enable(storage, expected_sequence=0)
        with pytest.raises(VersionMismatch):
            disable(storage, expected_sequence=0)
        assert disable(storage, expected_sequence=1) == SECOND


def assert_nothing_is_written(storage: Storage) -> None:
    assert storage.queue_log.list(limit=10) == []
    with pytest.raises(NotFound):
        storage.queues.get(QUEUE)


class TestRivals:
    def test_one_that_comes_first_makes_this_change_a_mismatch(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, storage.queue_log, "create", lambda: disable(storage, "theirs"))
        with pytest.raises(VersionMismatch) as raised:
            enable(storage)
        assert raised.value.retryable
        assert [entry.operation_id for entry in storage.queue_log.list(limit=10)] == ["theirs"]
        assert enable(storage).sequence == 2

    def test_one_with_the_same_operation_makes_it_for_both(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, storage.queue_log, "create", lambda: enable(storage, now=50))
        assert enable(storage) == FIRST.replace(occurred_at_ms=50)

    def test_one_with_the_same_operation_and_other_content_makes_it_a_conflict(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, storage.queue_log, "create", lambda: disable(storage, "op-1"))
        with pytest.raises(OperationConflict):
            enable(storage)

    def test_a_later_one_is_never_undone_by_this_ones_row_and_summary(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, storage.queues, "create", lambda: disable(storage))
        assert enable(storage) == FIRST
        assert storage.queues.get(QUEUE).enablement_sequence == 2
        assert storage.queue_summaries.get(QUEUE).enablement_sequence == 2

    @pytest.mark.parametrize("method", ["create", "update"])
    def test_a_summary_that_a_rival_writes_first_is_looked_at_again(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch, method: str
    ) -> None:
        if method == "update":
            disable(storage, "op-0", now=10)
        before_first(monkeypatch, storage.queue_summaries, method, lambda: settle_enablement(storage))
        enable(storage)
        assert storage.queue_summaries.get(QUEUE).enabled

    def test_threads_with_the_same_operation_all_get_the_one_occurrence(self, storage: Storage) -> None:
        done = race(*[lambda: enable(storage)] * 3)
        assert done == [FIRST] * 3
        assert storage.queues.get(QUEUE).version == 1

    def test_threads_with_competing_operations_share_out_dense_sequences(self, storage: Storage) -> None:
        def change(name: str) -> list[int]:
            made = []
            for number in range(5):
                try:
                    head = settle_enablement(storage)
                    enabled = not (head and head.enabled)
                    occurrence = set_enablement(
                        storage, f"{name}-{number}", enabled, "", "", expected_sequence=head.sequence if head else 0
                    )
                    made.append(occurrence.sequence)
                except VersionMismatch:
                    continue
            return made

        made = [sequence for part in race(lambda: change("a"), lambda: change("b")) for sequence in part]
        log = storage.queue_log.list(limit=100)
        assert sorted(made) == [entry.sequence for entry in log] == list(range(1, len(made) + 1))
        last = log[-1]
        queue, summary = storage.queues.get(QUEUE), storage.queue_summaries.get(QUEUE)
        assert (queue.enabled, queue.enablement_sequence) == (last.enabled, last.sequence)
        assert (summary.enabled, summary.enablement_sequence) == (last.enabled, last.sequence)


class TestAStoppedCaller:
    @pytest.mark.parametrize("store", ["queues", "queue_summaries"])
    @pytest.mark.parametrize("repair", [enable, disable, lambda storage: settle_enablement(storage)])
    def test_what_it_left_undone_is_done_by_the_next_one(
        self,
        storage: Storage,
        monkeypatch: pytest.MonkeyPatch,
        store: str,
        repair: Callable[[Storage], QueueLog | None],
    ) -> None:
        before_first(monkeypatch, getattr(storage, store), "create", refuse)
        with pytest.raises(Unavailable):
            enable(storage)
        last = repair(storage)
        assert last is not None
        # Whoever comes next first finishes the stopped change, then makes its own: no version is left out.
        assert storage.queues.get(QUEUE) == Queue(
            QUEUE, enabled=last.enabled, enablement_sequence=last.sequence, version=last.sequence
        )
        assert storage.queue_summaries.get(QUEUE).version == last.sequence

    def test_an_operation_whose_name_was_not_registered_is_found_all_the_same(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage.queue_log.create(FIRST)
        assert enable(storage, now=900) == FIRST
        storage.queue_log.create(SECOND)
        enable(storage, "op-3", now=300)
        assert disable(storage, now=900) == SECOND

    def test_a_change_may_be_stopped_at_every_write(self, survives_stops: Callable[..., int]) -> None:
        # occurrence, operation, row, summary
        assert survives_stops(enable, disable) == 4

    def test_changes_in_a_row_may_be_stopped_at_every_write(self, survives_stops: Callable[..., int]) -> None:
        def flow(storage: Storage) -> None:
            assert enable(storage) == FIRST
            assert disable(storage) == SECOND

        assert survives_stops(lambda storage: None, flow) == 8

    def test_settling_may_be_stopped_at_every_write(self, survives_stops: Callable[..., int]) -> None:
        assert survives_stops(lambda storage: storage.queue_log.create(FIRST), settle_enablement) == 3


def test_settling_a_queue_without_a_log_writes_nothing(storage: Storage) -> None:
    assert settle_enablement(storage) is None
    assert_nothing_is_written(storage)


@pytest.mark.parametrize("sequence", [1, 2])
def test_a_history_that_lacks_a_registered_operation_is_corrupt_and_no_miss(storage: Storage, sequence: int) -> None:
    storage.queue_log.create(FIRST)
    storage.engine.insert(ENABLEMENT_OPERATIONS, EnablementOperation(QUEUE, "op-9", sequence))
    with pytest.raises(Corrupt) as raised:
        disable(storage, "op-9")
    assert raised.value.key == (QUEUE, sequence)
    assert storage.engine.count(QUEUE_LOG, QUEUE, limit=10) == 1
