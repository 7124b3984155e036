"""What the kit has other processes do: ``python -m strongroom.conformance.worker OPENER URL JOB [ARGUMENT ...]``.

`OPENER` names the function, as ``module:name``, that opens `URL`. A job prints one line for each thing that it was
told is kept, at once, so that whoever kills it knows what it had been told; its last line is ``done``. It expects the
kit's schema to be prepared.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from strongroom.conformance.tables import (
    ACCOUNTS,
    GROWING,
    LOG,
    MARKS,
    MEMBERS,
    PAIRS,
    SCHEMA,
    Account,
    Entry,
    Mark,
    Member,
    Pair,
)
from strongroom.engine import Engine, Strength, Transaction, retry
from strongroom.errors import AlreadyExists, Closed, Conflict, StoreHeld, VersionMismatch

GROUP: Final = 3
"""How many rows of each batch belong together."""


def say(line: str) -> None:
    """Tell whoever listens, before anything else happens."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def write(engine: Engine, writer: str) -> None:
    """Write batches of rows that belong together, for ever; says each batch's number once it is acknowledged.

    A batch is a mark, an entry of the log and `GROUP` pairs, all with the batch's number; they go on where they were.
    """
    last = engine.scan(MARKS, start=(f"{writer} ",), stop=(f"{writer}!",), limit=1, reverse=True)
    number = int(last[0].name.rpartition(" ")[2]) if last else 0
    while True:
        number += 1
        write_batch(engine, writer, number)
        say(str(number))


def write_batch(engine: Engine, writer: str, number: int) -> None:
    """Write one batch; with single-record transactions only its mark, with those of one scope no entry of the log."""
    if engine.claims.strength < Strength.MULTI_RECORD:
        engine.insert(MARKS, Mark(f"{writer} {number:06}"))
        return

    def change(transaction: Transaction) -> None:
        if not engine.claims.one_scope:
            LOG.append_in(
                transaction, "batches", make=lambda position: Entry("batches", position, f"{writer} {number}")
            )
        for index in range(GROUP):
            transaction.put(PAIRS, Pair(f"{writer} {number:06}", str(index), number))
        transaction.insert(MARKS, Mark(f"{writer} {number:06}"))

    engine.write(change)


def increment(engine: Engine, times: str) -> None:
    """Raise the shared account's version by compare-and-set until that succeeded `times` times; says each version."""
    for _ in range(int(times)):
        while True:
            account = engine.get(ACCOUNTS, "t", "shared")
            assert account is not None
            new = account.replace(version=account.version + 1, balance=account.balance + 1)
            try:
                engine.update(ACCOUNTS, new, expect=account.version)
            except VersionMismatch:
                continue
            say(str(new.version))
            break


def add(engine: Engine, times: str) -> None:
    """Add 1 to the shared pair in `times` transactions, each of which reads it and puts it; says each number."""
    for _ in range(int(times)):

        def change(transaction: Transaction) -> int:
            pair = transaction.get(PAIRS, "shared", "")
            assert pair is not None
            transaction.put(PAIRS, pair.replace(number=pair.number + 1))
            return pair.number + 1

        say(str(engine.write(change)))


def claim(engine: Engine, tasks: str) -> None:
    """Claim each of so many tasks that is free, by insert-once; says the number of each that it got."""
    for task in range(int(tasks)):
        try:
            engine.insert(MARKS, Mark(f"task {task}", str(os.getpid())))
        except AlreadyExists:
            continue
        say(str(task))


def append(engine: Engine, writer: str, times: str) -> None:
    """Append so many entries to the shared log; says the position of each."""
    for number in range(int(times)):
        entry = LOG.append(engine, "s", make=lambda p, n=number: Entry("s", p, f"{writer}.{n}"))  # type: ignore[misc]
        say(str(entry.position))


def append_slowly(engine: Engine, writer: str, times: str) -> None:
    """As `append`, but the transaction stays open for a while when it has its position; says each position."""
    mixed = random.Random(writer)
    for number in range(int(times)):

        def change(transaction: Transaction, number: int = number) -> int:
            entry = LOG.append_in(transaction, "s", make=lambda p: Entry("s", p, f"{writer}.{number}"))
            time.sleep(mixed.random() * 0.01)
            return entry.position

        say(str(retry(partial(engine.write, change), on=Conflict)))


def step_down(engine: Engine, own: str, other: str) -> None:
    """Leave the members, unless that leaves nobody: again and again, so that two who do so meet; says each leave."""
    for _ in range(60):

        def leave(transaction: Transaction) -> bool:
            if transaction.get(MEMBERS, "t", other) is None:
                return False
            return transaction.delete(MEMBERS, "t", own)

        if engine.write(leave):
            say("left")
            engine.insert(MEMBERS, Member("t", own))


def look(engine: Engine) -> None:
    """Answer questions: for each line that comes in, the shared account's version."""
    say("ready")
    for _ in sys.stdin:
        account = engine.get(ACCOUNTS, "t", "shared")
        say("none" if account is None else str(account.version))


def hold(engine: Engine) -> None:
    """Keep the store open until the input ends."""
    say("held")
    sys.stdin.read()


def fork(engine: Engine) -> None:
    """Fork with the engine open; says what became of it in the child, which then ends as any process does."""
    engine.insert(ACCOUNTS, Account("t", "before"))
    child = os.fork()
    if child == 0:
        try:
            engine.get(ACCOUNTS, "t", "before")
            say("child read")
        except Closed:
            say("child refused")
        engine.close()
        sys.exit(0)
    os.waitpid(child, 0)
    engine.insert(ACCOUNTS, Account("t", "after"))
    found = engine.scan(ACCOUNTS, "t", limit=9)
    say(f"parent has {len(found)}")


JOBS: Final[dict[str, Callable[..., None]]] = {
    job.__name__: job for job in (write, increment, add, claim, append, append_slowly, step_down, look, hold, fork)
}


def nursery(opener: str, url: str) -> None:
    """Fork a child for each line that comes in, which names a job and its arguments; says ``pid N`` and ``ended CODE``.

    So that a case which needs many short-lived processes pays for one start only.
    """
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            say(f"pid {os.getpid()}")
            os._exit(main([opener, url, *line.split()]))
        _, status = os.waitpid(child, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def main(arguments: list[str]) -> int:
    """Do one job; the exit code is 3 where the store is held by another."""
    opener, url, job, *rest = arguments
    if mutant := os.environ.get("STRONGROOM_MUTANT"):
        importlib.import_module("strongroom.conformance.mutants.registry").become(mutant)
    if job == "nursery":
        nursery(opener, url)
        say("done")
        return 0
    module, _, name = opener.partition(":")
    opened: Callable[[str], Engine] = getattr(importlib.import_module(module), name)
    try:
        engine = opened(url)
    except StoreHeld:
        say("held by another")
        return 3
    with engine:
        if job == "prepare":
            engine.prepare(GROWING[-1])
        else:
            engine.prepare(SCHEMA)
            JOBS[job](engine, *rest)
        say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
