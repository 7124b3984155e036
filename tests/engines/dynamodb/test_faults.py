"""What the engine does where the service is busy, where others are at its rows, and where answers are lost."""

from __future__ import annotations

import threading
import time

import pytest

from strongroom.conformance.threads import Started
from strongroom.engine import Backoff, Transaction
from strongroom.engines.dynamodb import DynamoEngine, engine
from strongroom.engines.dynamodb.places import mark_place
from strongroom.errors import AlreadyExists, CommitUnknown, Conflict, InvalidArgument, Unavailable
from tests.engines.dynamodb.calls import Calls, cancelled, lost, never_arrived, refusal, struck
from tests.engines.dynamodb.conftest import Open
from tests.engines.shelf import BOOKS, LOANS, Book, Loan

WRITE = "TransactWriteItems"
BUSY = ["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"]
ATLAS = Book("maps", "atlas")


@pytest.fixture
def calls(store: DynamoEngine) -> Calls:
    store.insert(BOOKS, Book("maps", "globe"))  # the partition is known from here on
    return Calls(store)


@pytest.mark.parametrize("code", BUSY)
def test_what_a_busy_service_refuses_is_asked_again(store: DynamoEngine, calls: Calls, code: str) -> None:
    calls.answer("GetItem", refusal(code), refusal(code))
    calls.answer(WRITE, refusal(code))
    store.insert(BOOKS, ATLAS)
    assert store.get(BOOKS, "maps", "atlas") == ATLAS
    assert calls.names == [WRITE] * 2 + ["GetItem"] * 3


def test_a_service_that_stays_busy_is_unavailable_after_the_timeout(store: DynamoEngine, calls: Calls) -> None:
    store._store.service.timeout = 0.3
    calls.answer("GetItem", *[refusal("ThrottlingException")] * 100)
    with pytest.raises(Unavailable, match="ThrottlingException") as told:
        store.get(BOOKS, "maps", "atlas")
    assert told.value.retryable
    assert told.value.__cause__ is not None


def test_a_part_of_a_transaction_that_is_throttled_is_no_reason_to_give_up(store: DynamoEngine, calls: Calls) -> None:
    calls.answer(WRITE, cancelled("None", "ProvisionedThroughputExceeded", "None"), cancelled("ThrottlingError"))
    store.insert(BOOKS, ATLAS)
    assert len(calls.of(WRITE)) == 3


def test_a_transaction_that_met_another_one_is_sent_again_as_a_new_request(store: DynamoEngine, calls: Calls) -> None:
    calls.answer(WRITE, cancelled("TransactionConflict", "None", "None"))
    store.insert(BOOKS, ATLAS)
    first, second = calls.of(WRITE)
    assert first["ClientRequestToken"] != second["ClientRequestToken"]
    assert first["TransactItems"] == second["TransactItems"], "with the same mark: only one of them can be kept"


def test_a_transaction_that_always_meets_others_ends_in_a_conflict(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "RETRIES", Backoff(attempts=7))
    store = open_store()
    calls = Calls(store)
    calls.answer(WRITE, *[cancelled("None", "TransactionConflict", "None")] * 1000)
    runs: list[int] = []

    def change(transaction: Transaction) -> None:
        runs.append(1)
        transaction.insert(BOOKS, ATLAS)

    with pytest.raises(Conflict):
        store.write(change)
    assert len(runs) == 7
    assert store.get(BOOKS, "maps", "atlas") is None


def test_a_read_of_many_that_meets_a_transaction_is_made_again(store: DynamoEngine, calls: Calls) -> None:
    calls.answer("TransactGetItems", cancelled("None", "TransactionConflict"))
    keys = [("maps", "atlas"), ("maps", "globe")]
    assert store.get_many(BOOKS, keys) == [None, Book("maps", "globe")]
    assert calls.names == ["TransactGetItems"] * 2


def test_a_lost_answer_is_fetched_by_sending_the_very_same_request(store: DynamoEngine, calls: Calls) -> None:
    calls.answer(WRITE, lost)
    store.insert(BOOKS, ATLAS)  # no AlreadyExists, although the row was there when it was sent again
    first, second = calls.of(WRITE)
    assert first == second


