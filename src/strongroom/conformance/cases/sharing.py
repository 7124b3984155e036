"""C1 to C4 and D4: threads, forks, closing, cancelling, and who may have a store open."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.cases.errors import operations
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, SCHEMA, THINGS, Mark, Member, Pair, Thing
from strongroom.conformance.threads import PATIENCE, Started, errors_of, together
from strongroom.engine import Cancelled, Engine, Sharing, Transaction
from strongroom.errors import Closed, Conflict, InvalidArgument, StoreHeld


@case("C1")
def threads_share_one_engine(kit: Kit) -> None:
    engine = kit.engine

    def live(thread: int) -> int:
        for number in range(12):
            name = f"{thread}.{number}"
            engine.insert(THINGS, Thing(name, 1, name))
            engine.update(THINGS, Thing(name, 2, name), expect=1)
            engine.insert(MEMBERS, Member(f"t{thread}", name))
            checks.equal(engine.get(THINGS, name), Thing(name, 2, name), "one's own row")
            checks.equal(engine.count(MEMBERS, f"t{thread}", limit=99), number + 1, "one's own rows")
            checks.equal(engine.read(lambda r, n=name: r.get(THINGS, n)), Thing(name, 2, name), "in a snapshot")  # type: ignore[misc]
            page = engine.scan(MEMBERS, f"t{thread}", limit=99)
            checks.equal({member.tenant for member in page}, {f"t{thread}"}, "the tenant of one's own rows")
        return 12

    ended = together([partial(live, thread) for thread in range(8)])
    for one in ended:
        one.value()
    checks.equal(kit.engine.count(THINGS, limit=1000), 96, "rows")


def in_a_fork(ask: Callable[[], str]) -> str:
    """What `ask` answers in a forked child; the child ends at once afterwards, and can't be stuck for long."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is tried here
        child = os.fork()
    if child == 0:
        try:
            answer = ask()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode()[:4000])
        os._exit(0)
    os.close(writing)
    heard = b""
    try:
        while select.select([reading], [], [], 10)[0]:
            part = os.read(reading, 4096)
            if not part:
                return heard.decode()
            heard += part
        return "the child is stuck"
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _refused(engine: Engine) -> str:
    """Which calls a child is not refused; empty if all say that the engine is not its own."""
    wrong = []
    for name, call in operations(engine).items():
        try:
            call()
        except Closed:
            continue
        except BaseException as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{name} was answered")
    return "; ".join(wrong)


@case("C2")
def a_forked_child_is_refused_every_call(kit: Kit) -> None:
    if not hasattr(os, "fork"):
        raise checks.Unprovable("this system does not fork")
    engine = kit.engine
    engine.insert(THINGS, Thing("a", 1))
    engine.insert(MEMBERS, Member("t", "a"))
    engine.read(lambda reader: reader.get(THINGS, "a"))
    checks.equal(in_a_fork(lambda: _refused(engine)), "", "what a forked child was not refused")

    def close() -> str:
        engine.close()
        return "closed"

    checks.equal(in_a_fork(close), "closed", "close in a forked child")
    checks.equal(engine.scan(THINGS, limit=5), [Thing("a", 1)], "what the parent reads afterwards")
    engine.update(THINGS, Thing("a", 2), expect=1)
    checks.equal(kit.another().get(THINGS, "a"), Thing("a", 2), "what the parent writes afterwards")
    if kit.claims.reopens:
        checks.equal(kit.reopen().get(THINGS, "a"), Thing("a", 2), "the row after reopening")


@case("C2")
def a_child_forked_in_the_middle_of_a_write_is_refused_and_never_waits(kit: Kit) -> None:
    if not hasattr(os, "fork"):
        raise checks.Unprovable("this system does not fork")
    engine = kit.engine
    inside, go, stop = threading.Event(), threading.Event(), threading.Event()

    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("in flight"))
        inside.set()
        go.wait(PATIENCE)

    def read() -> None:
        while not stop.is_set():
            engine.count(MARKS, limit=100)

    writer = Started(lambda: engine.write(change))
    checks.true(inside.wait(PATIENCE), "the write begins")
    # An engine in which readers wait for the writer is busy enough as it is.
    readers = [Started(read) for _ in range(2)]
    try:
        for _ in range(5):
            checks.equal(in_a_fork(lambda: _refused(engine)), "", "what a forked child was not refused")
    finally:
        stop.set()
        go.set()
    writer.end("the writer").value()
    for reader in readers:
        reader.end("a reader").value()
    checks.equal(engine.get(MARKS, "in flight"), Mark("in flight"), "the row that was written beside the fork")


