"""The DynamoDB engine's own promises: limits, calls and what they cost, URLs, what an operator sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import CredentialRetrievalError, UnauthorizedSSOTokenError

import strongroom
from servers.dynamodb import DynamoAddress
from strongroom.conformance.threads import errors_of, together
from strongroom.domains import stovepipe
from strongroom.engine import Transaction
from strongroom.engines.dynamodb import DynamoEngine, service
from strongroom.engines.dynamodb.faults import translate
from strongroom.engines.dynamodb.places import key_of, place_of
from strongroom.engines.dynamodb.transactions import _check
from strongroom.errors import CommitUnknown, Corrupt, InvalidArgument, StrongroomError, TooLarge, Unavailable
from tests.engines.dynamodb.calls import Calls, lost, refusal
from tests.engines.shelf import BOOKS, COVERS, LOANS, Book, Cover, Loan

WRITE = "TransactWriteItems"


def fill(rows: int) -> Callable[[Transaction], None]:
    def change(transaction: Transaction) -> None:
        for number in range(rows):
            transaction.insert(LOANS, Loan("maps", f"{number:04}"))

    return change


def test_a_transaction_of_ninety_eight_rows_fits_with_their_guard_and_its_mark(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "first"))  # a partition that is new takes two items more
    store.write(fill(98))
    assert store.count(LOANS, "maps", limit=200) == 99


def test_one_row_more_is_too_large_and_nothing_is_sent(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "first"))
    calls = Calls(store)
    with pytest.raises(TooLarge, match=r"at most 100 items.* this one has 101"):
        store.write(fill(99))
    assert calls.names == []
    assert store.count(LOANS, "maps", limit=200) == 1


def test_rows_that_were_only_read_count_among_the_hundred(store: DynamoEngine) -> None:
    def look(transaction: Transaction) -> None:
        transaction.get_many(BOOKS, [("maps", f"{number}") for number in range(98)])
        transaction.insert(LOANS, Loan("maps", "one more"))

    with pytest.raises(TooLarge):
        store.write(look)


def test_rows_that_a_guard_answers_for_do_not(store: DynamoEngine) -> None:
    for start in (0, 50, 100):
        store.write(
            lambda tx, start=start: [tx.insert(LOANS, Loan("maps", f"{n:04}")) for n in range(start, start + 50)]  # type: ignore[misc]
        )

    def close(transaction: Transaction) -> None:
        assert len(transaction.scan(LOANS, "maps", limit=200)) == 150
        transaction.delete(LOANS, "maps", "0000")

    store.write(close)
    assert store.count(LOANS, "maps", limit=200) == 149


def test_a_group_that_is_too_large_together_is_parted(store: DynamoEngine) -> None:
    assert errors_of(together([lambda n=n: store.write(fill_from(n * 30)) for n in range(6)])) == []  # type: ignore[misc]
    assert store.count(LOANS, "maps", limit=500) == 180


def fill_from(start: int) -> Callable[[Transaction], None]:
    def change(transaction: Transaction) -> None:
        for number in range(start, start + 30):
            transaction.insert(LOANS, Loan("maps", f"{number:04}"))

    return change


def test_an_item_is_never_named_twice() -> None:
    part = {"Delete": {"Key": key_of(place_of(LOANS, ("maps", "atlas")))}}
    with pytest.raises(StrongroomError, match="twice"):
        _check([part, part])


def test_a_row_of_four_hundred_kilobytes_is_the_largest(store: DynamoEngine) -> None:
    store.put(COVERS, Cover("atlas", b"x" * 409_000))
    calls = Calls(store)
    with pytest.raises(TooLarge, match=r"covers\('globe'\).*400 kB"):
        store.put(COVERS, Cover("globe", b"x" * 410_000))
    assert calls.names == []
    assert store.get(COVERS, "globe") is None


def test_transactions_end_at_four_mebibytes(store: DynamoEngine) -> None:
    def change(transaction: Transaction) -> None:
        for number in range(11):
            transaction.put(COVERS, Cover(f"{number}", b"x" * 400_000))

    with pytest.raises(TooLarge, match="4 MiB"):
        store.write(change)


def test_what_the_service_finds_too_large_is_too_large(store: DynamoEngine) -> None:
    Calls(store).answer(
        WRITE, refusal("ValidationException", message="Item size has exceeded the maximum allowed size")
    )
    with pytest.raises(TooLarge):
        store.put(COVERS, Cover("atlas", b"x"))


def test_a_page_of_more_than_a_megabyte_is_read_in_several(store: DynamoEngine) -> None:
    covers = [Cover(f"{number}", bytes([number]) * 300_000) for number in range(5)]
    for cover in covers:
        store.put(COVERS, cover)
    calls = Calls(store)
    assert store.scan(COVERS, limit=10) == covers
    assert len(calls.of("Query")) > 1
    assert store.count(COVERS, limit=10) == 5


def test_rows_that_are_too_large_together_are_read_in_several_transactions(store: DynamoEngine) -> None:
    covers = [Cover(f"{number}", bytes([number]) * 300_000) for number in range(20)]
    for cover in covers:
        store.put(COVERS, cover)
    calls = Calls(store)
    assert store.get_many(COVERS, [(cover.title,) for cover in covers]) == covers
    assert len(calls.of("TransactGetItems")) > 2


def test_every_read_is_strongly_consistent(store: DynamoEngine) -> None:
    calls = Calls(store)
    store.insert(BOOKS, Book("maps", "atlas"))
    store.get(BOOKS, "maps", "atlas")
    store.get_many(BOOKS, [("maps", "atlas"), ("maps", "globe")])
    store.scan(BOOKS, limit=5)
    store.count(BOOKS, "maps", limit=5)
    store.write(lambda tx: tx.get_many(BOOKS, [("maps", "atlas"), ("maps", "globe")]))
    store.read(lambda reader: (reader.get(BOOKS, "maps", "atlas"), reader.scan(BOOKS, "maps", limit=5)))
    assert {"GetItem", "BatchGetItem", "Query", "TransactGetItems"} <= set(calls.names)
    for name, sent in calls.asked:
        asked = sent["RequestItems"][store._store.service.table] if name == "BatchGetItem" else sent
        assert asked.get("ConsistentRead") or name in ("TransactGetItems", WRITE), name


def test_an_attribute_that_no_column_can_have_is_corrupt(store: DynamoEngine) -> None:
    store.insert(BOOKS, Book("maps", "atlas"))
    client, table = store._store.service.client, store._store.service.table
    foreign: list[dict[str, Any]] = [{"M": {}}, {"L": [{"S": "x"}]}, {"BOOL": True}, {"S": "1"}, {"N": "1.5"}]
    for value in [*foreign, {"NULL": True}]:
        client.update_item(
            TableName=table,
            Key=key_of(place_of(BOOKS, ("maps", "atlas"))),
            UpdateExpression="SET copies = :v",
            ExpressionAttributeValues={":v": value},
        )
        with pytest.raises(Corrupt, match="copies"):
            store.get(BOOKS, "maps", "atlas")


# What calls cost; what each method of a domain's stores asks for is in tests/engines/test_costs.py.


def test_a_write_s_items_are_its_row_its_guard_and_its_mark(store: DynamoEngine) -> None:
    store.insert(BOOKS, Book("maps", "globe"))
    calls = Calls(store)
    store.insert(BOOKS, Book("maps", "atlas"))
    store.update(BOOKS, Book("maps", "atlas", version=2), expect=1)
    store.put(COVERS, Cover("atlas", b""))
    store.insert(LOANS, Loan("maps", "globe"))
    store.insert(LOANS, Loan("maps", "atlas"))
    store.delete(LOANS, "maps", "atlas")
    assert [[*map(kind, sent["TransactItems"])] for sent in calls.of(WRITE)] == [
        ["Put if", "Update", "Put if"],  # the row unless it is there; the guard; the mark
        ["Put if", "Put if"],  # in place: no guard
        ["Put", "Update if", "Put if"],  # over whatever is there; a guard that is new
        ["Put if", "Put", "Update if", "Update if", "Put if"],  # a partition that is new is listed, under a guard
        ["Put if", "Update", "Put if"],
        ["Delete if", "Update", "Put if"],
    ]


def test_a_transaction_checks_what_it_read_and_nothing_twice(store: DynamoEngine) -> None:
    store.insert(BOOKS, Book("maps", "atlas"))
    store.insert(LOANS, Loan("maps", "globe"))
    calls = Calls(store)

    def lend(transaction: Transaction) -> None:
        book = transaction.get(BOOKS, "maps", "atlas")
        assert book is not None
        if transaction.count(LOANS, "maps", limit=5) < 5:
            transaction.insert(LOANS, Loan("maps", "atlas"))

    store.write(lend)
    assert calls.names == ["GetItem", "Query", WRITE]
    [sent] = calls.of(WRITE)
    assert [*map(kind, sent["TransactItems"])] == ["Put if", "ConditionCheck if", "Update if", "Put if"]


def kind(part: dict[str, Any]) -> str:
    [(action, sent)] = part.items()
    return f"{action} if" if "ConditionExpression" in sent else action


# URLs, and what is shown.


@pytest.mark.parametrize(
    "url",
    [
        "dynamodb://",
        "dynamodb://ab",
        "dynamodb://key:secret@table",
        "dynamodb://table/more",
        "dynamodb://table?region=Elsewhere!",
        "dynamodb://table?endpoint=localhost:8000",
        "dynamodb://table?endpoint=http://key:secret@localhost:8000",
        "dynamodb://table?timeout_ms=0",
        "dynamodb://table?aws_secret_access_key=secret",
    ],
)
def test_a_url_that_names_no_store_is_refused_and_shows_no_secret(url: str) -> None:
    with pytest.raises(InvalidArgument) as told:
        strongroom.open(url)
    assert "secret@" not in str(told.value)
    assert "=secret" not in str(told.value)


def test_without_credentials_the_fault_says_where_they_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, dynamodb: DynamoAddress, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    service._session.cache_clear()
    with strongroom.open(dynamodb.url("nothing")) as store, pytest.raises(InvalidArgument, match="own chain"):
        store.tables()
    service._session.cache_clear()


@pytest.mark.parametrize("code", ["AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException"])
def test_credentials_that_are_refused_are_a_wrong_call_that_no_retry_helps(store: DynamoEngine, code: str) -> None:
    """As a wrong password is on every other server."""
    calls = Calls(store)
    calls.answer("GetItem", refusal(code))
    calls.answer(WRITE, refusal(code))
    with pytest.raises(InvalidArgument, match=code) as told:
        store.get(BOOKS, "maps", "atlas")
    with pytest.raises(InvalidArgument, match=code):
        store.put(COVERS, Cover("atlas", b""))
    assert not told.value.retryable
    assert calls.names.count("GetItem") == calls.names.count(WRITE) + 1 == 2, "a put looks at its guard first"
    assert store.get(COVERS, "atlas") is None


def test_credentials_that_are_refused_behind_a_lost_answer_leave_the_outcome_unknown(store: DynamoEngine) -> None:
    calls = Calls(store)
    calls.answer(WRITE, lost, refusal("ExpiredTokenException"))
    calls.answer("PutItem", refusal("ExpiredTokenException"))
    with pytest.raises(CommitUnknown) as told:
        store.put(COVERS, Cover("atlas", b""))
    assert store.resolve(told.value.token)
    assert store.get(COVERS, "atlas") == Cover("atlas", b"")


def test_credentials_that_cannot_be_had_just_now_are_worth_another_try() -> None:
    told = translate(CredentialRetrievalError(provider="iam-role", error_msg="no answer"))
    assert isinstance(told, Unavailable)
    assert isinstance(translate(UnauthorizedSSOTokenError()), InvalidArgument)


def test_another_program_s_table_is_left_alone(dynamodb: DynamoAddress, store: DynamoEngine) -> None:
    client = store._store.service.client
    client.create_table(
        TableName="somebodys",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    try:
        with strongroom.open(dynamodb.url("somebodys")) as other, pytest.raises(InvalidArgument, match="somebodys"):
            stovepipe.open(other)
    finally:
        client.delete_table(TableName="somebodys")


def test_an_operator_is_told_where_the_store_is_and_how_it_is_paid(store: DynamoEngine) -> None:
    told = store.describe()
    assert store._store.service.table in str(told["place"])
    assert told["billing"] == "PAY_PER_REQUEST"
    assert told["table_status"] == "ACTIVE"
    assert told["flush"]
