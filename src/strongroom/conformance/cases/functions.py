"""What a read or write function is given, what it may not do, and the clock that it reads."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, THINGS, Mark, Pair, Thing
from strongroom.engine import Clock, Strength
from strongroom.errors import InvalidArgument


@case("T1")
def a_transaction_is_of_no_use_after_its_end(kit: Kit) -> None:
    kept: list[Any] = []
    kit.engine.write(kept.append)
    kit.engine.read(kept.append)
    for ended in kept:
        checks.raises(InvalidArgument, "get", ended.get, MARKS, "a")
        checks.raises(InvalidArgument, "scan", ended.scan, MARKS, limit=1)
        checks.raises(InvalidArgument, "count", ended.count, MARKS, limit=1)
    checks.raises(InvalidArgument, "insert", kept[0].insert, MARKS, Mark("late"))
    checks.equal(kit.engine.get(MARKS, "late"), None, "the row")


@case("T1")
def a_call_inside_a_function_is_refused_and_never_waits_for_itself(kit: Kit) -> None:
    engine = kit.engine
    engine.insert(MARKS, Mark("a"))
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: engine.write(lambda _: None),
        "read": lambda: engine.read(lambda _: None),
        "insert": lambda: engine.insert(MARKS, Mark("inner")),
        "put": lambda: engine.put(PAIRS, Pair("inner", "")),
        "update": lambda: engine.update(THINGS, Thing("inner"), expect=1),
        "delete": lambda: engine.delete(MEMBERS, "t", "inner"),
        "get": lambda: engine.get(MARKS, "a"),
        "get_many": lambda: engine.get_many(MARKS, [("a",)]),
        "scan": lambda: engine.scan(MARKS, limit=1),
        "count": lambda: engine.count(MARKS, limit=1),
        "close": engine.close,
    }
    for outer in (engine.write, engine.read):
        for name, call in calls.items():
            what = f"{name} inside {outer.__name__}"

            def function(_: Any, what: str = what, call: Callable[[], object] = call) -> None:
                checks.raises(InvalidArgument, what, call)

            outer(function)
    checks.equal(engine.scan(MARKS, limit=5), [Mark("a")], "the rows")


@case("T1")
def a_function_is_given_what_it_needs_and_no_more(kit: Kit) -> None:
    def change(reader: Any) -> None:
        for operation in ("insert", "update", "put", "delete"):
            checks.true(not hasattr(reader, operation), f"a read function was given {operation}")

    kit.engine.read(change)
    checks.equal(kit.engine.write(lambda _: "result"), "result", "the result of a write function that writes nothing")
    checks.equal(kit.engine.read(lambda _: "result"), "result", "the result of a read function that reads nothing")


@case("T1")
def the_clock_never_goes_back(kit: Kit) -> None:
    other = kit.another()
    last = 0
    for turn in range(60):
        port = (kit.engine, other)[turn % 2]
        now = port.write(lambda transaction: transaction.now()) if turn % 3 else port.now()
        checks.true(type(now) is int, f"the time is an int of milliseconds, not {now!r}")
        checks.true(now >= last, f"the clock went back by {last - now} ms")
        last = now


@case("T1")
def the_clock_stands_still_while_the_machine_s_goes_back(kit: Kit) -> None:
    """The clock that engines without one of their own use."""
    seconds = iter((5, 6, 3, 1, 6, 7, 0, 8))
    clock = Clock(lambda: next(seconds) * 1_000_000_000)
    checks.equal([clock.now() for _ in range(8)], [5000, 6000, 6000, 6000, 6000, 7000, 7000, 8000], "the times")
    checks.true(kit.engine.now() > 0, "an engine tells the time")


@case("T1", strength=Strength.MULTI_RECORD)
def one_transaction_can_ask_for_the_time_again_and_again(kit: Kit) -> None:
    times = kit.engine.write(lambda transaction: [transaction.now() for _ in range(50)])
    checks.equal(times, sorted(times), "the times")
    # Not what the machine's clock says: an engine's clock may be elsewhere. But in milliseconds of this era.
    checks.true(1.5e12 < times[0] < 1e13, f"{times[0]} is no time in Unix milliseconds")
