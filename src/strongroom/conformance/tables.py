"""The tables that the cases work on: every kind of column, key and change that a table can have.

`SCHEMA` holds them all. `GROWING` is a schema of its own in three versions, as one domain's code would know it over
time: what the later ones add are columns of tables that exist, and a table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from strongroom.patterns import Log
from strongroom.records import (
    MEMBERSHIP,
    REPLACEABLE,
    VERSIONED,
    Blob,
    Document,
    Identifier,
    Integer,
    Json,
    Millis,
    Real,
    Record,
    Schema,
    Since,
    Table,
    Text,
    desc,
)


class Thing(Record):
    """What compare-and-set is tried on."""

    name: Annotated[str, Identifier(255)]
    version: Annotated[int, Integer(0)] = 1
    text: Annotated[str, Text(1000)] = ""
    note: Annotated[str, Text(1000)] | None = None


class Pair(Record):
    """A key of two texts, either of which may be empty."""

    first: Annotated[str, Identifier(64, empty=True)]
    second: Annotated[str, Identifier(64, empty=True)]
    number: int = 0


class State(StrEnum):
    """Texts that differ in letter case and length only, and an empty one."""

    UNSET = ""
    OPEN = "open"
    SHUT = "OPEN"
    OPENED = "opened"


class Sample(Record):
    """One column of every kind."""

    name: Annotated[str, Identifier(64)]
    whole: int = 0
    small: Annotated[int, Integer(-10, 10)] = 0
    real: float = 0.0
    flag: bool = False
    state: State = State.UNSET
    text: Annotated[str, Text(65_535)] = ""
    word: Annotated[str, Identifier(12)] = "word"
    blob: Annotated[bytes, Blob(65_535)] = b""
    json: Annotated[str, Json(65_535)] = "null"
    document: Annotated[dict[str, int | str | None], Document(10_000)] = msgspec.field(default_factory=dict)
    secret: Annotated[str, Text(100, sensitive=True)] = ""
    maybe_whole: int | None = None
    maybe_real: float | None = None
    maybe_flag: bool | None = None
    maybe_text: Annotated[str, Text(100)] | None = None
    maybe_blob: Annotated[bytes, Blob(100)] | None = None
    maybe_document: Annotated[dict[str, str], Document(1000)] | None = None


class Reading(Record):
    """A key of four columns, of three kinds and both directions; `weight` orders quite otherwise than the key."""

    station: Annotated[str, Identifier(32)]
    degree: Annotated[float, Real()]
    name: Annotated[str, Identifier(32, empty=True)]
    number: int
    weight: int = 0


class Wide(Record):
    """A key of 2,586 bytes, the widest that every engine must keep."""

    build: Annotated[str, Identifier(1024)]
    unit: Annotated[str, Identifier(1024, empty=True)]
    queue: Annotated[str, Identifier(255)]
    task: Annotated[str, Identifier(255)]
    kind: Annotated[str, Identifier(28)]
    number: int = 0


class Span(Record):
    """Two numbers under a rule: the first is not greater than the last."""

    name: Annotated[str, Identifier(32)]
    first: Annotated[int, Integer(0, 1000)]
    last: Annotated[int, Integer(0, 1000)]
    state: State = State.OPEN


class LooseSpan(Record):
    """A `Span` as code without its limits and its rule would write it."""

    name: Annotated[str, Identifier(32)]
    first: int
    last: int
    state: Annotated[str, Text(100)] = "open"


class Mark(Record):
    """What never changes."""

    name: Annotated[str, Identifier(64)]
    value: Annotated[str, Text(1000)] = ""
    secret: Annotated[str, Text(100, sensitive=True)] = ""


class Member(Record):
    """A tenant's member, who comes and goes."""

    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    note: Annotated[str, Text(1000)] = ""


class Account(Record):
    """A tenant's account."""

    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    version: Annotated[int, Integer(0)] = 1
    balance: int = 0


class Event(Record):
    """What happened at a tenant's; the latest is first."""

    tenant: Annotated[str, Identifier(64)]
    at: Annotated[int, Millis()]
    name: Annotated[str, Identifier(64, empty=True)]
    number: int = 0


class Entry(Record):
    """An entry of one of many logs."""

    stream: Annotated[str, Identifier(64)]
    position: Annotated[int, Integer(1)]
    text: Annotated[str, Text(1000)] = ""


def _backwards(span: Span) -> str | None:
    return "first is greater than last" if span.first > span.last else None


THINGS = Table("things", Thing, key=("name",), changes=VERSIONED("version"))
PAIRS = Table("pairs", Pair, key=("first", "second"), changes=REPLACEABLE)
SAMPLES = Table("samples", Sample, key=("name",), changes=REPLACEABLE)
READINGS = Table("readings", Reading, key=("station", desc("degree"), "name", desc("number")), changes=MEMBERSHIP)
WIDES = Table("wides", Wide, key=("build", "unit", "queue", "task", "kind"), changes=REPLACEABLE)
SPANS = Table("spans", Span, key=("name",), changes=REPLACEABLE, rule=_backwards)
LOOSE_SPANS = Table("spans", LooseSpan, key=("name",), changes=REPLACEABLE)
MARKS = Table("marks", Mark, key=("name",))
STAMPS = Table("stamps", Mark, key=("name",))
MEMBERS = Table("members", Member, key=("tenant", "name"), scope=1, changes=MEMBERSHIP)
ACCOUNTS = Table("accounts", Account, key=("tenant", "name"), scope=1, changes=VERSIONED("version"))
EVENTS = Table("events", Event, key=("tenant", desc("at"), "name"), scope=1, changes=REPLACEABLE)
ENTRIES = Table("entries", Entry, key=("stream", "position"), scope=1)
NOWHERE = Table("nowhere", Mark, key=("name",))
"""A table that no schema has."""

LOG = Log(ENTRIES)

SCHEMA = Schema(
    "conformance", THINGS, PAIRS, SAMPLES, READINGS, WIDES, SPANS, MARKS, STAMPS, MEMBERS, ACCOUNTS, EVENTS, ENTRIES
)


class GaugeOfOne(Record):
    """A gauge as version 1 knows it."""

    name: Annotated[str, Identifier(64)]
    value: Annotated[int, Integer(0)]


class TraceOfOne(Record):
    """A trace, which never changes, as version 1 knows it."""

    name: Annotated[str, Identifier(64)]


class Gauge(GaugeOfOne):
    """A gauge as versions 2 and 3 know it."""

    unit: Annotated[str, Text(20), Since(2)] = "none"
    level: Annotated[int | None, Since(2)] = None


class Trace(TraceOfOne):
    """A trace as versions 2 and 3 know it."""

    origin: Annotated[str, Text(20), Since(2)] = "before"


class Alarm(Record):
    """What version 3 adds a table for."""

    name: Annotated[str, Identifier(64)]


GAUGES_OF_ONE = Table("gauges", GaugeOfOne, key=("name",), changes=VERSIONED("value"))
TRACES_OF_ONE = Table("traces", TraceOfOne, key=("name",))
GAUGES = Table("gauges", Gauge, key=("name",), changes=VERSIONED("value"))
TRACES = Table("traces", Trace, key=("name",))
ALARMS = Table("alarms", Alarm, key=("name",), since=3)

GROWING = (
    Schema("growing", GAUGES_OF_ONE, TRACES_OF_ONE),
    Schema("growing", GAUGES, TRACES),
    Schema("growing", GAUGES, TRACES, ALARMS),
)
"""Versions 1, 2 and 3 of one schema."""
