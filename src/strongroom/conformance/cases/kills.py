"""D1 and D4: writers that are killed without warning, and what is found afterwards."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import contextlib
import random
import time
from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.processes import Nursery
from strongroom.conformance.tables import LOG, MARKS, PAIRS, Mark
from strongroom.conformance.worker import GROUP
from strongroom.engine import Durability, Engine, Reader, Sharing, Strength
from strongroom.errors import StoreHeld

FEW: Final = 4
"""How many kills the quick case makes do with."""


def survive(kit: Kit, kills: int) -> None:
    """Kill a writer again and again; after each death the store holds all that was acknowledged, whole."""
    mixed = random.Random(kills)
    kit.open()
    kit.close()
    nursery = Nursery(kit)
    last = 0
    with contextlib.closing(_Ending(nursery)):
        for turn in range(kills):
            nursery.begin("write", "w")
            # At a random moment: behind a few acknowledgements, and a little after the last.
            for _ in range(mixed.randrange(1, 8)):
                last = int(nursery.line())
            time.sleep(mixed.random() * 0.004)
            last = max([last, *map(int, nursery.kill())])
            last = check(kit.open(), last, f"after kill {turn + 1}", since=max(0, last - 20))
            kit.close()
    check(kit.open(), last, "at the end", since=0)


class _Ending:
    """Ends a nursery when it is closed."""

    def __init__(self, nursery: Nursery) -> None:
        self.close = nursery.end


def check(engine: Engine, acknowledged: int, when: str, *, since: int) -> int:
    """Hold the store to what was acknowledged; the number of the last batch that it holds.

    The batch that was in flight when the writer died may be there too, but no half of it.
    """
    logged = not engine.claims.one_scope
    checked = partial(_held, acknowledged=acknowledged, when=when, since=since, logged=logged)
    # What the dead one had under way may still come to its end meanwhile: all is read at one moment.
    return engine.read(checked) if engine.claims.strength >= Strength.MULTI_RECORD else checked(engine, whole=False)


def _held(reader: Reader, *, acknowledged: int, when: str, since: int, logged: bool, whole: bool = True) -> int:
    marks = reader.scan(MARKS, start=(f"w {since + 1:06}",), stop=("w!",), limit=10_000)
    numbers = [int(mark.name.rpartition(" ")[2]) for mark in marks]
    last = numbers[-1] if numbers else since
    checks.equal(numbers, list(range(since + 1, last + 1)), f"the batches {when}")
    checks.true(last >= acknowledged, f"{when}: batch {acknowledged} was acknowledged, but the last held is {last}")
    checks.true(last <= acknowledged + 1, f"{when}: batch {last} is held, but only {acknowledged} were acknowledged")
    if whole:
        pairs = reader.scan(PAIRS, start=(f"w {since + 1:06}",), stop=("w!",), limit=10_000)
        expected = [(f"w {n:06}", str(i), n) for n in numbers for i in range(GROUP)]
        checks.equal([(p.first, p.second, p.number) for p in pairs], expected, f"the rows of the batches {when}")
    if whole and logged:
        entries = LOG.read(reader, "batches", after=since, limit=10_000)
        checks.equal([entry.text for entry in entries], [f"w {n}" for n in numbers], f"the log of the batches {when}")
    return last


@case("D1", Ability.PROCESSES, durability=Durability.PROCESS, sharing=Sharing.HOST, reopens=True)
def what_a_killed_writer_was_told_is_kept(kit: Kit) -> None:
    survive(kit, FEW)


@case("D1", Ability.PROCESSES, durability=Durability.PROCESS, sharing=Sharing.HOST, reopens=True, slow=True)
def nothing_is_lost_however_often_a_writer_is_killed(kit: Kit) -> None:
    survive(kit, kit.kills)


@case("D1", reopens=True)
def what_was_acknowledged_is_there_when_the_store_is_opened_again(kit: Kit) -> None:
    for turn in range(5):
        engine = kit.engine
        for number in range(5):
            engine.insert(MARKS, Mark(f"{turn} {number}"))
        if kit.claims.strength >= Strength.MULTI_RECORD:
            engine.write(lambda transaction, turn=turn: transaction.insert(MARKS, Mark(f"{turn} 5")))  # type: ignore[misc]
        else:
            engine.insert(MARKS, Mark(f"{turn} 5"))
        engine = kit.reopen()
        expected = [f"{t} {n}" for t in range(turn + 1) for n in range(6)]
        checks.equal([mark.name for mark in engine.scan(MARKS, limit=100)], expected, "the rows after reopening")


@case("D4", Ability.EXCLUSIVE, Ability.PROCESSES, exclusive=True, sharing=Sharing.HOST, reopens=True)
def a_killed_holder_holds_no_longer(kit: Kit) -> None:
    kit.open()
    kit.close()
    nursery = Nursery(kit, url=kit.harness.exclusive_url)
    with contextlib.closing(_Ending(nursery)):
        for _ in range(FEW):
            nursery.begin("write", "w")
            last = int(nursery.line())
            checks.raises(StoreHeld, "an exclusive open beside a holder", kit.harness.open_exclusive)
            checks.raises(StoreHeld, "an open beside a holder", kit.harness.open)
            last = max([last, *map(int, nursery.kill())])
            with kit.harness.open_exclusive() as engine:
                check(engine, last, "as its next holder sees it", since=max(0, last - 20))
