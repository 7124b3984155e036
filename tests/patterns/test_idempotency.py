"""Idempotency on every room: an exact replay gets the first result, another request under its key none (T1, T5)."""

from __future__ import annotations

import threading
from typing import Annotated

import pytest

from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import AlreadyExists, InvalidArgument, Unsupported
from strongroom.patterns import Idempotency, IdempotencyConflict, digest
from strongroom.records import NEVER, VERSIONED, Identifier, Integer, Record, Schema, Table


class Request(Record):
    caller: Annotated[str, Identifier(64)]
    key: Annotated[str, Identifier(128)]
    digest: Annotated[str, Identifier(71)]
    job: Annotated[int, Integer(1)]


class Job(Record):
    caller: Annotated[str, Identifier(64)]
    number: Annotated[int, Integer(1)]


class Used(IdempotencyConflict):
    """A domain's own."""


REQUESTS = Table("requests", Request, key=("caller", "key"), scope=1, changes=NEVER)
JOBS = Table("request_jobs", Job, key=("caller", "number"), scope=1)
SCHEMA = Schema("requests", REQUESTS, JOBS)
ONCE = Idempotency(REQUESTS, conflict=Used)
FIRST, OTHER = digest(b"first"), digest(b"other")


@pytest.fixture
def desk(room: Engine) -> Engine:
    room.prepare(SCHEMA)
    if room.claims.strength < Strength.MULTI_RECORD:
        with pytest.raises(Unsupported, match="requests"):
            submit(room)
        assert room.count(JOBS, limit=9) == 0
        pytest.skip("multi-record transactions only")
    return room


def submit(engine: Engine, body: str = FIRST, key: str = "k") -> tuple[int, bool]:
    def effect(transaction: Transaction) -> Request:
        number = transaction.count(JOBS, "ada", limit=100) + 1
        transaction.insert(JOBS, Job("ada", number))
        return Request("ada", key, body, number)

    once = ONCE.once(engine, "ada", key, digest=body, effect=effect)
    return once.entry.job, once.replayed


def test_an_exact_replay_gets_the_first_result_and_has_no_effect(desk: Engine) -> None:
    assert submit(desk) == (1, False)
    assert submit(desk, key="another") == (2, False)
    assert submit(desk) == (1, True)
    assert desk.count(JOBS, limit=9) == 2


def test_another_request_under_the_key_is_refused_and_has_no_effect(desk: Engine) -> None:
    submit(desk)
    with pytest.raises(Used) as caught:
        submit(desk, OTHER)
    assert isinstance(caught.value, AlreadyExists)
    assert not caught.value.retryable
    assert OTHER not in str(caught.value)
    assert desk.count(JOBS, limit=9) == 1
    assert submit(desk) == (1, True)


def test_a_request_that_failed_may_be_made_again(desk: Engine) -> None:
    def fail(transaction: Transaction) -> Request:
        transaction.insert(JOBS, Job("ada", 1))
        raise LookupError("the effect failed")

    with pytest.raises(LookupError):
        ONCE.once(desk, "ada", "k", digest=FIRST, effect=fail)
    assert submit(desk, OTHER) == (1, False)


def test_of_many_that_make_one_request_at_once_one_carries_it_out(desk: Engine) -> None:
    came: list[tuple[int, bool]] = []
    threads = [threading.Thread(target=lambda: came.append(submit(desk))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == [(1, False)] + [(1, True)] * 7
    assert desk.count(JOBS, limit=9) == 1


def test_a_replay_writes_nothing(desk: Engine) -> None:
    submit(desk)

    def replay(transaction: Transaction) -> int:
        known = ONCE.find(transaction, "ada", "k", digest=FIRST)
        assert known is not None
        return transaction.abandon(known.job)

    assert desk.write(replay) == 1
    assert ONCE.find(desk, "ada", "absent", digest=FIRST) is None


@pytest.mark.parametrize(
    "entry", [Request("ada", "other", FIRST, 1), Request("bob", "k", FIRST, 1), Request("ada", "k", OTHER, 1)]
)
def test_a_row_for_another_key_or_digest_is_refused_and_nothing_kept(desk: Engine, entry: Request) -> None:
    def effect(transaction: Transaction) -> Request:
        transaction.insert(JOBS, Job("ada", 1))
        return entry

    with pytest.raises(InvalidArgument, match="another key or digest"):
        ONCE.once(desk, "ada", "k", digest=FIRST, effect=effect)
    assert desk.count(JOBS, limit=9) == 0
    assert desk.count(REQUESTS, limit=9) == 0


def test_a_digest_that_can_not_be_is_refused_before_anything_is_read(desk: Engine) -> None:
    for wrong in ("", "x" * 72, 5):
        with pytest.raises(InvalidArgument, match="digest"):
            ONCE.find(desk, "ada", "k", digest=wrong)  # type: ignore[arg-type]


def test_a_table_whose_rows_change_can_not_keep_requests() -> None:
    with pytest.raises(TypeError, match="never changes"):
        Idempotency(Table("loose", Request, key=("caller", "key"), changes=VERSIONED("job")))
    with pytest.raises(TypeError, match="hash"):
        Idempotency(REQUESTS, digest="hash")
    with pytest.raises(TypeError, match="key"):
        Idempotency(REQUESTS, digest="key")
