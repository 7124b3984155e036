"""Signals that strike the main thread while it runs a neighbour's write function."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import strongroom
from strongroom.conformance.mutants.ground_buffered import BufferedEngine
from strongroom.engine import Engine, Job, Transaction, Work, WritableRows, is_from_a_signal
from strongroom.engine.operations import OpenTransaction
from strongroom.engines.sqlite import SqliteEngine
from strongroom.engines.sqlite.writer import Work as SqliteWork
from tests.engines.leases import LEASES, SCHEMA, Lease


class Ended(Exception):
    """What a handler raises here: an ordinary exception, as that of an alarm is."""


def leave(_number: int, _frame: object) -> None:
    sys.exit(3)


def time_out(_number: int, _frame: object) -> None:
    raise Ended


class Handler:
    def __call__(self, number: int, frame: object) -> None:
        time_out(number, frame)

    def handle(self, number: int, frame: object) -> None:
        time_out(number, frame)


HANDLERS: dict[str, Callable[[int, object], None]] = {
    "a function": time_out,
    "one that exits": leave,
    "a method": Handler().handle,
    "an object": Handler(),
    "a partial": partial(time_out),
}


@pytest.fixture(params=sorted(HANDLERS))
def handled(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


def struck(transaction: Transaction) -> None:
    transaction.insert(LEASES, Lease("struck"))
    os.kill(os.getpid(), signal.SIGUSR1)
    transaction.get(LEASES, "struck")


def run(change: Callable[[Transaction], None], engine: Engine, rows: WritableRows) -> None:
    change(OpenTransaction(rows, engine._codecs))


def insert(transaction: Transaction) -> None:
    transaction.insert(LEASES, Lease("a"))


@pytest.mark.usefixtures("handled")
def test_what_a_handler_raises_in_a_neighbours_function_is_not_the_neighbours() -> None:
    with BufferedEngine() as engine:
        engine.prepare(SCHEMA)
        jobs = [Job(Work(partial(run, change, engine))) for change in (insert, struck)]
        with pytest.raises((Ended, SystemExit)):
            engine.runner.run(jobs)
        assert [job.error for job in jobs] == [None, None]
        assert not any(job.done for job in jobs), "they run again, under another leader"
        assert engine.count(LEASES, limit=9) == 0


@pytest.mark.usefixtures("handled")
def test_nor_is_it_in_sqlite(tmp_path: Path) -> None:
    with strongroom.open(f"sqlite:///{tmp_path}/a.db") as engine:
        assert isinstance(engine, SqliteEngine)
        engine.prepare(SCHEMA)
        jobs = [Job(SqliteWork(partial(run, change, engine), lambda: False)) for change in (insert, struck)]
        with pytest.raises((Ended, SystemExit)):
            engine._group.run(jobs)
        assert [job.error for job in jobs] == [None, None]
        assert not any(job.done for job in jobs)
        assert engine.count(LEASES, limit=9) == 0


def test_what_a_function_raises_by_itself_is_its_own() -> None:
    for fault in (SystemExit(1), Ended()):
        with pytest.raises(type(fault)) as caught:
            raise fault
        assert not is_from_a_signal(caught.value)