@pytest.mark.parametrize("code", ["InternalServerError", "ServiceUnavailable"])
def test_an_error_inside_the_service_leaves_it_open_and_the_same_request_settles_it(
    store: DynamoEngine, calls: Calls, code: str
) -> None:
    calls.answer(WRITE, refusal(code, 500))
    store.insert(BOOKS, ATLAS)
    assert [sent["ClientRequestToken"] for sent in calls.of(WRITE)] == [calls.of(WRITE)[0]["ClientRequestToken"]] * 2


def test_a_request_that_is_refused_after_an_unanswered_one_can_never_be_kept_later(open_store: Open) -> None:
    store, rival = open_store(), open_store()
    store.insert(BOOKS, Book("maps", "globe"))
    calls = Calls(store)
    calls.answer(WRITE, never_arrived)
    rival.insert(BOOKS, ATLAS.replace(copies=7))
    with pytest.raises(AlreadyExists):
        store.insert(BOOKS, ATLAS)
    late = calls.of(WRITE)[0]
    client = rival._store.service.client
    place = late["TransactItems"][0]["Put"]["Item"]
    client.delete_item(TableName=rival._store.service.table, Key={name: place[name] for name in ("_p", "_k")})
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(**late | {"ClientRequestToken": "as-if-hours-later"})
    assert rival.get(BOOKS, "maps", "atlas") is None


def test_what_stays_unanswered_is_told_for_certain_by_any_engine_on_the_store(open_store: Open) -> None:
    hasty, other = open_store(), open_store()
    hasty.insert(BOOKS, Book("maps", "globe"))
    hasty._store.service.timeout = 0.2
    calls = Calls(hasty)
    for answer, kept in ((lost, True), (never_arrived, False)):
        calls.answer(WRITE, *[answer] * 1000)
        with pytest.raises(CommitUnknown) as told:
            hasty.insert(BOOKS, Book("maps", f"kept: {kept}"))
        assert [other.resolve(told.value.token), other.resolve(told.value.token)] == [kept, kept]
        assert (other.get(BOOKS, "maps", f"kept: {kept}") is not None) == kept
        calls.answer_no_more()


def test_a_token_whose_mark_may_have_expired_is_refused(store: DynamoEngine) -> None:
    week_ago = int(time.time()) - 7 * 86_400
    with pytest.raises(InvalidArgument, match="older than six days"):
        store.resolve(f"ddb-{week_ago:08x}{'0' * 12}")


def test_each_commit_leaves_one_mark_that_the_service_removes_by_itself(store: DynamoEngine, calls: Calls) -> None:
    store.insert(BOOKS, ATLAS)
    [sent] = calls.of(WRITE)
    mark = sent["TransactItems"][-1]["Put"]["Item"]
    token = sent["ClientRequestToken"].rpartition("-")[0]
    assert (mark["_p"]["B"], mark["_k"]["B"]) == mark_place(token)
    assert int(mark["_expires"]["N"]) > time.time() + 6 * 86_400
    client, table = store._store.service.client, store._store.service.table
    expiry = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "_expires")


def test_ctrl_c_between_a_commit_and_its_answer_neither_undoes_nor_repeats_it(
    store: DynamoEngine, calls: Calls
) -> None:
    calls.answer(WRITE, struck)
    runs: list[int] = []

    def change(transaction: Transaction) -> None:
        runs.append(1)
        transaction.insert(BOOKS, ATLAS)

    with pytest.raises(KeyboardInterrupt):
        store.write(change)
    assert (store.get(BOOKS, "maps", "atlas"), len(runs)) == (ATLAS, 1)
    store.insert(LOANS, Loan("maps", "atlas"))


def test_a_close_waits_for_an_update_that_no_queue_holds(store: DynamoEngine, calls: Calls) -> None:
    store.insert(BOOKS, ATLAS)
    sent, go = threading.Event(), threading.Event()

    def held(request: object, send: object) -> None:
        sent.set()
        assert go.wait(30)

    calls.answer(WRITE, held)
    update = Started(lambda: store.update(BOOKS, ATLAS.replace(version=2), expect=1))
    assert sent.wait(30)
    close = Started(store.close)
    close.wait(0.1)
    assert close.running
    go.set()
    update.end().value()
    close.end().value()
