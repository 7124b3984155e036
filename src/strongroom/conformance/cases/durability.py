"""D2 and D5: what an engine says of its flushes, and what it keeps aside for its readers."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import threading
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, SAMPLES, Mark, Sample
from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Durability, Reader, Strength, Transaction
from strongroom.errors import Conflict

TRIES: Final = 6
"""How often something is counted that others may add to."""


@case("D2", durability=Durability.FLUSHED)
def an_engine_that_flushes_says_so(kit: Kit) -> None:
    described = kit.engine.describe()
    checks.true(described.get("flush"), f"the description should say when a commit is flushed: {dict(described)}")


@case("D2", Ability.FLUSHES, durability=Durability.FLUSHED)
def what_is_acknowledged_was_flushed_before(kit: Kit) -> None:
    engine, flushes = kit.engine, kit.harness.flushes
    for number in range(5):
        before = flushes()
        engine.insert(MARKS, Mark(f"call {number}"))
        checks.true(flushes() > before, "a single call was acknowledged without a flush")
        before = flushes()
        engine.write(lambda transaction, n=number: transaction.insert(MARKS, Mark(f"write {n}")))  # type: ignore[misc]
        checks.true(flushes() > before, "a transaction was acknowledged without a flush")


@case("T5", Ability.FLUSHES, durability=Durability.FLUSHED)
def what_is_abandoned_or_only_read_costs_no_flush(kit: Kit) -> None:
    engine, flushes = kit.engine, kit.harness.flushes
    engine.insert(MARKS, Mark("a"))

    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("abandoned"))
        transaction.abandon(None)

    def cost() -> int:
        before = flushes()
        engine.write(change)
        engine.get(MARKS, "a")
        engine.read(lambda reader: reader.count(MARKS, limit=1))
        return flushes() - before

    # A server may flush for reasons of its own meanwhile, but not every time.
    checks.equal(min(cost() for _ in range(TRIES)), 0, "flushes, the fewest of several tries")


@case("D2", Ability.FLUSHES, durability=Durability.FLUSHED, strength=Strength.MULTI_RECORD)
def many_callers_share_a_flush(kit: Kit) -> None:
    """No promise of the contract in numbers; but an engine that flushes for each of a crowd shares nothing."""
    engine, flushes = kit.engine, kit.harness.flushes
    inside, go = threading.Event(), threading.Event()

    def hold(_transaction: Any) -> None:
        inside.set()
        go.wait(PATIENCE)

    first = Started(lambda: engine.write(hold))
    checks.true(inside.wait(PATIENCE), "the first transaction begins")
    crowd = [Started(lambda n=n: engine.insert(MARKS, Mark(str(n)))) for n in range(30)]  # type: ignore[misc]
    for one in crowd:
        one.wait(0.005)
    before = flushes()
    go.set()
    first.end().value()
    for one in crowd:
        one.end().value()
    shared = flushes() - before
    if shared >= 30:
        raise checks.Unprovable(f"the engine shares no flushes: {shared} for 30 callers")
    checks.equal(engine.count(MARKS, limit=100), 30, "rows")


@case("D5", bounded_log=True, slow=True)
def what_is_kept_for_a_long_reader_stays_bounded(kit: Kit) -> None:
    keep_bounded(kit)


def keep_bounded(kit: Kit) -> None:
    """Write on and on beside a reader that does not end."""
    engine = kit.engine
    described = engine.describe()
    limit = described.get("wal_limit_bytes")
    if not isinstance(limit, int) or "wal_bytes" not in described:
        raise checks.Failed("the description should tell of the log that the engine keeps, and of its bound")
    kit.keep(MARKS, [Mark("held")])
    begun, done = threading.Event(), threading.Event()

    def look(reader: Reader) -> str:
        first = reader.scan(MARKS, limit=5)
        begun.set()
        done.wait(PATIENCE * 5)
        checks.equal(reader.scan(MARKS, limit=5), first, "a snapshot that was not given up")
        return "kept"

    reader = Started(lambda: engine.read(look))
    checks.true(begun.wait(PATIENCE), "the reader begins")
    holders = engine.describe().get("holders")
    checks.true(holders, "a reader is open, but the description names nobody who holds the log")
    blob = bytes(range(256)) * 250
    most, written, number = 0, 0, 0
    while written < 6 * limit:
        number += 1
        engine.put(SAMPLES, Sample(f"s{number % 50}", whole=number, blob=blob))
        written += len(blob)
        if number % 20 == 0:
            most = max(most, int(str(engine.describe()["wal_bytes"])))
    done.set()
    error = reader.end("the long reader").error
    checks.true(error is None or isinstance(error, Conflict), f"the long reader got {error!r}")
    checks.true(most <= 2 * limit, f"the log grew to {most} bytes beside a long reader; its limit is {limit}")
    checks.equal(engine.read(lambda r: r.count(SAMPLES, limit=100)), 50, "rows that the next reader sees")
