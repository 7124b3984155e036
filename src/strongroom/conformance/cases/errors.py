"""E1, E2 and E3: one vocabulary of faults, that shows no values, and says when an engine is closed."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from strongroom import errors
from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    MARKS,
    MEMBERS,
    NOWHERE,
    PAIRS,
    SCHEMA,
    THINGS,
    Mark,
    Member,
    Pair,
    Thing,
)
from strongroom.engine import Engine
from strongroom.errors import AlreadyExists, Closed, Corrupt, InvalidArgument, StrongroomError, VersionMismatch
from strongroom.records import REPLACEABLE, Table


def operations(engine: Engine) -> dict[str, Callable[[], object]]:
    """Every call that an engine answers, made as it should be."""
    return {
        "get": lambda: engine.get(MARKS, "a"),
        "get_many": lambda: engine.get_many(MARKS, [("a",)]),
        "scan": lambda: engine.scan(MARKS, limit=1),
        "count": lambda: engine.count(MARKS, limit=1),
        "examine": lambda: engine.examine(MARKS, limit=1),
        "insert": lambda: engine.insert(MARKS, Mark("late")),
        "update": lambda: engine.update(THINGS, Thing("a", 2), expect=1),
        "put": lambda: engine.put(PAIRS, Pair("late", "")),
        "delete": lambda: engine.delete(MEMBERS, "t", "a"),
        "now": engine.now,
        "read": lambda: engine.read(lambda reader: None),
        "write": lambda: engine.write(lambda transaction: None),
        "prepare": lambda: engine.prepare(SCHEMA),
        "tables": engine.tables,
        "describe": engine.describe,
        "run": lambda: asyncio.run(engine.run(engine.get, MARKS, "a")),
    }


@case("E3")
def after_close_every_call_says_that_the_engine_is_closed(kit: Kit) -> None:
    for ran_before in (False, True):
        kit.fresh()
        engine = kit.engine
        engine.insert(MARKS, Mark("a"))
        engine.insert(THINGS, Thing("a", 1))
        engine.insert(MEMBERS, Member("t", "a"))
        if ran_before:
            asyncio.run(engine.run(engine.get, MARKS, "a"))
        engine.close()
        for name, call in operations(engine).items():
            checks.raises(Closed, f"{name} after close", call)


@case("E3")
def a_function_is_not_even_called_after_close(kit: Kit) -> None:
    engine = kit.engine
    engine.close()
    called: list[Any] = []
    checks.raises(Closed, "write", engine.write, called.append)
    checks.raises(Closed, "read", engine.read, called.append)
    checks.equal(called, [], "calls")


@case("E1")
def every_fault_of_a_table_that_is_not_there_is_in_the_one_vocabulary(kit: Kit) -> None:
    engine = kit.engine
    odd = Table("odd", Pair, key=("first", "second"), changes=REPLACEABLE)
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: engine.get(NOWHERE, "a"),
        "get_many": lambda: engine.get_many(NOWHERE, [("a",)]),
        "scan": lambda: engine.scan(NOWHERE, limit=1),
        "count": lambda: engine.count(NOWHERE, limit=1),
        "insert": lambda: engine.insert(NOWHERE, Mark("a")),
        "put": lambda: engine.put(odd, Pair("a", "b")),
        "delete": lambda: engine.delete(odd, "a", "b"),
        "write": lambda: engine.write(lambda transaction: transaction.insert(NOWHERE, Mark("a"))),
        "read": lambda: engine.read(lambda reader: reader.get(NOWHERE, "a")),
    }
    for name, call in calls.items():
        checks.raises(StrongroomError, name, call)
        engine.put(PAIRS, Pair("works", name))
    checks.equal(engine.count(PAIRS, "works", limit=100), len(calls), "rows written between the faults")


@case("E1")
def a_fault_says_whether_trying_again_may_help(kit: Kit) -> None:
    retryable = {"VersionMismatch", "Conflict", "Unavailable"}
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, StrongroomError):
            checks.equal(kind.retryable, name in retryable, f"whether {name} is retryable")
    kit.engine.insert(MARKS, Mark("a"))
    fault = checks.raises(AlreadyExists, "a second insert", kit.engine.insert, MARKS, Mark("a"))
    checks.true(fault.retryable is False, "AlreadyExists is not retryable")


@case("E1")
def what_a_caller_may_get_wrong_is_told_apart(kit: Kit) -> None:
    engine = kit.engine
    engine.insert(THINGS, Thing("a", 1))
    checks.raises(AlreadyExists, "a second insert", engine.insert, THINGS, Thing("a", 1))
    checks.raises(VersionMismatch, "a stale update", engine.update, THINGS, Thing("a", 1), expect=2)
    checks.raises(InvalidArgument, "a bad key", engine.get, THINGS, None)
    checks.raises(TypeError, "no limit", engine.scan, THINGS)


@case("E2")
def a_message_names_table_and_key_and_no_value(kit: Kit) -> None:
    engine = kit.engine
    secret = "hunter2 and what else is in the row"
    engine.insert(MARKS, Mark("the key", secret, secret))
    engine.insert(THINGS, Thing("the key", 1, secret, secret))
    for way, port in kit.ways():
        record, named = Mark("the key", secret, secret), ["marks", "the key"]
        checks.raises(AlreadyExists, way, port.insert, MARKS, record, naming=named, hiding=["hunter2"])
        thing, named = Thing("the key", 2, secret), ["things", "the key"]
        checks.raises(VersionMismatch, way, port.update, THINGS, thing, expect=5, naming=named, hiding=["hunter2"])
        thing = Thing("the key", 2, secret + "\0")
        checks.raises(InvalidArgument, way, port.insert, THINGS, thing, naming=["things.text"], hiding=["hunter2"])


@case("E2")
def a_long_key_is_shown_in_part(kit: Kit) -> None:
    name = "k" * 200
    kit.engine.insert(THINGS, Thing(name, 1))
    hiding = ["k" * 80]
    checks.raises(AlreadyExists, "a second insert", kit.engine.insert, THINGS, Thing(name), hiding=hiding)
    checks.raises(VersionMismatch, "an update", kit.engine.update, THINGS, Thing(name), expect=7, hiding=hiding)


@case("E2")
def a_fault_about_a_row_can_be_read_by_a_program(kit: Kit) -> None:
    fault = Corrupt("message", table="t", key=["a", 1], column="c")
    checks.equal((fault.table, fault.key, fault.column), ("t", ("a", 1), "c"), "what a Corrupt carries")
    checks.true(repr(kit.engine).startswith("<engine "), "an engine's repr is short")
    checks.true("\n" not in repr(kit.engine), "an engine's repr is one line")
