"""DynamoDB's protocol, JSON over HTTP/1.1, as far as a proxy must follow it: one request at a time on a connection.

What fails at other servers when they are told to, the proxy answers here in the service's place and words: a service
fails no commit because a client wishes it.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from strongroom.conformance.harness import Ability
from strongroom.conformance.wires.wire import Sent, Wire

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_CONTINUE: Final = re.compile(rb"HTTP/1\.1 1\d\d[^\r]*\r\n.*?\r\n\r\n", re.DOTALL)
_TARGET: Final = re.compile(rb"\r\nx-amz-target: *DynamoDB_20120810\.(\w+)", re.IGNORECASE)
_OK: Final = b"HTTP/1.1 200"
_WRITES: Final = frozenset({"TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"})
_COMMIT: Final = "TransactWriteItems"

_TYPES: Final = "com.amazonaws.dynamodb.v20120810#"


@dataclass(slots=True)
class Traffic:
    """What befalls every commit at present, if anything does; and how many writes the service has acknowledged."""

    fault: Ability | None = None
    acknowledged: int = 0
    """The service keeps a write on several disks before it acknowledges it: each is as good as a flush."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class DynamoWire(Wire):
    """One connection of HTTP/1.1."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self._traffic = traffic
        self._asked = ""
        """What the request asks for whose answer is waited for."""

    def sent(self, data: bytes) -> Iterator[Sent]:
        self._from_client += data
        while (length := _message_length(self._from_client)) is not None:
            message = self._take(length)
            target = _TARGET.search(message)
            self._asked = target[1].decode() if target else ""
            if self._asked != _COMMIT or self._traffic.fault is None:
                yield Sent(message, commits=self._asked == _COMMIT)
            else:
                yield Sent(b"", reply=_refusal(self._traffic.fault, message))

    def answered(self, data: bytes) -> bool:
        self._from_server = _CONTINUE.sub(b"", self._from_server + data, count=1)
        length = _message_length(self._from_server)
        if length is None:
            return False
        if self._from_server.startswith(_OK) and self._asked in _WRITES:
            with self._traffic.lock:
                self._traffic.acknowledged += 1
        self._from_server = self._from_server[length:]
        return True


def _message_length(data: bytes) -> int | None:
    """How long the first whole message is; None where it has not come to its end."""
    head = data.find(b"\r\n\r\n") + 4
    if head < 4:
        return None
    if _CHUNKED.search(data, 0, head):
        end = data.find(b"\r\n0\r\n\r\n", head - 2)
        return None if end < 0 else end + 7
    length = _LENGTH.search(data, 0, head)
    whole = head + (int(length[1]) if length else 0)
    return whole if len(data) >= whole else None


def _refusal(fault: Ability, request: bytes) -> bytes:
    """The service's answer to a commit that meets the fault."""
    body: dict[str, Any]
    match fault:
        case Ability.CONFLICTS:
            items = json.loads(request.partition(b"\r\n\r\n")[2])["TransactItems"]
            reasons = [{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}]
            body = {
                "__type": f"{_TYPES}TransactionCanceledException",
                "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
                "CancellationReasons": reasons + [{"Code": "None"} for _ in items[1:]],
            }
        case Ability.DISK_FULL:
            body = {"__type": f"{_TYPES}ItemCollectionSizeLimitExceededException", "message": "Collection too large"}
        case _:
            body = {"__type": f"{_TYPES}LimitExceededException", "message": "Too many operations at once"}
    encoded = json.dumps(body).encode()
    head = [
        "HTTP/1.1 400 Bad Request",
        "Content-Type: application/x-amz-json-1.0",
        f"x-amz-crc32: {zlib.crc32(encoded)}",
        f"Content-Length: {len(encoded)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + encoded
