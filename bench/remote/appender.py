"""A process that appends to one log: ``python -m bench.remote.appender GROUP ours|raw ADDRESS STORE``."""

from __future__ import annotations

import sys

import strongroom
from bench.processes import serve
from bench.remote import KINDS
from bench.tables import LOG, QUEUE, SCHEMA, entry


def main(group: str, side: str, address: str, store: str) -> None:
    kind = KINDS[group]
    if side == "raw":
        raw = kind.connect(address, store)

        def work(n: int) -> None:
            for _ in range(n):
                raw.append()

        serve(work)
        raw.close()
        return
    with strongroom.open(kind.store_url(address, store)) as room:
        room.prepare(SCHEMA)

        def work_ours(n: int) -> None:
            for _ in range(n):
                LOG.append(room, QUEUE, make=lambda position: entry(QUEUE, position))

        serve(work_ours)


if __name__ == "__main__":
    main(*sys.argv[1:])
