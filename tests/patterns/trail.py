"""A chain for the tests of patterns: the lines of runs, each run once, and the same without topics."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from strongroom.patterns import Chain, JsonFormat, Link
from strongroom.records import Blob, Identifier, Integer, Record, Schema, Table


class Line(Record):
    workspace: Annotated[str, Identifier(64)]
    sequence: Annotated[int, Integer(1)]
    line: Annotated[bytes, Blob(1024)]


class Run(Record):
    workspace: Annotated[str, Identifier(64)]
    run: Annotated[str, Identifier(64)]
    sequence: Annotated[int, Integer(1)]


Hex = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    entry_version: Literal["1"]
    trail: Hex
    sequence: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 2)]
    previous: Digest
    run: str
    note: str = msgspec.field(name="note")


LINES = Table("chain_lines", Line, key=("workspace", "sequence"), scope=1)
RUNS = Table("chain_runs", Run, key=("workspace", "run"), scope=1)
TRAIL = Schema("trail", LINES, RUNS)
FORMAT = JsonFormat(Entry, topic="run")
CHAIN = Chain(LINES, FORMAT, topics=RUNS)
PLAIN = Chain(LINES, FORMAT)
"""The same lines, and nobody who sees to it that a run has one only: single-record transactions are enough."""


def entry(link: Link, run: str, note: str = "") -> Entry:
    return Entry("1", link.trail, link.sequence, link.previous, run, note)
