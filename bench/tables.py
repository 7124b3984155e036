"""The tables that the benchmarks keep: a job of seven columns and about 200 bytes, and what points to it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Final, TypeVar

from strongroom.engine import Engine, Transaction
from strongroom.patterns import Log
from strongroom.records import (
    MEMBERSHIP,
    REPLACEABLE,
    VERSIONED,
    Identifier,
    Integer,
    Millis,
    Record,
    Schema,
    Table,
    Text,
)

R = TypeVar("R", bound=Record)


class State(enum.StrEnum):
    """How far a job is."""

    READY = "ready"
    CLAIMED = "claimed"
    DONE = "done"


class Job(Record):
    """Something to be done once."""

    queue: Annotated[str, Identifier(255)]
    id: Annotated[str, Identifier(255)]
    version: Annotated[int, Integer(1)]
    state: State
    owner: Annotated[str, Identifier(255, empty=True)]
    created_at: Annotated[int, Millis()]
    payload: Annotated[str, Text(4096)]


class Ready(Record):
    """A job that waits, in the order in which it is to be claimed."""

    queue: Annotated[str, Identifier(255)]
    id: Annotated[str, Identifier(255)]


class Item(Record):
    """A value under a name."""

    name: Annotated[str, Identifier(255)]
    value: Annotated[str, Text(4096)]


class Entry(Record):
    """Something that happened."""

    stream: Annotated[str, Identifier(255)]
    position: Annotated[int, Integer(1)]
    subject: Annotated[str, Identifier(255)]
    kind: Annotated[str, Identifier(255)]
    at: Annotated[int, Millis()]
    payload: Annotated[str, Text(4096)]


JOBS: Final = Table("jobs", Job, key=("queue", "id"), changes=VERSIONED("version"))
READY: Final = Table("ready", Ready, key=("queue", "id"), changes=MEMBERSHIP)
ITEMS: Final = Table("items", Item, key=("name",), changes=REPLACEABLE)
ENTRIES: Final = Table("entries", Entry, key=("stream", "position"))
SCHEMA: Final = Schema("bench", JOBS, READY, ITEMS, ENTRIES)

LOG: Final = Log(ENTRIES)

QUEUE: Final = "trunk"
PAYLOAD: Final = ("cargo build --release --locked; " * 4)[:110]
CREATED_AT: Final = 1_790_000_000_000


def insert_all(room: Engine, table: Table[R], records: Sequence[R]) -> None:
    """Insert many records in one transaction."""

    def change(transaction: Transaction) -> None:
        for record in records:
            transaction.insert(table, record)

    room.write(change)


def job(id: str) -> Job:
    """A new job; its row, with the seal, has about 200 bytes."""
    return Job(QUEUE, id, 1, State.READY, "runner-17.eu-north", CREATED_AT, PAYLOAD)


def job_id(number: int) -> str:
    """The id of job number `number`; ids are in the order of their numbers."""
    return f"job-{number:012d}"


def entry(stream: str, position: int) -> Entry:
    """The entry for a position."""
    return Entry(stream, position, "trunk/request-4711", "accepted", CREATED_AT, PAYLOAD)
