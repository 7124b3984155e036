"""How far one scope goes, and how far many: the same callers in one scope, and each in a scope of its own.

As a program it is one of the processes: ``python -m bench.scale append|insert URL SCOPE THREADS``.
"""

from __future__ import annotations

import functools
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import strongroom
from bench.measure import Line, Side, at_least
from bench.processes import Processes, serve
from bench.remote import DYNAMODB, ETCD, MYSQL, POSTGRES
from bench.remote.raw import Kind
from bench.tables import Entry, Job, entry, job, job_id
from bench.workshop import Case, Crew, Work, Workshop
from strongroom import Transaction
from strongroom.engine import Engine
from strongroom.patterns import Log
from strongroom.records import VERSIONED, Schema, Table

GROUP: Final = "scale"

_NO_GOAL: Final = at_least(0)
"""What comes of it is told, and not aimed at: one writer, or one leader, does no more for many scopes than for one."""

PROCESSES: Final = 4
THREADS: Final = 16

JOBS: Final = Table("scale_jobs", Job, key=("queue", "id"), scope=1, changes=VERSIONED("version"))
LOG: Final = Log(Table("scale_entries", Entry, key=("stream", "position"), scope=1))
SCHEMA: Final = Schema("scale", JOBS, LOG.table)

Place = Callable[[Workshop], tuple[str, str]]
"""Makes an empty store: its URL, and what is told of the server."""


def _file(shop: Workshop) -> tuple[str, str]:
    return f"sqlite:///{shop.folder()}/scale.db", "SQLite, synchronous=full"


def _on(kind: Kind, shop: Workshop) -> tuple[str, str]:
    running = kind.running(shop)
    return kind.store_url(running.address, shop.name("scale")), running.about


PLACES: Final[dict[str, Place]] = {
    "sqlite": _file,
    **{kind.group: functools.partial(_on, kind) for kind in (POSTGRES, MYSQL, ETCD, DYNAMODB)},
}


def hot_row(name: str, shop: Workshop) -> Iterator[Line]:
    """Threads of one process that read a row and write it back: one row, or one each in a scope of its own."""
    url, about = PLACES[name](shop)
    room = strongroom.open(url)
    shop.closing(room.close)
    room.prepare(SCHEMA)
    for number in range(THREADS):
        room.insert(JOBS, job(job_id(0)).replace(queue=f"queue-{number}"))

    def change(transaction: Transaction, queue: str) -> None:
        found = transaction.get(JOBS, queue, job_id(0))
        assert found is not None
        transaction.update(JOBS, found.replace(version=found.version + 1), expect=found.version)

    def work(queue_of: Callable[[int], str]) -> Work:
        def changes(caller: int, n: int) -> None:
            for _ in range(n):
                room.write(functools.partial(change, queue=queue_of(caller)))

        return changes

    crew = shop.crew(THREADS)
    one, each = crew.side(work(lambda _: "queue-0")), crew.side(work(lambda caller: f"queue-{caller}"))
    yield _line(shop, f"{name}: {THREADS} threads changing a row each, against one row", each, one, about)


def by_processes(work: str, threads: int, says: str, name: str, shop: Workshop) -> Iterator[Line]:
    """Processes that append or insert: all in one scope, or each in a scope of its own."""
    url, about = PLACES[name](shop)
    with strongroom.open(url) as room:
        room.prepare(SCHEMA)

    def side(scopes: Sequence[int]) -> Side:
        processes = Processes("bench.scale", [[work, url, f"scope-{scope}", str(threads)] for scope in scopes])
        shop.closing(processes.close)
        return Side(processes.run, jobs=PROCESSES * threads, least=4, elsewhere=True)

    yield _line(shop, f"{name}: {says}", side(range(PROCESSES)), side([0] * PROCESSES), about)


def _line(shop: Workshop, bench: str, many: Side, one: Side, about: str) -> Line:
    return shop.compare(GROUP, bench, many, one, _NO_GOAL, "base", base_is="one scope", server=about)


def _work(work: str, room: Engine, scope: str) -> Work:
    def append(_caller: int, n: int) -> None:
        for _ in range(n):
            LOG.append(room, scope, make=lambda position: entry(scope, position))

    def insert(_caller: int, n: int) -> None:
        for _ in range(n):
            room.insert(JOBS, job(secrets.token_hex(16)).replace(queue=scope))

    return append if work == "append" else insert


def main(work: str, url: str, scope: str, threads: str) -> None:
    """Be one of the processes."""
    with strongroom.open(url) as room:
        room.prepare(SCHEMA)
        crew = Crew(int(threads))
        serve(functools.partial(crew.run, _work(work, room, scope)))
        crew.close()


_ROWS: Final = "a hot row against a row for each caller"
_LOGS: Final = f"{PROCESSES} processes appending to a log each, against one log"
_WRITERS: Final = f"{PROCESSES} x {THREADS} callers inserting into {PROCESSES} scopes, against one scope"


def _cases(name: str) -> Iterator[Case]:
    for short, says, measure in (
        ("row", _ROWS, functools.partial(hot_row, name)),
        ("log", _LOGS, functools.partial(by_processes, "append", 1, _LOGS, name)),
        ("writers", _WRITERS, functools.partial(by_processes, "insert", THREADS, _WRITERS, name)),
    ):
        yield Case(GROUP, f"{GROUP} {name} {short}", measure, says)


CASES: Final = tuple(case for name in PLACES for case in _cases(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
