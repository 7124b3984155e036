"""PostgreSQL's protocol, version 3, as far as a proxy must follow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from strongroom.conformance.wires.sql import SqlWire
from strongroom.conformance.wires.wire import Sent


class PostgresWire(SqlWire):
    """One connection: statements may be prepared once and named afterwards, and go many at a time."""

    _ENCRYPT: Final = (80877103, 80877104)
    """Asks for TLS and for GSSAPI: they are refused, so that the rest can be read."""

    def __init__(self) -> None:
        super().__init__()
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
