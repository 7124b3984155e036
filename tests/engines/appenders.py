"""A process that appends to the log at a URL: ``python -m tests.engines.appenders URL NAME THREADS EACH``.

Prints, for each of its lines, the line's text and the position that it was told.
"""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated

import strongroom
from strongroom.engine import Engine, Transaction, retry
from strongroom.errors import Conflict
from strongroom.patterns import Log
from strongroom.records import Identifier, Integer, Record, Schema, Table


class Line(Record):
    stream: Annotated[str, Identifier(16)]
    position: Annotated[int, Integer(1)]
    text: Annotated[str, Identifier(32)]


LINES = Table("lines", Line, key=("stream", "position"), scope=1)
LOG = Log(LINES)
SCHEMA = Schema("lines", LINES)
STREAM = "all"


def append(engine: Engine, name: str, each: int) -> list[tuple[str, int]]:
    """Append so many lines, some of them slowly; each one's text, and the position that it was told."""
    mixed = random.Random(name)
    told: list[tuple[str, int]] = []
    for number in range(each):
        text = f"{name}.{number}"
        pause = mixed.random() * 0.004 if mixed.random() < 0.01 else 0.0

        def change(transaction: Transaction, text: str = text, pause: float = pause) -> int:
            line = LOG.append_in(transaction, STREAM, make=lambda position: Line(STREAM, position, text))
            if pause:
                time.sleep(pause)  # its position is taken, and not yet to be seen by anyone
            return line.position

        told.append((text, retry(partial(engine.write, change), on=Conflict)))
    return told


def main(url: str, name: str, threads: str, each: str) -> None:
    """Append from so many threads that share one engine."""
    with strongroom.open(url) as engine, ThreadPoolExecutor(int(threads)) as pool:
        engine.prepare(SCHEMA)
        for told in pool.map(lambda thread: append(engine, f"{name}.{thread}", int(each)), range(int(threads))):
            for text, position in told:
                print(text, position)


if __name__ == "__main__":
    main(*sys.argv[1:])
