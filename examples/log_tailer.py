"""Many threads append to one log while a reader follows it by cursor, stops, and goes on: nothing is missed.

Positions are dense and in commit order, so whoever has read position n knows that 1 to n are all there is before it.

    python examples/log_tailer.py [URL of a store]
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Annotated

import strongroom
from strongroom.patterns import Log
from strongroom.records import Identifier, Integer, Record, Schema, Table

WRITERS, EACH = 8, 25


class Event(Record):
    stream: Annotated[str, Identifier(64)]
    position: Annotated[int, Integer(1)]
    writer: int
    number: int


EVENTS = Table("events", Event, key=("stream", "position"), scope=1)
LOG = Log(EVENTS)


def write(room: strongroom.Engine, writer: int) -> None:
    for number in range(EACH):
        # `make` builds the entry for the position that it gets; more than once, where rivals took the first.
        LOG.append(room, "builds", make=partial(Event, "builds", writer=writer, number=number))


def main(url: str) -> None:
    with strongroom.open(url) as room:
        room.prepare(Schema("events", EVENTS))
        writers = [threading.Thread(target=write, args=(room, writer)) for writer in range(WRITERS)]
        for writer in writers:
            writer.start()
        seen: list[Event] = []
        cursor: str | None = None  # a text to keep anywhere; a reader that starts again begins with the last one
        while len(seen) < WRITERS * EACH:
            page = LOG.page(room, "builds", cursor=cursor, limit=20)
            seen += page.entries
            cursor = page.cursor
        for writer in writers:
            writer.join()
        assert [event.position for event in seen] == list(range(1, WRITERS * EACH + 1))
        for one in range(WRITERS):
            assert [event.number for event in seen if event.writer == one] == list(range(EACH))
        print(f"{len(seen)} entries of {WRITERS} writers, each seen once and in its order")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory://")
