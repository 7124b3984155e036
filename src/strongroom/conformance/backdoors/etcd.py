"""Into a store in etcd, over the servers' gateway for HTTP and JSON: it shares no code with the engine."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from strongroom.conformance.backdoors.door import UnguardedBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.wires.etcd import Spoiler
from strongroom.errors import Unavailable
from strongroom.records import SEAL, AnyTable, Key, Stored, encode_key

_FENCE: Final = msgspec.msgpack.encode([False, 0])
"""What a rival leaves under the mark of a commit: that it can't be kept any more."""
_SECONDS: Final = 20.0
"""How long a server gets to answer."""
_FLUSHES: Final = re.compile(r"^etcd_disk_wal_fsync_duration_seconds_count (\S+)$", re.MULTILINE)


class EtcdBackDoor(UnguardedBackDoor):
    """Into all keys that begin with ``prefix:``, by way of the servers at `addresses`.

    `spoiler` is what the wires of the servers' proxies look at: etcd itself can't be told to fail one store's commits.
    """

    def __init__(
        self, addresses: Sequence[str], prefix: str, spoiler: Spoiler, *, user: str = "", password: str = ""
    ) -> None:
        self._addresses = addresses
        self._spoiler = spoiler
        self._first = f"{prefix}:".encode()
        self._end = f"{prefix};".encode()
        self._user, self._password = user, password
        self._token = ""

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        row = self._row(table, key)
        return None if row is None else dict(zip([*table.index, SEAL], row, strict=True))

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        row = self._row(table, key)
        if row is not None:
            row[table.index.get(column, len(table.columns))] = value
            self.put(self._place(table, key), msgspec.msgpack.encode(row))
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        self._call("kv/deleterange", key=self._place(table, key))

    def put(self, key: bytes, value: bytes) -> None:
        """Have a value stand under a key."""
        self._call("kv/put", key=key, value=value)

    def exists(self) -> bool:
        return "kvs" in self._call("kv/range", key=self._first, range_end=self._end, limit=1)

    def drop(self) -> None:
        self._call("kv/deleterange", key=self._first, range_end=self._end)

    def image(self) -> bytes:
        # With each key's revisions: one that is written again is another one.
        found = self._call("kv/range", key=self._first, range_end=self._end)
        return json.dumps(found.get("kvs", []), sort_keys=True).encode()

    def flushes(self) -> int:
        pages = [self._get(f"http://{address}/metrics").decode() for address in self._addresses]
        counts = [_FLUSHES.search(page) for page in pages]
        return sum(int(float(count[1])) for count in counts if count)

    @contextlib.contextmanager
    def failing(self, fault: Ability) -> Iterator[None]:
        self._spoiler.fault, self._spoiler.win = fault, self._win
        try:
            yield
        finally:
            self._spoiler.fault = None

    def _win(self, mark: bytes) -> None:
        self.put(self._first + b"_marks/" + mark, _FENCE)

    def close(self) -> None:
        """Nothing is to be done: each request has a connection of its own."""

    def _row(self, table: AnyTable, key: Key) -> list[Stored] | None:
        found = self._call("kv/range", key=self._place(table, key)).get("kvs")
        if not found:
            return None
        row: list[Stored] = msgspec.msgpack.decode(base64.b64decode(found[0].get("value", "")), type=list[Any])
        later = [column.stored_default() for column in table.columns[len(row) - 1 :]]
        return [*row[:-1], *later, row[-1]]

    def _place(self, table: AnyTable, key: Key) -> bytes:
        return self._first + table.name.encode() + b"/" + encode_key(table, key)

    def _call(self, path: str, **fields: bytes | int) -> dict[str, Any]:
        if self._user and not self._token:
            login = {"name": self._user, "password": self._password}
            self._token = str(self._post("auth/authenticate", login)["token"])
        body = {
            name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for name, value in fields.items()
        }
        return self._post(path, body)

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        fault: OSError | None = None
        for address in self._addresses:
            request = urllib.request.Request(f"http://{address}/v3/{path}", json.dumps(body).encode())
            if self._token:
                request.add_header("Authorization", self._token)
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                    found: dict[str, Any] = json.load(answer)
                    return found
            except OSError as error:
                fault = error
        raise Unavailable(f"no etcd server at {', '.join(self._addresses)} answers over HTTP") from fault

    def _get(self, url: str) -> bytes:
        try:
            with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
                page: bytes = answer.read()
                return page
        except OSError as fault:
            raise Unavailable(f"{url} does not answer") from fault
