"""etcd, and bare calls of its gRPC API as the raw driver: one channel, one call at a time.

A raw value is MessagePack, as Strongroom's is. Its write transaction is etcd's own: a read, and a `Txn` that compares
the revision of the key.
"""

from __future__ import annotations

import itertools
import json
import secrets
import urllib.request
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import grpc
import msgspec

from bench.measure import at_least, at_most
from bench.remote.raw import ENTRY, JOB, Admin, Kind, Raw, started
from bench.tables import JOBS, QUEUE
from servers.etcd import Etcd
from servers.server import Server
from strongroom.engine import Engine
from strongroom.engines.etcd.guards import absent, unchanged
from strongroom.engines.etcd.layout import Layout
from strongroom.engines.etcd.messages import (
    KeyValue,
    PutRequest,
    RangeRequest,
    RangeResponse,
    RequestOp,
    TxnRequest,
    TxnResponse,
)

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[Any, ...]).decode

_FLUSHES: Final = "etcd_disk_wal_fsync_duration_seconds_count"
"""What etcd counts its flushes under."""


class RawEtcd(Raw):
    """One channel to a node, with the stubs that a generated client would have."""

    def __init__(self, address: str, prefix: str) -> None:
        self._channel = grpc.insecure_channel(urlsplit(address).netloc)
        self._range = self._stub("Range", RangeResponse)
        self._txn = self._stub("Txn", TxnResponse)
        self._layout = Layout(prefix)
        self._jobs = self._layout.rows(JOBS)
        self._plain = self._layout.root + b"plain/" + secrets.token_hex(8).encode()
        self._numbers = itertools.count()

    def read(self, id: str) -> Any:
        pair = self._look(self._key(id))
        return None if pair is None else _decode(pair.value)

    def page(self, after: str, limit: int) -> Any:
        answer = self._range(RangeRequest(key=self._key(after) + b"\0", range_end=self._jobs[1], limit=limit))
        return [_decode(pair.value) for pair in answer.kvs]

    def insert(self, id: str) -> None:
        key = self._key(id)
        put = RequestOp(request_put=PutRequest(key=key, value=_encode((QUEUE, id, *JOB[2:]))))
        assert self._txn(TxnRequest(compare=[absent(key)], success=[put])).succeeded

    def change(self, id: str) -> None:
        key = self._key(id)
        pair = self._look(key)
        assert pair is not None
        row = _decode(pair.value)
        put = RequestOp(request_put=PutRequest(key=key, value=_encode((*row[:2], row[2] + 1, *row[3:]))))
        assert self._txn(TxnRequest(compare=[unchanged(key, pair.mod_revision)], success=[put])).succeeded

    def append(self) -> None:
        key = self._plain + b"%016x" % next(self._numbers)
        put = RequestOp(request_put=PutRequest(key=key, value=_encode(ENTRY)))
        assert self._txn(TxnRequest(compare=[absent(key)], success=[put])).succeeded

    def close(self) -> None:
        self._channel.close()

    def _key(self, id: str) -> bytes:
        return self._layout.key(JOBS, (QUEUE, id))

    def _look(self, key: bytes) -> KeyValue | None:
        pairs = self._range(RangeRequest(key=key)).kvs
        return pairs[0] if pairs else None

    def _stub(self, name: str, answer: Any) -> Callable[..., Any]:
        return self._channel.unary_unary(
            f"/etcdserverpb.KV/{name}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=answer.FromString,
        )


class EtcdAdmin(Admin):
    """A channel beside the measurements."""

    def __init__(self, address: str) -> None:
        self._place = urlsplit(address).netloc
        self._raw = RawEtcd(address, "admin")

    def flush(self, ask: Callable[[str], Any]) -> str:
        before = int(ask(_FLUSHES))
        self._raw.append()
        if int(ask(_FLUSHES)) == before:
            raise AssertionError("every commit was to be flushed, and one was not")
        return "fsync of its log for every commit"

    def database(self, name: str) -> None:
        """Prefixes need not be made."""

    def tidy(self, store: str) -> None:
        """There is nothing to look at."""

    def plain_log(self, store: str) -> None:
        """Keys need no table."""

    def about(self) -> str:
        version = json.loads(self._page("/version"))["etcdserver"]
        return f"etcd {version}, one node: {self.flush(self._metric)}"

    def close(self) -> None:
        self._raw.close()

    def _metric(self, name: str) -> str:
        return next(line.split()[1] for line in self._page("/metrics").splitlines() if line.startswith(f"{name} "))

    def _page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{self._place}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
        return text


class EtcdKind(Kind):
    """etcd: a store is a prefix."""

    group = "etcd"
    batch = 500
    read_goal = at_most(1.3)
    transaction_goal = at_most(1.4)
    writers_goal = at_least(2)

    def start(self) -> Server:
        return started(Etcd)

    def store_url(self, address: str, store: str) -> str:
        return f"etcd://{urlsplit(address).netloc}/{store}"

    def connect(self, address: str, store: str) -> Raw:
        return RawEtcd(address, store)

    def administer(self, address: str) -> Admin:
        return EtcdAdmin(address)

    def connections(self, room: Engine) -> int:
        return 1  # a channel, which its writes take one at a time


ETCD: Final = EtcdKind()
