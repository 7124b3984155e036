from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import pytest

import strongroom
from strongroom import AlreadyExists, InvalidArgument
from strongroom.conformance.stopping import Stopped, StoppingEngine, check_stops, contents
from strongroom.engine import Engine, Transaction
from strongroom.records import REPLACEABLE, Identifier, Record, Schema, Table


class Note(Record):
    name: Annotated[str, Identifier(20)]
    count: int = 0


NOTES = Table("notes", Note, key=("name",), changes=REPLACEABLE)
SCHEMA = Schema("notes", NOTES)


def fresh() -> Engine:
    engine = strongroom.open("memory://")
    engine.prepare(SCHEMA)
    return engine


def test_the_write_that_stops_it_is_kept_and_every_later_call_is_refused(room: Engine) -> None:
    room.prepare(SCHEMA)
    engine = StoppingEngine(room, after_writes=2)
    engine.insert(NOTES, Note("a"))
    with pytest.raises(Stopped):
        engine.insert(NOTES, Note("b"))
    assert engine.stopped
    later: list[Callable[[], object]] = [
        lambda: engine.get(NOTES, "a"),
        lambda: engine.put(NOTES, Note("c")),
        lambda: engine.write(lambda transaction: transaction.now()),
        lambda: engine.prepare(SCHEMA),
    ]
    for call in later:
        with pytest.raises(Stopped):
            call()
    assert [note.name for note in room.scan(NOTES, limit=9)] == ["a", "b"]


def puts_and_abandons(transaction: Transaction) -> None:
    transaction.put(NOTES, Note("b"))
    transaction.abandon(None)


def test_only_what_changes_something_is_counted(room: Engine) -> None:
    room.prepare(SCHEMA)
    engine = StoppingEngine(room)
    engine.insert(NOTES, Note("a"))
    with pytest.raises(AlreadyExists):
        engine.insert(NOTES, Note("a"))
    engine.delete(NOTES, "nobody")
    engine.delete(NOTES, "a", expect=Note("a", 7))
    engine.write(puts_and_abandons)
    engine.scan(NOTES, limit=1)
    assert engine.writes == 1
    engine.put(NOTES, Note("a", 2))
    engine.delete(NOTES, "a")
    assert engine.writes == 3


def test_many_changes_in_one_transaction_are_one_write() -> None:
    engine = StoppingEngine(fresh())

    def work(transaction: Transaction) -> None:
        for name in "abc":
            transaction.insert(NOTES, Note(name))

    engine.write(work)
    assert engine.writes == 1


def test_the_dead_do_not_tidy_up() -> None:
    engine = StoppingEngine(fresh(), after_writes=1)

    def tidies_up() -> None:
        try:
            engine.insert(NOTES, Note("a"))
        except Exception:
            engine.inner.delete(NOTES, "a")

    with pytest.raises(Stopped):
        tidies_up()
    assert engine.inner.get(NOTES, "a") == Note("a")


def test_it_can_not_stop_before_the_first_write() -> None:
    with pytest.raises(InvalidArgument):
        StoppingEngine(fresh(), after_writes=0)


def test_closing_it_leaves_the_engine_behind_it_open() -> None:
    inner = fresh()
    StoppingEngine(inner).close()
    assert inner.get(NOTES, "a") is None


def test_contents_are_the_records_of_every_table() -> None:
    engine = fresh()
    for name in "ba":
        engine.put(NOTES, Note(name))
    assert contents(engine, SCHEMA) == {"notes": [Note("a"), Note("b")]}


def repeats_safely(engine: Engine) -> None:
    for name in "abc":
        if engine.get(NOTES, name) is None:
            engine.put(NOTES, Note(name))
    engine.delete(NOTES, "obsolete")


def obsolete() -> Engine:
    engine = fresh()
    engine.put(NOTES, Note("obsolete"))
    return engine


def test_work_that_may_be_repeated_passes_and_its_writes_are_counted() -> None:
    assert check_stops(obsolete, repeats_safely, SCHEMA) == 4


def counts_again(engine: Engine) -> None:
    note = engine.get(NOTES, "a") or Note("a")
    engine.put(NOTES, note.replace(count=note.count + 1))
    engine.put(NOTES, Note("done"))


def forgets_the_rest(engine: Engine) -> None:
    if engine.get(NOTES, "a") is None:
        engine.put(NOTES, Note("a"))
        engine.put(NOTES, Note("b"))


def begins_over_and_over(engine: Engine) -> None:
    if engine.get(NOTES, "b") is None:
        engine.put(NOTES, Note("a"))
        engine.put(NOTES, Note("b"))


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        (counts_again, "stopped after write 1 and run again: notes holds"),
        (forgets_the_rest, "stopped after write 1 and run again: notes holds"),
        (begins_over_and_over, "did not end within 2 writes"),
    ],
)
def test_work_that_may_not_be_stopped_is_caught(work: Callable[[Engine], None], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_stops(fresh, work, SCHEMA)
