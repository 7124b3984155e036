"""etcd's protocol, gRPC over HTTP/2, as far as a proxy must follow it: it is looked through for commits by their marks.

What fails at a server of PostgreSQL or MySQL when it is told to, the proxy answers here in the server's place and
words: there is no way to have etcd refuse one store's commits only. A rival that wins is a real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from strongroom.conformance.harness import Ability
from strongroom.conformance.wires.wire import Sent, Wire

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client of HTTP/2 begins with; frames follow."""
_HEAD: Final = 9
_DATA, _HEADERS, _RESET = 0x0, 0x1, 0x3
_END_STREAM, _END_HEADERS = 0x1, 0x4

_COMMITS: Final = re.compile(rb":_marks/([0-9a-f]{24})\x12.\x92\xc3", re.DOTALL)
"""How a commit writes its mark: the end of the key, and a value that begins with true. A fence's begins with false."""

REFUSALS: Final = {
    Ability.FAILED_COMMIT: (8, "etcdserver: mvcc: database space exceeded"),
    Ability.DISK_FULL: (8, "etcdserver: mvcc: database space exceeded"),
}
"""The status and the message with which etcd refuses a commit."""


@dataclass(slots=True)
class Spoiler:
    """What befalls every commit at present, if anything does."""

    fault: Ability | None = None
    win: Callable[[bytes], None] = lambda _mark: None
    """Has a rival be first under the mark of a commit, whose name is given."""


class EtcdWire(Wire):
    """One connection of HTTP/2, in frames."""

    def __init__(self, spoiler: Spoiler) -> None:
        super().__init__()
        self._spoiler = spoiler
        self._began = False
        self._due: bytes | None = None
        """The stream on which a commit was sent whose answer is waited for."""

    def sent(self, data: bytes) -> Iterator[Sent]:
        self._from_client += data
        if not self._began:
            if len(self._from_client) < len(_PREFACE):
                return
            self._began = True
            yield Sent(self._take(len(_PREFACE)))
        while len(self._from_client) >= _HEAD:
            length = _HEAD + int.from_bytes(self._from_client[:3])
            if len(self._from_client) < length:
                return
            yield from self._follow(self._take(length))

    def answered(self, data: bytes) -> bool:
        self._from_server += data
        ended = False
        while len(self._from_server) >= _HEAD:
            length = _HEAD + int.from_bytes(self._from_server[:3])
            if len(self._from_server) < length:
                break
            kind, flags, stream = self._from_server[3], self._from_server[4], self._from_server[5:9]
            ended |= kind in (_DATA, _HEADERS) and bool(flags & _END_STREAM) and stream == self._due
            self._from_server = self._from_server[length:]
        return ended

    def _follow(self, frame: bytes) -> Iterator[Sent]:
        commit = _COMMITS.search(frame, _HEAD) if frame[3] == _DATA else None
        if commit is None:
            yield Sent(frame)
            return
        stream, fault = frame[5:9], self._spoiler.fault
        if fault in REFUSALS and fault is not None:
            yield Sent(b"", reply=_refusal(stream, *REFUSALS[fault]))
            yield Sent(_frame(_RESET, 0, stream, (8).to_bytes(4)))  # the server need not wait for the rest
            return
        if fault is Ability.CONFLICTS:
            self._spoiler.win(commit[1])
        else:
            self._due = stream
        yield Sent(frame, commits=fault is None)


def _refusal(stream: bytes, status: int, message: str) -> bytes:
    """The answer of a server that refuses: nothing but headers, written out without compression."""
    fields = {"content-type": "application/grpc", "grpc-status": str(status), "grpc-message": message}
    block = b"\x88"  # ``:status: 200``, from the table that both ends know
    for name, value in fields.items():
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return _frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, block)


def _frame(kind: int, flags: int, stream: bytes, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream + payload