@case("C3")
def close_waits_for_a_write_in_flight(kit: Kit) -> None:
    engine = kit.engine
    inside, go = threading.Event(), threading.Event()

    def change(transaction: Transaction) -> str:
        transaction.insert(MARKS, Mark("in flight"))
        inside.set()
        go.wait(PATIENCE)
        return "kept"

    writer = Started(lambda: engine.write(change))
    checks.true(inside.wait(PATIENCE), "the write begins")
    closer = Started(engine.close)
    early = closer.wait(0.1)
    go.set()
    outcome = writer.end("the writer")
    closer.end("close").value()
    checks.true(not early, "close did not wait for a write in flight")
    checks.equal(outcome.value(), "kept", "the result of a write that close waited for")
    checks.raises(Closed, "a write after close", engine.write, lambda _: None)
    if kit.claims.reopens:
        checks.equal(kit.reopen().get(MARKS, "in flight"), Mark("in flight"), "the row after reopening")


@case("C3")
def whoever_writes_while_the_engine_is_closed_is_told_truly(kit: Kit) -> None:
    engine, other = kit.engine, kit.another() if kit.claims.sharing >= Sharing.PROCESS else None
    go = threading.Barrier(7)
    kept: list[str] = []

    def write(thread: int) -> None:
        go.wait(PATIENCE)
        for number in range(200):
            name = f"{thread}.{number}"
            if number % 2:
                engine.insert(MARKS, Mark(name))
            else:
                engine.write(lambda transaction, name=name: transaction.insert(MARKS, Mark(name)))  # type: ignore[misc]
            kept.append(name)

    def close() -> None:
        go.wait(PATIENCE)
        while len(kept) < 10:
            time.sleep(0.0005)
        engine.close()

    calls: list[Callable[[], None]] = [*(partial(write, thread) for thread in range(6)), close]
    ended = together(calls)
    checks.equal(ended[-1].error, None, "the fault of close")
    faults = {type(error) for error in errors_of(ended[:-1])}
    checks.true(faults <= {Closed}, f"a writer beside close got {faults}")
    reader = kit.reopen() if kit.claims.reopens else other
    if reader is not None:
        found = {mark.name for mark in reader.scan(MARKS, limit=10_000)}
        checks.equal(found, set(kept), "the rows that are kept, and those that their writers were told are kept")


@case("C3")
def whoever_reads_while_the_engine_is_closed_is_told_truly(kit: Kit) -> None:
    engine = kit.engine
    kit.keep(MARKS, [Mark(f"{number:03}") for number in range(200)])
    begun = threading.Event()

    def scan() -> None:
        for _ in range(2000):
            checks.equal(len(engine.scan(MARKS, limit=1000)), 200, "rows")
            begun.set()

    def look() -> None:
        def twice(reader: Any) -> None:
            reader.get(MARKS, "000")
            checks.equal(len(reader.scan(MARKS, limit=1000)), 200, "rows in a snapshot")

        for _ in range(2000):
            engine.read(twice if kit.claims.strength > 1 else lambda reader: reader.get(MARKS, "000"))

    readers = [Started(scan), Started(scan), Started(look), Started(look)]
    begun.wait(PATIENCE)
    engine.close()
    for reader in readers:
        error = reader.end("a reader beside close").error
        checks.true(error is None or isinstance(error, Closed | Conflict), f"a reader beside close got {error!r}")


@case("C3")
def close_can_be_repeated_by_anybody(kit: Kit) -> None:
    engine = kit.engine
    ended = together([engine.close] * 4)
    checks.equal(errors_of(ended), [], "faults")
    engine.close()
    with kit.harness.open() as other:
        pass
    other.close()
    with contextlib.suppress(ValueError), kit.harness.open() as third:
        raise ValueError
    checks.raises(Closed, "after a with block that raised", third.tables)


@case("C3")
def close_leaves_no_thread_and_no_file_behind(kit: Kit) -> None:
    kit.open()
    kit.close()  # what is opened once for all engines is open now
    threads, files = set(threading.enumerate()), _open_files()
    for _ in range(3):
        engine = kit.open()
        asyncio.run(engine.run(engine.insert, PAIRS, Pair("p", str(time.monotonic_ns()))))
        together([partial(engine.read, lambda reader: reader.count(PAIRS, limit=5))] * 5)
        together([partial(engine.put, PAIRS, Pair("q", str(n))) for n in range(5)])
        engine.close()
        checks.equal(set(threading.enumerate()) - threads, set(), "threads left behind")
        deadline = time.monotonic() + PATIENCE
        while _open_files() - files and time.monotonic() < deadline:
            time.sleep(0.001)  # a driver may close its sockets in the background
        checks.equal(_open_files() - files, set(), "files left open")


def _open_files() -> set[str]:
    """What this process has open, where the system tells."""
    listing = Path("/proc/self/fd")
    if not listing.is_dir():
        return set()
    found = set()
    for entry in os.listdir(listing):
        with contextlib.suppress(OSError):
            target = os.readlink(listing / entry)
            if not target.startswith(("pipe:", "anon_inode:", "/proc/")):
                found.add(target)
    return found


