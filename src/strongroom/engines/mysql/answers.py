"""What a server says to a statement, and how its packets say it: counts, columns, rows.

A column's values are made by one function, which is chosen by the column's description and remembered with it: the
driver's own way, an object for each packet and column, takes longer than the server does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import methodcaller
from struct import Struct
from typing import Any, Final

from pymysql.constants import FIELD_TYPE

from strongroom.records import Row

OK: Final = 0x00
NULL: Final = 0xFB
"""What stands for NULL in a row. As the first byte of an answer it asks for a file."""
END: Final = 0xFE
FAULT: Final = 0xFF

_STATUS: Final = Struct("<HH")
_COLUMN: Final = Struct("<xHxxxxB")
"""A column's character set and type, as they stand behind its names."""
_BINARY: Final = 63
"""The character set of what is no text."""
_COLUMNS: Final = 4096
"""How many columns' functions are remembered."""

Decoder = Callable[[bytes], Any]
"""Makes a value of its bytes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one statement: rows, or how many rows it inserted, found to update, or removed."""

    rows: Sequence[Row]
    count: int
    warnings: int = 0
    """How many remarks it has, such as that a table is there already."""


def read_answer(packet: Callable[[], bytes]) -> tuple[Answer, int]:
    """The next answer, and the connection's status behind it; `packet` gets the next packet.

    Raises ValueError, IndexError or `struct.error` for what is none.
    """
    first = packet()
    if first[0] == OK:
        count, at = _integer(first, 1)
        _, at = _integer(first, at)
        status, warnings = _STATUS.unpack_from(first, at)
        return Answer((), count, warnings), status
    if first[0] == NULL:
        raise ValueError("a file of this machine is asked for")
    decoders = [_decoder(packet()) for _ in range(_integer(first, 0)[0])]
    if not _is_end(packet()):
        raise ValueError("columns without an end")
    rows: list[Row] = []
    while not _is_end(content := packet()):
        rows.append(_row(content, decoders))
    warnings, status = _STATUS.unpack_from(content, 1)
    return Answer(rows, len(rows), warnings), status


def _is_end(content: bytes) -> bool:
    return content[0] == END and len(content) < 9


def _integer(content: bytes, at: int) -> tuple[int, int]:
    """The number of variable length that begins at `at`, and where it ends."""
    first = content[at]
    if first < NULL:
        return first, at + 1
    end = at + (3, 4, 9)[first - 0xFC]
    return int.from_bytes(content[at + 1 : end], "little"), end


def _row(content: bytes, decoders: Sequence[Decoder]) -> Row:
    at = 0
    values: list[Any] = []
    for decode in decoders:
        size = content[at]
        at += 1
        if size >= NULL:
            if size == NULL:
                values.append(None)
                continue
            size, at = _integer(content, at - 1)
        end = at + size
        values.append(decode(content[at:end]))
        at = end
    if at != len(content):
        raise ValueError("a row that is not as long as its columns")
    return tuple(values)


_text: Final[Decoder] = methodcaller("decode", "utf-8", "surrogateescape")
"""What is not UTF-8, as a key's bytes are that somebody changed, becomes lone surrogates, which no text here has."""

_DECODERS: Final[dict[int, Decoder]] = {
    FIELD_TYPE.TINY: int,
    FIELD_TYPE.SHORT: int,
    FIELD_TYPE.INT24: int,
    FIELD_TYPE.LONG: int,
    FIELD_TYPE.LONGLONG: int,
    FIELD_TYPE.FLOAT: float,
    FIELD_TYPE.DOUBLE: float,
}
"""For all other types a text is made."""

_BLOBS: Final = frozenset(
    {FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.STRING}
)
"""What holds bytes, where it has no text's character set. VARBINARY is not among them: keys are texts."""


@lru_cache(maxsize=_COLUMNS)
def _decoder(description: bytes) -> Decoder:
    """What makes the values of the column that a packet describes."""
    at = 0
    for _ in range(6):  # the names of the column and of its table
        size, at = _integer(description, at)
        at += size
    charset, kind = _COLUMN.unpack_from(description, at)
    if kind in _BLOBS and charset == _BINARY:
        return bytes
    return _DECODERS.get(kind, _text)
