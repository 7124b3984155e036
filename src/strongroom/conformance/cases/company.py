"""T1, W1 and T3 where changes lie over rows: what a function sees beside its own changes, and beside its neighbours."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import threading
import time
from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, Mark, Member
from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Strength, Transaction
from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.records import NEVER, Table

MULTI: Final = Strength.MULTI_RECORD

GATHERING: Final = 0.05
"""Seconds in which callers that were let go one after the other are all there."""

UNPREPARED: Final = Table("kit_never_prepared", Mark, key=("name",), changes=NEVER)


@case("T1", strength=MULTI)
def a_page_is_filled_up_behind_the_rows_that_its_transaction_removed(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", f"{number}") for number in range(8)])

    def change(transaction: Transaction) -> tuple[list[str], list[str], int]:
        for number in (0, 1, 7):
            transaction.delete(MEMBERS, "t", f"{number}")
        transaction.insert(MEMBERS, Member("t", "25"))
        first = transaction.scan(MEMBERS, "t", limit=4)
        last = transaction.scan(MEMBERS, "t", limit=3, reverse=True)
        return [one.name for one in first], [one.name for one in last], transaction.count(MEMBERS, "t", limit=5)

    first, last, count = kit.engine.write(change)
    checks.equal(first, ["2", "25", "3", "4"], "the first page")
    checks.equal(last, ["6", "5", "4"], "the last page")
    checks.equal(count, 5, "the count up to its limit")


@case("W1", strength=MULTI)
def a_page_that_ends_at_its_limit_says_nothing_of_the_rows_behind_it(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", f"{number}") for number in range(6)])

    def change(transaction: Transaction) -> list[str]:
        transaction.scan(MEMBERS, "t", limit=2)
        transaction.scan(MEMBERS, "t", limit=2, reverse=True)
        there = [number for number in range(6) if transaction.get(MEMBERS, "t", f"{number}") is not None]
        refused = []
        for number in there:
            try:
                transaction.insert(MEMBERS, Member("t", f"{number}", "mine"))
            except AlreadyExists:
                refused.append(f"{number}")
        return refused

    checks.equal(kit.engine.write(change), [f"{number}" for number in range(6)], "the refused inserts")
    checks.equal({one.note for one in kit.engine.scan(MEMBERS, limit=9)}, {""}, "the notes")


@case("T3", strength=MULTI)
def a_function_that_the_database_refuses_is_refused_alone(kit: Kit) -> None:
    engine = kit.engine
    for turn in range(4):
        begun, go = threading.Event(), threading.Event()

        def hold(_transaction: Transaction, begun: threading.Event = begun, go: threading.Event = go) -> None:
            begun.set()
            go.wait(PATIENCE)

        # While one function is under way, the others gather; an engine that carries callers together has them at once.
        holder = Started(partial(engine.write, hold))
        begun.wait(PATIENCE)
        marks = [Mark(f"{turn}-{caller}") for caller in range(4)]
        callers = [Started(partial(engine.write, partial(_insert, mark=mark))) for mark in marks]
        refused = Started(partial(engine.write, _ask_for_nothing))
        later = Started(partial(engine.write, partial(_insert, mark=Mark(f"{turn}-later"))))
        time.sleep(GATHERING)
        go.set()
        for one in (holder, *callers, later):
            one.end().value()
        error = refused.end().error
        checks.true(isinstance(error, InvalidArgument), f"a table that was never prepared: got {error!r}")
    checks.equal(engine.count(MARKS, limit=100), 4 * 5, "the rows, all of them acknowledged")


def _insert(transaction: Transaction, mark: Mark) -> None:
    transaction.get(MARKS, mark.name)
    transaction.insert(MARKS, mark)


def _ask_for_nothing(transaction: Transaction) -> None:
    transaction.get(UNPREPARED, "a")
