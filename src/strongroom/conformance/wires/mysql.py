"""MySQL's protocol, as far as a proxy must follow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from strongroom.conformance.wires.sql import SqlWire
from strongroom.conformance.wires.wire import Sent


class MysqlWire(SqlWire):
    """One connection: one command at a time, each in packets that are numbered from 0."""

    _QUERY: Final = b"\x03"
    _OK: Final = 0
    _END: Final = 0xFE
    _FAULT: Final = 0xFF
    _MORE: Final = 8
    """The flag of a status behind which another result comes: several statements were sent at once."""

    def __init__(self) -> None:
        super().__init__()
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
