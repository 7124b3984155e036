"""langgraph's PostgresSaver: the checkpoints of graphs that run for long, kept after every step.

Its ``put`` of a checkpoint is our ``put`` of a record under the same key (thread, namespace, id), both one durable
commit; its ``get_tuple`` of a thread is our page of one record, backwards. Both sides get the same checkpoint, a step
of four channels, and encode and decode it: the saver into a row of JSON and one of a channel that is no plain value,
ours into a row whose limits are checked, and which is sealed. A saver lets one caller in at a time; so each thread has
a saver of its own, with a connection of its own, set up as its documentation says.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Annotated, Any, Final

from bench.measure import Line
from bench.peers.common import THREADS, Case, Workshop, against, peer
from bench.peers.places import SERVER
from bench.tables import PAYLOAD
from strongroom.engine import Engine
from strongroom.records import REPLACEABLE, Identifier, Record, Schema, Table, Text

_THREADS_OF_EACH: Final = 16
"""How many graphs' threads each caller writes and reads in turn."""


class Checkpoint(Record):
    """What a graph was like after a step."""

    thread: Annotated[str, Identifier(255)]
    namespace: Annotated[str, Identifier(255, empty=True)]
    id: Annotated[str, Identifier(255)]
    parent: Annotated[str, Identifier(255, empty=True)]
    checkpoint: Annotated[str, Text(1 << 20)]
    metadata: Annotated[str, Text(1 << 16)]


CHECKPOINTS: Final = Table("checkpoints", Checkpoint, key=("thread", "namespace", "id"), changes=REPLACEABLE)
SCHEMA: Final = Schema("checkpoints", CHECKPOINTS)


def _checkpoint(step: int) -> dict[str, Any]:
    """A graph's state after a step, in the form that the saver takes."""
    versions = {"messages": f"{step:032}.1", "owner": f"{step:032}.2", "step": f"{step:032}.3", "done": f"{step:032}.4"}
    return {
        "v": 4,
        "id": f"{step:032x}",
        "ts": "2026-11-29T21:00:00+00:00",
        "channel_values": {"messages": [PAYLOAD, PAYLOAD], "owner": "runner-17", "step": step, "done": False},
        "channel_versions": versions,
        "versions_seen": {"__input__": {}, "build": {"messages": versions["messages"]}},
        "updated_channels": None,
    }


_METADATA: Final = {"source": "loop", "step": 1, "parents": {}}


class _Pair:
    """A room and savers, into which the same checkpoints go."""

    def __init__(self, shop: Workshop) -> None:
        saver, rows, psycopg = peer("langgraph.checkpoint.postgres"), peer("psycopg.rows"), peer("psycopg")
        self.room: Engine = SERVER.room(shop)
        self.room.prepare(SCHEMA)
        address = SERVER.new(shop, "langgraph")
        self.savers = []
        for _ in range(THREADS):
            connection = psycopg.connect(address, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row)
            shop.closing(connection.close)
            self.savers.append(saver.PostgresSaver(connection))
        self.savers[0].setup()
        connection = self.savers[0].conn

        def read(sql: str) -> Any:
            return next(iter(connection.execute(sql).fetchone().values()))

        self.flush = SERVER.check_flush(shop, "langgraph-checkpoint-postgres", read)
        self._steps, self._their_steps = itertools.count(1), itertools.count(1)

    def put_ours(self, caller: int, n: int) -> None:
        for step in itertools.islice(self._steps, n):
            new = _checkpoint(step)
            text, metadata = json.dumps(new), json.dumps(_METADATA)
            self.room.put(CHECKPOINTS, Checkpoint(_thread(caller, step), "", new["id"], "", text, metadata))

    def put_theirs(self, caller: int, n: int) -> None:
        for step in itertools.islice(self._their_steps, n):
            new = _checkpoint(step)
            config = {"configurable": {"thread_id": _thread(caller, step), "checkpoint_ns": ""}}
            self.savers[caller].put(config, new, _METADATA, new["channel_versions"])

    def get_ours(self, caller: int, n: int) -> None:
        for i in range(n):
            (found,) = self.room.scan(CHECKPOINTS, _thread(caller, i), "", limit=1, reverse=True)
            assert json.loads(found.checkpoint)["channel_values"]["messages"] == [PAYLOAD, PAYLOAD]
            assert json.loads(found.metadata) == _METADATA

    def get_theirs(self, caller: int, n: int) -> None:
        for i in range(n):
            found = self.savers[caller].get_tuple({"configurable": {"thread_id": _thread(caller, i)}})
            assert found.checkpoint["channel_values"]["messages"] == [PAYLOAD, PAYLOAD]
            assert found.metadata == _METADATA


def _thread(caller: int, step: int) -> str:
    return f"graph-{caller}-{step % _THREADS_OF_EACH}"


def put(shop: Workshop) -> Iterator[Line]:
    pair = _Pair(shop)
    yield from _against(shop, pair, "put", pair.put_ours, pair.put_theirs)


def get(shop: Workshop) -> Iterator[Line]:
    pair = _Pair(shop)
    for caller in range(THREADS):
        pair.put_ours(caller, 8 * _THREADS_OF_EACH)
        pair.put_theirs(caller, 8 * _THREADS_OF_EACH)
    yield from _against(shop, pair, "get", pair.get_ours, pair.get_theirs)


def _against(shop: Workshop, pair: _Pair, verb: str, ours: Any, theirs: Any) -> Iterator[Line]:
    name, bench = "langgraph-checkpoint-postgres", f"langgraph {verb} a checkpoint"
    yield from against(shop, name, bench, ours, theirs, pair.flush, place=SERVER)


CASES: Final = (
    Case(SERVER.group, f"langgraph put{SERVER.suffix.lower()}", put, "keep a graph's checkpoint"),
    Case(SERVER.group, f"langgraph get{SERVER.suffix.lower()}", get, "get a graph's last checkpoint"),
)
