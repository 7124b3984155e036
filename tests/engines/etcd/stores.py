"""The tables, stores and helpers of the etcd engine's tests."""

from __future__ import annotations

from typing import Annotated

import strongroom
from strongroom.engine import Transaction
from strongroom.engines.etcd import EtcdEngine
from strongroom.engines.etcd.messages import CompactionRequest, CompactionResponse
from strongroom.engines.etcd.view import View
from strongroom.patterns import Log
from strongroom.records import MEMBERSHIP, Blob, Identifier, Record, Schema, Table


class Item(Record):
    name: Annotated[str, Identifier(255)]
    body: Annotated[bytes, Blob(2_000_000)] = b""


class Line(Record):
    stream: Annotated[str, Identifier(100)]
    position: int


ITEMS = Table("items", Item, key=("name",), changes=MEMBERSHIP)
LINES = Log(Table("lines", Line, key=("stream", "position")))
SCHEMA = Schema("things", ITEMS, LINES.table)


def opened(url: str) -> EtcdEngine:
    engine = strongroom.open(url)
    assert isinstance(engine, EtcdEngine)
    return engine


def keys(room: EtcdEngine, area: str = "") -> list[bytes]:
    """The keys of the store that begin with this, as they stand in etcd."""
    first = room._layout.root + area.encode()
    pairs = View(room._members).walk((first, first + b"\xff"), 100_000, keys_only=True).pairs
    return [pair.key.removeprefix(first) for pair in pairs]


def compact(room: EtcdEngine) -> None:
    """Forget every revision but the newest, as an operator does now and then."""
    request = CompactionRequest(revision=room._members.status().header.revision, physical=True)
    room._members._ask("/etcdserverpb.KV/Compact", request, CompactionResponse, room._members.deadline())


def names(count: int, first: int = 0) -> list[str]:
    return [f"{number:06}" for number in range(first, first + count)]


def insert_all(items: list[str], transaction: Transaction) -> None:
    for name in items:
        transaction.insert(ITEMS, Item(name))
