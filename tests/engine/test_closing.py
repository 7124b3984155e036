"""C2, C3: a close that is struck, met by another one, asked for from inside, or forked away from."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from functools import partial
from pathlib import Path

import pytest

from strongroom.conformance.threads import PATIENCE, Started
from strongroom.engine import Engine, Transaction, asynchronous, base, committer
from strongroom.engines.sqlite import SqliteEngine, SqliteOptions, files, snapshots
from strongroom.engines.sqlite import engine as engine_module
from strongroom.errors import Closed, InvalidArgument
from tests.engines.shelf import BOOKS, SHELF, Book
from tests.interrupts import interrupted_everywhere

EXCLUSIVE = SqliteOptions(exclusive=True, synchronous="normal")


class Held:
    """A write function that is in flight until it is told to go on."""

    def __init__(self, engine: Engine) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        self.faults: list[BaseException] = []
        self._engine = engine
        self.caller = Started(lambda: engine.write(self._hold))
        assert self.inside.wait(PATIENCE)

    def _hold(self, transaction: Transaction) -> None:
        transaction.insert(BOOKS, Book("a", "held"))
        self.inside.set()
        assert self.go.wait(PATIENCE)
        try:
            self._engine.close()
        except InvalidArgument as fault:
            self.faults.append(fault)


def closing(engine: Engine) -> Started[None]:
    """A close of another thread's, that has begun."""
    started = Started(engine.close)
    while not engine._closed:
        started.wait(0.001)
    return started


def test_an_interrupted_close_has_let_go_of_everything(tmp_path: Path) -> None:
    modules = (asynchronous, base, committer, engine_module, files, snapshots)
    for interrupt in interrupted_everywhere(*modules):
        engine = SqliteEngine(str(tmp_path / "room.db"), EXCLUSIVE)
        engine.prepare(SHELF)
        engine.read(lambda reader: reader.get(BOOKS, "a", "b"))
        asyncio.run(engine.run(engine.get, BOOKS, "a", "b"))
        interrupt.run(engine.close)
        assert engine._let_go is bool(engine._closed), interrupt.where  # or it had not even begun
        engine.close()
        SqliteEngine(str(tmp_path / "room.db"), EXCLUSIVE).close()
        with pytest.raises(Closed):
            engine.get(BOOKS, "a", "b")


def test_a_close_inside_a_function_that_another_close_waits_for_is_refused(tmp_path: Path) -> None:
    engine = SqliteEngine(str(tmp_path / "room.db"))
    engine.prepare(SHELF)
    held = Held(engine)
    closer = closing(engine)
    held.go.set()
    held.caller.end("the write").value()
    closer.end("the close").value()
    assert len(held.faults) == 1


@pytest.mark.parametrize("callers", [1, 3])
def test_a_close_inside_a_call_of_run_is_refused_and_says_how_else(tmp_path: Path, callers: int) -> None:
    engine = SqliteEngine(str(tmp_path / "room.db"))
    engine.prepare(SHELF)

    async def main() -> None:
        outcomes = await asyncio.gather(*(engine.run(engine.close) for _ in range(callers)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [InvalidArgument] * callers
        assert "to_thread" in str(outcomes[0])
        await engine.run(engine.insert, BOOKS, Book("a", "b"))
        await asyncio.gather(*(asyncio.to_thread(engine.close) for _ in range(callers)))

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    with pytest.raises(Closed):
        engine.get(BOOKS, "a", "b")


def test_a_child_forked_while_its_parent_closes_can_close_too_and_holds_nothing(tmp_path: Path) -> None:
    engine = SqliteEngine(str(tmp_path / "room.db"), EXCLUSIVE)
    engine.prepare(SHELF)
    held = Held(engine)
    closer = closing(engine)
    parent_reads, child_writes = os.pipe()
    child_reads, parent_writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is tried here
        child = os.fork()
    if child == 0:  # pragma: no cover - the child reports through its pipe
        os.close(parent_writes)
        try:
            engine.close()
            os.write(child_writes, b"closed")
            os.read(child_reads, 1)  # until the parent has seen that the file is free
        finally:
            os._exit(0)
    os.close(child_writes)
    os.close(child_reads)
    try:
        assert Started(partial(os.read, parent_reads, 6)).end("the child's close").value() == b"closed"
        held.go.set()
        held.caller.end("the write").value()
        closer.end("the close").value()
        SqliteEngine(str(tmp_path / "room.db"), EXCLUSIVE).close()
    finally:
        os.close(parent_writes)
        os.close(parent_reads)
        os.waitpid(child, 0)
