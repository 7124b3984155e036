"""A connection of the driver's: the driver makes it and sends, and what comes back is cut into packets here."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class
from typing import Any, Final, NoReturn

from pymysql import OperationalError
from pymysql.connections import Connection
from pymysql.constants import COMMAND, CR, SERVER_STATUS
from pymysql.err import raise_mysql_exception

from strongroom.engines.mysql.answers import FAULT, Answer, read_answer

_HEADER: Final = Struct("<I")
"""A packet's size, in three bytes, and its number."""
_FULL: Final = 0xFFFFFF
"""The size of a packet that goes on in the next one."""
_CHUNK: Final = 2**16
_LARGE: Final = 2**20
"""How many bytes are asked for at once: at least, and where more than that are known to come, at most."""


class Wire:
    """One connection, from which nobody else reads. One user at a time.

    Arguments:
        connection: the driver's, set up, its timeout for writing the same as for reading: nothing is waited for longer.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection: Any = connection
        self._data = b""
        """What has come, and from `_at` on has not been looked at."""
        self._at = 0
        self._number = 0
        """The number that the next packet must have."""

    @property
    def open(self) -> bool:
        """Whether the connection stands, as far as anyone knows here."""
        return bool(self._connection.open)

    @property
    def in_transaction(self) -> bool:
        """Whether the server said that a transaction was open, behind the last statement that did not fail."""
        return bool(self._connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    def exchange(self, sent: str, answers: list[Answer]) -> None:
        """Send statements, with semicolons between them, and append to `answers` what the server says to each.

        Raises the driver's faults: the server's own for the first statement that failed, behind which none was run;
        and one of a lost connection, which is closed by then, where it broke, where nothing came over it in time, or
        where what came makes no sense.
        """
        connection = self._connection
        connection._execute_command(COMMAND.COM_QUERY, sent)
        self._number = connection._next_seq_id  # 1, but for what took several packets
        more = True
        while more:
            try:
                answer, status = read_answer(self._packet)
            except (ValueError, IndexError, StructError):  # which may show a value, and are not passed on
                self._lose(CR.CR_MALFORMED_PACKET, "what the server answers makes no sense")
            answers.append(answer)
            connection.server_status = status
            more = bool(status & SERVER_STATUS.SERVER_MORE_RESULTS_EXISTS)

    def close(self) -> None:
        """Say goodbye, and close the connection."""
        self._connection.close()

    def drop(self) -> None:
        """Close the connection as it is: in the middle of an answer nobody can say goodbye."""
        self._connection._force_close()

    def _packet(self) -> bytes:
        """What the next packet holds; a fault that it tells is raised."""
        content = self._piece()
        if len(content) == _FULL:
            pieces = [content]
            while len(pieces[-1]) == _FULL:
                pieces.append(self._piece())
            content = b"".join(pieces)
        if content[0] == FAULT:
            raise_mysql_exception(content)
        return content

    def _piece(self) -> bytes:
        if len(self._data) < self._at + 4:
            self._receive(4)
        (header,) = _HEADER.unpack_from(self._data, self._at)
        if header >> 24 != self._number:  # also what a server says unasked, as it shuts down
            self._lose(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        self._number = (self._number + 1) & 0xFF
        size = header & _FULL
        if len(self._data) < self._at + 4 + size:
            self._receive(4 + size)
        begin = self._at + 4
        self._at = begin + size
        return self._data[begin : self._at]

    def _receive(self, needed: int) -> None:
        """Wait until so many bytes are there that have not been looked at."""
        pieces = [self._data[self._at :]]
        missing = needed - len(pieces[0])
        receive = self._connection._sock.recv
        try:
            while missing > 0:
                piece = receive(max(_CHUNK, min(missing, _LARGE)))
                if not piece:
                    self._lose(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
                pieces.append(piece)
                missing -= len(piece)
        except OSError as fault:
            self._lose(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({fault})")
        self._data, self._at = b"".join(pieces), 0

    def _lose(self, number: int, why: str) -> NoReturn:
        self.drop()
        raise OperationalError(number, why) from None
