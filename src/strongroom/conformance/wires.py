"""What goes over the wire between an engine and its server, as far as a proxy must follow it.

A proxy that is to lose a commit, or the answer to one, has to know a commit when it sees one. A statement commits if it
says so, or if it writes and no transaction is open.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BEGINS: Final = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION|SET\s+AUTOCOMMIT\s*=\s*0)\b", re.IGNORECASE)
_COMMITS: Final = re.compile(r"(?:^|;)\s*COMMIT\b", re.IGNORECASE)
_ENDS: Final = re.compile(r"\s*(?:ROLLBACK|ABORT)\b(?!\s+(?:WORK\s+)?TO\b)", re.IGNORECASE)
_WRITES: Final = re.compile(r"\s*(?:WITH\b.*?\b)?(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sent:
    """A whole message of the client's."""

    data: bytes
    commits: bool = False
    reply: bytes = b""
    """What the client gets for it from the proxy; it does not reach the server then."""


class Wire(ABC):
    """One connection, seen from between its ends."""

    def __init__(self) -> None:
        self._from_client = b""
        self._open = False
        """Whether the client has a transaction open."""

    @abstractmethod
    def sent(self, data: bytes) -> Iterator[Sent]:
        """The messages that the client has ended with `data`."""

    @abstractmethod
    def answered(self, data: bytes) -> bool:
        """Whether the server has, with `data`, answered all that was sent."""

    def _commits(self, statement: str) -> bool:
        if _COMMITS.search(statement):
            self._open = False
            return True
        if _BEGINS.match(statement):
            self._open = True
        elif _ENDS.match(statement):
            self._open = False
        return not self._open and _WRITES.match(statement) is not None

    def _take(self, length: int) -> bytes:
        message, self._from_client = self._from_client[:length], self._from_client[length:]
        return message


class PostgresWire(Wire):
    """PostgreSQL's protocol, version 3: statements may be prepared once and named afterwards, and go many at a time."""

    _ENCRYPT: Final = (80877103, 80877104)
    """Asks for TLS and for GSSAPI: they are refused, so that the rest can be read."""

    def __init__(self) -> None:
        super().__init__()
        self._from_server = b""
        self._began = False
        self._statements: dict[bytes, str] = {}
        self._due = 1
        """How often the server has yet to say that it is ready; it does so first when the connection stands."""

    def sent(self, data: bytes) -> Iterator[Sent]:
        self._from_client += data
        while True:
            prefix = 1 if self._began else 0
            length = prefix + int.from_bytes(self._from_client[prefix : prefix + 4])
            if not prefix + 4 <= length <= len(self._from_client):
                return
            message = self._take(length)
            if self._began:
                yield Sent(message, self._follow(message[:1], message[5:]))
            elif int.from_bytes(message[4:8]) in self._ENCRYPT:
                yield Sent(b"", reply=b"N")
            else:
                self._began = True
                yield Sent(message)

    def answered(self, data: bytes) -> bool:
        self._from_server += data
        while len(self._from_server) >= (length := 1 + int.from_bytes(self._from_server[1:5])) > 4:
            self._due -= self._from_server[:1] == b"Z"
            self._from_server = self._from_server[length:]
        return self._due <= 0

    def _follow(self, kind: bytes, body: bytes) -> bool:
        """Whether a message commits."""
        if kind in (b"Q", b"S"):
            self._due += 1
        if kind == b"Q":
            return self._commits(body.rstrip(b"\0").decode(errors="replace"))
        if kind == b"P":
            name, text = body.split(b"\0", 2)[:2]
            self._statements[name] = text.decode(errors="replace")
        if kind == b"B":
            return self._commits(self._statements.get(body.split(b"\0", 2)[1], ""))
        return False


class MysqlWire(Wire):
    """MySQL's protocol: one command at a time, each in packets that are numbered from 0."""

    _QUERY: Final = b"\x03"
    _OK: Final = 0
    _END: Final = 0xFE
    _FAULT: Final = 0xFF
    _MORE: Final = 8
    """The flag of a status behind which another result comes: several statements were sent at once."""

    def __init__(self) -> None:
        super().__init__()
        self._from_server = b""
        self._ended = False

    def sent(self, data: bytes) -> Iterator[Sent]:
        self._from_client += data
        while len(self._from_client) >= 4:
            length = 4 + int.from_bytes(self._from_client[:3], "little")
            if len(self._from_client) < length:
                return
            message = self._take(length)
            query = message[3] == 0 and message[4:5] == self._QUERY
            yield Sent(message, query and self._commits(message[5:].decode(errors="replace")))

    def answered(self, data: bytes) -> bool:
        self._from_server += data
        while len(self._from_server) >= (length := 4 + int.from_bytes(self._from_server[:3], "little")) > 4:
            self._ended = self._is_last(self._from_server[4:length])
            self._from_server = self._from_server[length:]
        return self._ended and not self._from_server

    def _is_last(self, packet: bytes) -> bool:
        """Whether nothing follows a packet: it is a fault, or the end of the last of one or more results."""
        if packet[0] == self._FAULT:
            return True
        if packet[0] == self._END and len(packet) < 9:
            status = packet[3:5]
        elif packet[0] == self._OK:
            # Two numbers of variable length stand before the status.
            at = 1
            for _ in range(2):
                at += {252: 3, 253: 4, 254: 9}.get(packet[at], 1)
            status = packet[at : at + 2]
        else:
            return False
        return not int.from_bytes(status, "little") & self._MORE
