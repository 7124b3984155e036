"""Leases on every room: one holder at a time by the engine's clock, and greater tokens that fence off earlier ones."""

from __future__ import annotations

import threading
from typing import Annotated

import pytest

from strongroom.conformance.timed import write_at
from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import InvalidArgument, Unsupported
from strongroom.patterns import LeaseHeld, LeaseLost, Leases
from strongroom.records import REPLACEABLE, VERSIONED, Identifier, Integer, Millis, Record, Schema, Table


class Lease(Record):
    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    holder: Annotated[str, Identifier(64)]
    token: Annotated[int, Integer(1)]
    expires_at: Annotated[int, Millis()]


class Work(Record):
    tenant: Annotated[str, Identifier(64)]
    by: Annotated[str, Identifier(64)]


LEASES_TABLE = Table("leases", Lease, key=("tenant", "name"), scope=1, changes=VERSIONED("token"))
WORK = Table("lease_work", Work, key=("tenant", "by"), scope=1)
LEASES = Leases(LEASES_TABLE)
NAME = ("t", "dispatcher")
NOW = 1_000_000


@pytest.fixture
def desk(room: Engine) -> Engine:
    room.prepare(Schema("leases", LEASES_TABLE, WORK))
    if room.claims.strength < Strength.MULTI_RECORD:
        with pytest.raises(Unsupported, match="leases"):
            LEASES.acquire(room, *NAME, holder="ada", for_ms=1000)
        pytest.skip("multi-record transactions only")
    return room


def acquire(engine: Engine, holder: str, *, now: int = NOW, for_ms: int = 1000) -> Lease:
    return write_at(
        engine, now, lambda transaction: LEASES.acquire_in(transaction, *NAME, holder=holder, for_ms=for_ms)
    )


def test_a_live_lease_is_refused_to_everyone_also_to_its_holder(desk: Engine) -> None:
    assert acquire(desk, "ada") == Lease(*NAME, "ada", 1, NOW + 1000)
    for holder, now in (("bob", NOW), ("ada", NOW + 999)):
        with pytest.raises(LeaseHeld) as caught:
            acquire(desk, holder, now=now)
        assert caught.value.retryable
        assert caught.value.expires_at == NOW + 1000


def test_a_lease_ends_at_its_time_by_the_engines_clock_and_the_next_has_a_greater_token(desk: Engine) -> None:
    acquire(desk, "ada")
    assert acquire(desk, "bob", now=NOW + 1000).token == 2
    assert acquire(desk, "ada", now=NOW + 2000).token == 3


def test_what_is_released_can_be_had_at_once_under_a_greater_token(desk: Engine) -> None:
    lease = acquire(desk, "ada")
    assert write_at(desk, NOW + 1, lambda transaction: LEASES.release_in(transaction, lease))
    assert not write_at(desk, NOW + 1, lambda transaction: LEASES.release_in(transaction, lease))
    assert write_at(desk, NOW + 1, lambda transaction: LEASES.find(transaction, *NAME)) is None
    assert acquire(desk, "bob", now=NOW + 1).token == 2
    assert not write_at(desk, NOW + 2, lambda transaction: LEASES.release_in(transaction, lease))
    found = write_at(desk, NOW + 2, lambda transaction: LEASES.find(transaction, *NAME))
    assert found is not None
    assert found.holder == "bob"


def test_a_renewed_lease_keeps_its_token_and_lasts_from_now(desk: Engine) -> None:
    lease = acquire(desk, "ada")
    renewed = write_at(desk, NOW + 900, lambda transaction: LEASES.renew_in(transaction, lease, 1000))
    assert renewed == lease.replace(expires_at=NOW + 1900)
    with pytest.raises(LeaseHeld):
        acquire(desk, "bob", now=NOW + 1899)
    # Whoever has the lease as it was before has it still.
    write_at(desk, NOW + 1500, lambda transaction: LEASES.check(transaction, lease))


def test_an_expired_lease_is_lost_also_where_nobody_took_it(desk: Engine) -> None:
    lease = acquire(desk, "ada")
    with pytest.raises(LeaseLost) as caught:
        write_at(desk, NOW + 1000, lambda transaction: LEASES.renew_in(transaction, lease, 1000))
    assert not caught.value.retryable
    assert LEASES.last(desk, *NAME) == lease


def test_a_late_write_under_an_old_token_is_refused_and_nothing_kept(desk: Engine) -> None:
    old = acquire(desk, "ada")
    new = acquire(desk, "ada", now=NOW + 1000)

    def work(transaction: Transaction, lease: Lease, by: str) -> None:
        transaction.insert(WORK, Work("t", by))
        LEASES.check(transaction, lease)

    with pytest.raises(LeaseLost):
        write_at(desk, NOW + 1001, lambda transaction: work(transaction, old, "late"))
    write_at(desk, NOW + 1001, lambda transaction: work(transaction, new, "in time"))
    assert desk.scan(WORK, "t", limit=9) == [Work("t", "in time")]


def test_of_many_who_ask_at_once_one_has_the_lease(desk: Engine) -> None:
    came: list[Lease | BaseException] = []

    def ask(holder: str) -> None:
        try:
            came.append(LEASES.acquire(desk, *NAME, holder=holder, for_ms=600_000))
        except BaseException as fault:
            came.append(fault)

    threads = [threading.Thread(target=ask, args=(f"holder-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [one for one in came if isinstance(one, Lease)]
    assert [lease.token for lease in won] == [1]
    assert [type(one) for one in came if one not in won] == [LeaseHeld] * 7
    LEASES.renew(desk, won[0], 600_000)
    assert LEASES.release(desk, won[0])


def test_a_time_or_a_holder_that_can_not_be_is_refused(desk: Engine) -> None:
    for for_ms in (0, -1, True, 1.5, 2**63):
        with pytest.raises(InvalidArgument):
            LEASES.acquire(desk, *NAME, holder="ada", for_ms=for_ms)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        LEASES.acquire(desk, *NAME, holder="", for_ms=1)
    with pytest.raises(InvalidArgument):
        LEASES.acquire(desk, "t", holder="ada", for_ms=1)
    assert LEASES.last(desk, *NAME) is None


def test_a_table_that_can_not_keep_leases_is_refused() -> None:
    with pytest.raises(TypeError, match="versioned by token"):
        Leases(Table("loose", Lease, key=("tenant", "name"), changes=REPLACEABLE))
    with pytest.raises(TypeError, match="nothing else"):
        Leases(WORK)
