"""T1 and T5 for requests that are made again: the first result, the effect once, and no flush for a replay."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.pattern_tables import (
    CLAIMED,
    EFFECTS,
    ONCE,
    REQUESTS,
    Effect,
    Request,
    another,
    prepared,
)
from strongroom.conformance.threads import errors_of, together
from strongroom.engine import Durability, Engine, Strength, Transaction
from strongroom.errors import InvalidArgument, Unsupported
from strongroom.patterns import IdempotencyConflict, digest

FIRST: Final = digest(b"first")
OTHER: Final = digest(b"other")


def request(engine: Engine, body: str = FIRST, name: str = "done") -> tuple[int, bool]:
    """Make a request whose result is how much was done before: the result, and whether it is a replay's."""

    def effect(transaction: Transaction) -> Request:
        number = transaction.count(EFFECTS, "t", limit=99)
        transaction.insert(EFFECTS, Effect("t", name))
        return Request("t", "key", body, number)

    once = ONCE.once(engine, "t", "key", digest=body, effect=effect)
    return once.entry.number, once.replayed


@case("T1", strength=Strength.MULTI_RECORD)
def a_request_that_is_made_again_gets_its_first_result_and_no_second_effect(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    checks.equal(request(engine), (0, False), "the first time")
    engine.insert(EFFECTS, Effect("t", "another"))
    checks.equal(request(engine, name="again"), (0, True), "an exact replay")
    checks.raises(IdempotencyConflict, "another request", request, engine, OTHER, "other", naming=["requests", "key"])
    checks.equal(request(another(kit, CLAIMED), name="again"), (0, True), "an exact replay elsewhere")
    checks.equal([one.name for one in engine.scan(EFFECTS, "t", limit=9)], ["another", "done"], "effects")


@case("T1", strength=Strength.MULTI_RECORD)
def a_request_s_row_and_its_effect_are_kept_together_or_not_at_all(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)

    def fail(transaction: Transaction, row: Request | None) -> Request:
        transaction.insert(EFFECTS, Effect("t", "failed"))
        if row is None:
            raise ValueError("failed")
        return row

    once = partial(ONCE.once, engine, "t", "key", digest=FIRST)
    checks.raises(ValueError, "an effect that fails", once, effect=partial(fail, row=None))
    for row in (Request("t", "another", FIRST, 1), Request("t", "key", OTHER, 1), Request("t", "key", FIRST, -1)):
        checks.raises(InvalidArgument, "a row that can't be kept", once, effect=partial(fail, row=row))
    checks.equal((engine.count(EFFECTS, limit=9), engine.count(REQUESTS, limit=9)), (0, 0), "effects and requests")
    checks.equal(request(engine, OTHER), (0, False), "another request, when the first one failed")


@case("T1", strength=Strength.MULTI_RECORD)
def of_many_who_make_one_request_at_once_one_carries_it_out(kit: Kit) -> None:
    engines = [prepared(kit, CLAIMED), another(kit, CLAIMED)]
    ended = together([partial(request, engines[one % 2], FIRST, f"by {one}") for one in range(6)], "a caller")
    checks.equal(errors_of(ended), [], "faults")
    checks.equal(sorted(one.value() for one in ended), [(0, False)] + [(0, True)] * 5, "what came of the calls")
    checks.equal(engines[0].count(EFFECTS, limit=9), 1, "effects")


@case("T1", below=Strength.MULTI_RECORD)
def requests_are_refused_where_transactions_are_too_weak(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    checks.raises(Unsupported, "a request", request, engine, naming=["requests", engine.name])
    checks.equal(engine.count(EFFECTS, limit=5), 0, "effects")


@case("T5", Ability.FLUSHES, durability=Durability.FLUSHED, strength=Strength.MULTI_RECORD)
def an_exact_replay_costs_no_flush(kit: Kit) -> None:
    engine, flushes = prepared(kit, CLAIMED), kit.harness.flushes
    request(engine)

    def cost() -> int:
        before = flushes()
        checks.equal(request(engine, name="again"), (0, True), "an exact replay")
        return flushes() - before

    # A server may flush for reasons of its own meanwhile, but not every time.
    checks.equal(min(cost() for _ in range(10)), 0, "flushes, the fewest of several tries")
