"""The dispatch domain: a run from its submission to its end beside queues that keep no journal, and its chain's check.

One cycle of ours is `submit`, `claim` and `finish`: three transactions, which keep the request under its key, the run's
place, its outcome and its record line, an entry of the journal for each change, and a line of the run chain. A peer's
cycle (`bench.peers`) is three commits too, and keeps the message. With threads all share one workspace, and one chain.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Final

from bench.measure import Line, at_least, at_most
from bench.peers import huey, litequeue, persist_queue
from bench.peers.common import THREADS, against
from bench.tables import PAYLOAD, QUEUE
from bench.workshop import Case, Work, Workshop, alone
from strongroom import Transaction
from strongroom.domains import dispatch
from strongroom.domains.dispatch.records import CHAIN_LINES
from strongroom.domains.dispatch.run_chain import RUN_CHAIN, RUN_LINES, RunEntry
from strongroom.engine import Engine
from strongroom.patterns.chain import Link
from strongroom.patterns.chain_check import check_file
from strongroom.patterns.digests import digest

GROUP: Final = "dispatch"
LEVEL: Final = at_least(1)
"""What is hoped for of eight threads; one caller alone pays for his journal and his chain."""
CHECK: Final = at_most(3)
PAGE: Final = 1_000
LINES: Final = 30_000
INPUT: Final = json.dumps(PAYLOAD)
RECORD: Final = b'{"exitCode":0}'


class RunQueue:
    """A workspace with one job, in a room."""

    def __init__(self, room: Engine) -> None:
        workspace = dispatch.open(room).for_workspace(QUEUE, owner="bench", queue_limit=10_000)
        release = workspace.releases.save(
            dispatch.Release(QUEUE, dispatch.new_id("release_"), "bench", pack="bench", config="{}")
        )
        self._workspace = workspace
        self._job = workspace.jobs.create("bench", release.id).job.id
        self._dispatcher = workspace.dispatcher("bench")
        self._keys = itertools.count()

    def cycle(self, _caller: int, n: int) -> None:
        """Ask for a run, claim one and complete it, `n` times: what is timed."""
        completed = dispatch.Ending(state=dispatch.EndState.COMPLETED, record=RECORD)
        for _ in range(n):
            self._workspace.submit(self._job, str(next(self._keys)), INPUT)
            (claim,) = self._dispatcher.claim()
            self._dispatcher.finish(claim, completed)

    def groups(self, _caller: int, n: int) -> None:
        """The same, but claims and ends are carried in groups, as the dispatcher that comes with the domain does it."""
        completed = dispatch.Ending(state=dispatch.EndState.COMPLETED, record=RECORD)
        for _ in range(n):
            self._workspace.submit(self._job, str(next(self._keys)), INPUT)
        while n:
            # Others may have claimed ours, and then leave us theirs.
            claims = self._dispatcher.claim(min(n, dispatch.BITE))
            ended = self._dispatcher.finish_many([(claim, completed) for claim in claims])
            assert all(isinstance(one, dispatch.Outcome) for one in ended)
            n -= len(claims)


def cycle_beside(name: str, prepare: Callable[[Workshop], tuple[Work, str]]) -> Callable[[Workshop], Iterator[Line]]:
    """What measures our cycle beside that of the peer of this name."""

    def measure(shop: Workshop) -> Iterator[Line]:
        theirs, flush = prepare(shop)
        ours = RunQueue(shop.room()).cycle
        bench = f"submit, claim, finish ({name})"
        yield from against(shop, name, bench, ours, theirs, flush, group=GROUP, goal=LEVEL)
        crew = shop.crew(THREADS)
        sides = crew.side(RunQueue(shop.room()).groups), crew.side(theirs)
        yield shop.compare(GROUP, f"{bench}, {THREADS} threads, in groups", *sides, LEVEL, "peer", threads=THREADS)

    return measure


def _chained(shop: Workshop, lines: int) -> Engine:
    """A room whose run chain has so many lines."""
    room = shop.room()
    dispatch.open(room)
    numbers = itertools.count(1)

    def entry(link: Link) -> RunEntry:
        run = f"run_{next(numbers):032x}"
        return RunEntry("1", link.trail, link.sequence, link.previous, "run", run, digest(RECORD))

    def append(transaction: Transaction) -> None:
        for _ in range(PAGE):
            RUN_CHAIN.append_in(transaction, QUEUE, make=entry)

    for _ in range(lines // PAGE):
        room.write(append)
    return room


def _pages(room: Engine) -> Iterator[list[bytes]]:
    after = 0
    while rows := room.scan(CHAIN_LINES, QUEUE, start=(after + 1,), limit=PAGE):
        yield [row.line for row in rows]
        after = rows[-1].sequence


def check(shop: Workshop) -> Iterator[Line]:
    lines = PAGE if shop.quick else LINES
    room = _chained(shop, lines)

    def verify(_caller: int, n: int) -> None:
        for _ in range(n):
            report = RUN_CHAIN.verify(room, QUEUE)
            assert (report.valid, report.lines) == (True, lines)

    def read_and_hash(_caller: int, n: int) -> None:
        for _ in range(n):
            for page in _pages(room):
                for line in page:
                    hashlib.sha256(line).hexdigest()

    yield shop.compare(GROUP, f"check {lines} lines", alone(verify), alone(read_and_hash), CHECK, "raw", lines=lines)

    path = shop.folder() / "lines.jsonl"
    path.write_bytes(b"".join(line + b"\n" for page in _pages(room) for line in page))

    def verify_file(_caller: int, n: int) -> None:
        for _ in range(n):
            with path.open("rb") as file:
                assert check_file(file, RUN_LINES, once=False).valid

    def read_and_hash_file(_caller: int, n: int) -> None:
        for _ in range(n):
            with path.open("rb") as file:
                for line in file:
                    hashlib.sha256(line).hexdigest()

    sides = alone(verify_file), alone(read_and_hash_file)
    yield shop.compare(GROUP, f"check a file of {lines} lines", *sides, CHECK, "raw", lines=lines)


CASES: Final = (
    Case(GROUP, "dispatch litequeue", cycle_beside("litequeue", litequeue.prepared), "a run, from submission to end"),
    Case(GROUP, "dispatch persist-queue", cycle_beside("persist-queue", persist_queue.prepared), "the same"),
    Case(GROUP, "dispatch huey", cycle_beside("huey", huey.prepared), "the same"),
    Case(GROUP, "dispatch chain", check, "check the run chain, beside reading and hashing its lines"),
)
