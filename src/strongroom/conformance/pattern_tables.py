"""The tables that the cases of patterns work on, in a schema of their own: not every case is to pay for them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from strongroom.conformance.kit import Kit
from strongroom.engine import Engine
from strongroom.patterns import (
    EMPTY_DIGEST,
    Chain,
    Idempotency,
    JsonFormat,
    LeasedQueue,
    Leases,
    Link,
    Queue,
    digest,
)
from strongroom.records import MEMBERSHIP, VERSIONED, Blob, Identifier, Integer, Millis, Record, Schema, Table


class Line(Record):
    """A line of one of many chains."""

    stream: Annotated[str, Identifier(64)]
    sequence: Annotated[int, Integer(1)]
    line: Annotated[bytes, Blob(1024)]


class Topic(Record):
    """Where the one entry about a topic stands."""

    stream: Annotated[str, Identifier(64)]
    topic: Annotated[str, Identifier(64)]
    sequence: Annotated[int, Integer(1)]


class ChainEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a line says."""

    kind: Literal["note"]
    trail: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    sequence: int
    previous: Annotated[str, msgspec.Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]
    topic: str
    text: str


class Claimant(Record):
    """A lease."""

    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    holder: Annotated[str, Identifier(64)]
    token: Annotated[int, Integer(1)]
    expires_at: Annotated[int, Millis()]


class Job(Record):
    """What waits for a worker, its name ordered otherwise than its place."""

    tenant: Annotated[str, Identifier(64)]
    place: Annotated[int, Integer(1)]
    name: Annotated[str, Identifier(64)]


class Task(Record):
    """What waits for a worker, who may die."""

    tenant: Annotated[str, Identifier(64)]
    ready_at: Annotated[int, Millis()]
    name: Annotated[str, Identifier(64)]
    holder: Annotated[str, Identifier(64, empty=True)] = ""
    token: Annotated[int, Integer(0)] = 0


class Request(Record):
    """A request that was carried out."""

    tenant: Annotated[str, Identifier(64)]
    key: Annotated[str, Identifier(64)]
    digest: Annotated[str, Identifier(71)]
    number: Annotated[int, Integer(0)]


class Effect(Record):
    """What somebody did."""

    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]


LINES = Table("chain_lines", Line, key=("stream", "sequence"), scope=1)
TOPICS = Table("chain_topics", Topic, key=("stream", "topic"), scope=1)
CLAIMANTS = Table("claimants", Claimant, key=("tenant", "name"), scope=1, changes=VERSIONED("token"))
JOBS = Table("jobs", Job, key=("tenant", "place"), scope=1, changes=MEMBERSHIP)
TASKS = Table("tasks", Task, key=("tenant", "ready_at", "name"), scope=1, changes=MEMBERSHIP)
REQUESTS = Table("requests", Request, key=("tenant", "key"), scope=1)
EFFECTS = Table("effects", Effect, key=("tenant", "name"), scope=1)

CHAINED = Schema("conformance_chains", LINES, TOPICS)
CLAIMED = Schema("conformance_claims", CLAIMANTS, JOBS, TASKS, REQUESTS, EFFECTS)

FORMAT = JsonFormat(ChainEntry, topic="topic")
CHAIN = Chain(LINES, FORMAT)
TOPICAL = Chain(LINES, FORMAT, topics=TOPICS)
LEASES = Leases(CLAIMANTS)
QUEUE = Queue(JOBS)
LEASED = LeasedQueue(TASKS)
ONCE = Idempotency(REQUESTS)


def prepared(kit: Kit, schema: Schema) -> Engine:
    """The engine under test, prepared for a schema of patterns too."""
    kit.engine.prepare(schema)
    return kit.engine


def another(kit: Kit, schema: Schema) -> Engine:
    """A second engine object on the store, where the engine claims that, prepared for a schema of patterns too."""
    engine = kit.another()
    engine.prepare(schema)
    return engine


def entry(link: Link, topic: str, text: str = "") -> ChainEntry:
    """The entry of a link."""
    return ChainEntry("note", link.trail, link.sequence, link.previous, topic, text)


def sound_lines(count: int, text: str = "") -> list[bytes]:
    """The lines of a chain in which nothing is wrong; their trail is all zeros, each topic the place."""
    lines: list[bytes] = []
    for place in range(1, count + 1):
        previous = digest(lines[-1]) if lines else EMPTY_DIGEST
        lines.append(FORMAT.render(entry(Link("0" * 32, place, previous), str(place), text)))
    return lines
