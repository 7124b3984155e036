"""Appends to one log on a server, beside inserts whose positions come from a sequence of the database.

Ours are dense, and in the order of their commits; a reader follows them all the while, and sees that none is missing.
The raw side's are neither, and nobody follows it: a reader that did would sooner or later skip entries for good.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

from bench.measure import Line, Side, at_least
from bench.processes import Processes
from bench.raw import APPENDERS, Tail
from bench.remote.raw import Kind
from bench.tables import LOG, QUEUE, entry
from bench.workshop import Case, Workshop
from strongroom.engine import Engine

PROCESSES: Final = 4

_PAUSE: Final = 0.005
"""Seconds between two looks of the reader that found nothing: each is a round trip."""
_LEAST: Final = 32
"""How often at least each thread appends in one chunk: the reader's last look is then little of it."""


def _followed(shop: Workshop, room: Engine, side: Side) -> Side:
    """The side, and a reader that has to have followed its log to the end before a chunk is over."""
    reader = shop.crew(1)
    tail = Tail(room, QUEUE, pause=_PAUSE)
    shop.closing(tail.stop)

    def run(n: int) -> None:
        reader.start(tail.follow, tail.reached + n * side.jobs)
        side.run(n)
        reader.wait()

    return Side(run, jobs=side.jobs, least=side.least, elsewhere=side.elsewhere)


def by_threads(kind: Kind, shop: Workshop) -> Iterator[Line]:
    running = kind.running(shop)
    room = running.room(shop, shop.name("store"))
    store = running.tables(shop)
    running.admin.plain_log(store)
    raws = [running.raw(shop, store) for _ in range(APPENDERS)]
    crew = shop.crew(APPENDERS)

    def append(_caller: int, n: int) -> None:
        for _ in range(n):
            LOG.append(room, QUEUE, make=lambda position: entry(QUEUE, position))

    def insert(caller: int, n: int) -> None:
        for _ in range(n):
            raws[caller].append()

    yield shop.compare(
        kind.group,
        f"{APPENDERS} threads appending to one log, followed",
        _followed(shop, room, crew.side(append, least=_LEAST)),
        crew.side(insert, least=_LEAST),
        at_least(0.9),
        "raw",
        server=running.about,
        raw_is="inserts with a sequence, not followed",
    )


def by_processes(kind: Kind, shop: Workshop) -> Iterator[Line]:
    running = kind.running(shop)
    store = shop.name("store")
    room = running.room(shop, store)
    running.admin.plain_log(store)
    ours, theirs = (
        Processes("bench.remote.appender", [[kind.group, side, running.address, store]] * PROCESSES)
        for side in ("ours", "raw")
    )
    shop.closing(ours.close)
    shop.closing(theirs.close)
    yield shop.compare(
        kind.group,
        f"{PROCESSES} processes appending to one log, followed",
        _followed(shop, room, ours.side),
        theirs.side,
        at_least(0.9),
        "raw",
        server=running.about,
        raw_is="inserts with a sequence, not followed",
    )


def cases(kind: Kind) -> tuple[Case, ...]:
    """The cases of one kind of server."""
    return (
        Case(
            kind.group,
            f"{kind.group} log by threads",
            functools.partial(by_threads, kind),
            f"{APPENDERS} threads append to one log, against inserts with a sequence",
        ),
        Case(
            kind.group,
            f"{kind.group} log by processes",
            functools.partial(by_processes, kind),
            f"{PROCESSES} processes append to one log, against inserts with a sequence",
        ),
    )
