"""T7: what an engine claims it keeps, and what it does not claim it refuses clearly."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, THINGS, Mark, Member, Pair, Thing
from strongroom.engine import Claims, Durability, Sharing, Strength, Transaction
from strongroom.errors import Unsupported


@case("T7")
def a_store_that_needs_more_than_the_engine_offers_is_refused_by_name(kit: Kit) -> None:
    engine = kit.engine
    engine.require(Strength.SINGLE_RECORD, "changes")
    if engine.claims.strength >= Strength.MULTI_RECORD:
        engine.require(Strength.MULTI_RECORD, "runners")
        return
    naming = ["runners", engine.name, "multi-record"]
    checks.raises(Unsupported, "a multi-record store", engine.require, Strength.MULTI_RECORD, "runners", naming=naming)


@case("T7")
def an_engine_s_claims_go_together(kit: Kit) -> None:
    claims = kit.claims
    checks.true(type(claims) is Claims, f"claims are Claims, not {type(claims).__name__}")
    checks.true(isinstance(claims.strength, Strength), "a strength")
    checks.true(isinstance(claims.sharing, Sharing), "a sharing")
    checks.true(isinstance(claims.durability, Durability), "a durability")
    lasting = claims.durability >= Durability.PROCESS
    checks.equal(claims.reopens, lasting, "whether stores can be opened again, and whether they outlive their process")
    checks.true(claims.reopens or claims.sharing < Sharing.HOST, "what processes share outlives one of them")
    checks.equal(kit.another().claims, claims, "the claims of another engine object")


@case("T7", below=Strength.MULTI_RECORD)
def a_second_operation_in_one_transaction_is_refused_and_nothing_is_kept(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    kit.engine.insert(MEMBERS, Member("t", "a"))
    operations: dict[str, Callable[[Transaction], object]] = {
        "insert": lambda t: t.insert(MARKS, Mark("new")),
        "update": lambda t: t.update(THINGS, Thing("a", 2), expect=1),
        "put": lambda t: t.put(PAIRS, Pair("new", "")),
        "delete": lambda t: t.delete(MEMBERS, "t", "a"),
        "get": lambda t: t.get(MARKS, "a"),
        "scan": lambda t: t.scan(MARKS, limit=1),
        "count": lambda t: t.count(MARKS, limit=1),
    }
    for first, begin in operations.items():
        for second, go_on in operations.items():

            def change(transaction: Transaction, begin: Any = begin, go_on: Any = go_on) -> None:
                begin(transaction)
                go_on(transaction)

            checks.raises(Unsupported, f"{second} after {first}", kit.engine.write, change)
    checks.equal(kit.engine.scan(MARKS, limit=5), [], "the marks")
    checks.equal(kit.engine.scan(PAIRS, limit=5), [], "the pairs")
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 1), "the thing")
    checks.equal(kit.engine.get(MEMBERS, "t", "a"), Member("t", "a"), "the member")


@case("T7", below=Strength.MULTI_RECORD)
def a_second_read_in_one_snapshot_is_refused(kit: Kit) -> None:
    for operation in ("get", "scan", "count"):

        def look(reader: Any, operation: str = operation) -> None:
            reader.get(MARKS, "a")
            {"get": lambda: reader.get(MARKS, "b"), "scan": lambda: reader.scan(MARKS, limit=1)}.get(
                operation, lambda: reader.count(MARKS, limit=1)
            )()

        checks.raises(Unsupported, f"{operation} after get", kit.engine.read, look)
    checks.equal(kit.engine.read(lambda reader: reader.get(MARKS, "a")), None, "one read in a snapshot")


@case("T7", strength=Strength.MULTI_RECORD, across=False)
def a_function_that_touches_two_scopes_is_refused_and_nothing_is_kept(kit: Kit) -> None:
    kit.engine.insert(MEMBERS, Member("t", "a"))
    operations: dict[str, Callable[[Transaction], object]] = {
        "a scope": lambda t: t.insert(MEMBERS, Member("t", "new")),
        "another scope": lambda t: t.insert(MEMBERS, Member("u", "new")),
        "a table without a scope": lambda t: t.insert(MARKS, Mark("new")),
        "all scopes": lambda t: t.scan(MEMBERS, limit=5),
    }
    for first, begin in operations.items():
        for second, go_on in operations.items():

            def change(transaction: Transaction, begin: Any = begin, go_on: Any = go_on) -> None:
                begin(transaction)
                go_on(transaction)

            if first != second:
                checks.raises(Unsupported, f"{second} after {first}", kit.engine.write, change, naming=["members"])
    checks.equal(kit.engine.scan(MARKS, limit=5), [], "the marks")
    checks.equal(kit.engine.scan(MEMBERS, limit=5), [Member("t", "a")], "the members of all scopes")