@case("C4")
def a_cancelled_caller_is_told_what_became_of_its_call(kit: Kit) -> None:
    engine = kit.engine
    inside, go = threading.Event(), threading.Event()

    def change(name: str) -> str:
        def write(transaction: Transaction) -> str:
            transaction.insert(MARKS, Mark(name))
            inside.set()
            go.wait(PATIENCE)
            if name == "fails":
                raise ValueError(name)
            return name

        return engine.write(write)

    async def cancelled(name: str) -> Cancelled:
        inside.clear()
        go.clear()
        task = asyncio.ensure_future(engine.run(change, name))
        while not inside.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0.005)
        checks.true(not task.done(), "the caller was let go while its call was still under way")
        task.cancel()
        await asyncio.sleep(0.005)
        go.set()
        try:
            await task
        except Cancelled as told:
            return told
        raise checks.Failed("a cancelled caller was not told that it was cancelled")

    async def both() -> None:
        told = await cancelled("kept")
        checks.equal((told.result, told.error), ("kept", None), "what the first was told")
        told = await cancelled("fails")
        checks.equal((told.result, repr(told.error)), (None, "ValueError('fails')"), "what the second was told")

    asyncio.run(both())
    checks.equal([mark.name for mark in engine.scan(MARKS, limit=5)], ["kept"], "the rows")


@case("C4")
def many_cancelled_callers_leak_nothing(kit: Kit) -> None:
    engine = kit.engine

    async def cancel_many() -> int:
        tasks = [asyncio.ensure_future(engine.run(engine.insert, MARKS, Mark(f"{n:03}"))) for n in range(120)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.wait(tasks)
        kept = 0
        for number, task in enumerate(tasks):
            held = engine.get(MARKS, f"{number:03}") is not None
            try:
                await task
                checks.true(held, "a call that was not cancelled was not carried out")
            except Cancelled as told:
                checks.equal(told.error, None, "the fault of a call that was carried out")
                checks.true(held, "a call that is said to have been carried out was not")
            except asyncio.CancelledError:
                checks.true(not held, "a call that is said not to have begun was carried out")
            kept += held
        return kept

    kept = asyncio.run(cancel_many())
    checks.true(60 <= kept <= 120, f"{kept} rows")
    for number in range(20):
        engine.write(lambda transaction, n=number: transaction.put(PAIRS, Pair("p", str(n))))  # type: ignore[misc]
        engine.read(lambda reader: reader.count(PAIRS, limit=1))
    checks.equal(engine.count(PAIRS, limit=100), 20, "rows written afterwards")


@case("D4", Ability.EXCLUSIVE, exclusive=True, sharing=Sharing.PROCESS)
def two_holders_never_exist(kit: Kit) -> None:
    harness = kit.harness
    shared = kit.open()
    checks.raises(StoreHeld, "an exclusive open of a store in use", harness.open_exclusive)
    shared.insert(MARKS, Mark("a"))
    kit.close()
    with harness.open_exclusive() as holder:
        checks.equal(holder.claims.sharing, Sharing.ENGINE, "whom a holder claims to share with")
        holder.prepare(SCHEMA)
        holder.insert(MARKS, Mark("b"))
        for _ in range(2):
            checks.raises(StoreHeld, "a second holder", harness.open_exclusive)
            checks.raises(StoreHeld, "an open beside a holder", harness.open)
        holder.insert(MARKS, Mark("c"))
    with harness.open_exclusive() as holder:
        checks.raises(StoreHeld, "an open beside the next holder", harness.open)
    checks.equal([mark.name for mark in kit.open().scan(MARKS, limit=5)], ["a", "b", "c"], "the rows afterwards")
    kit.another()


@case("D4", Ability.EXCLUSIVE, exclusive=True, sharing=Sharing.PROCESS)
def of_those_who_want_to_hold_a_store_at_once_one_does(kit: Kit) -> None:
    kit.open()
    kit.close()
    for _ in range(5):
        ended = together([kit.harness.open_exclusive] * 4)
        holders = [one.result for one in ended if one.result is not None]
        for holder in holders:
            holder.close()
        checks.equal(len(holders), 1, "holders")
        for error in errors_of(ended):
            checks.true(isinstance(error, StoreHeld), f"the others got {error!r}")


@case("D4", Ability.EXCLUSIVE, exclusive=True, sharing=Sharing.PROCESS)
def a_holder_s_store_is_as_good_as_any(kit: Kit) -> None:
    with kit.harness.open_exclusive() as holder:
        holder.prepare(SCHEMA)
        holder.insert(THINGS, Thing("a", 1))
        together([partial(holder.insert, MARKS, Mark(str(n))) for n in range(6)])
        holder.write(lambda transaction: transaction.update(THINGS, Thing("a", 2), expect=1))
        checks.equal(holder.read(lambda reader: reader.count(MARKS, limit=9)), 6, "rows in a snapshot")
        checks.raises(InvalidArgument, "a bad key", holder.get, MARKS, "")
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 2), "the row afterwards")
