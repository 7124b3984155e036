"""Values as PostgreSQL's binary format has them, and what a statement binds.

Binary, because a value then has its length beside it, floats keep every bit, and the server parses no text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strongroom.records import Stored

Encode = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Type:
    """A type of PostgreSQL's, in which a stored form is kept."""

    sql: str
    oid: int
    array_oid: int
    encode: Encode


TEXT: Final = Type('text COLLATE "C"', 25, 1009, str.encode)
INTEGER: Final = Type("bigint", 20, 1016, struct.Struct(">q").pack)
REAL: Final = Type("double precision", 701, 1022, struct.Struct(">d").pack)
BYTES: Final = Type("bytea", 17, 1001, bytes)

TYPES: Final[dict[str, Type]] = {"text": TEXT, "integer": INTEGER, "real": REAL, "bytes": BYTES}

_TYPE_OF: Final = {str: TEXT, int: INTEGER, float: REAL, bytes: BYTES}

_ARRAY: Final = struct.Struct(">iiIii")
_LENGTH: Final = struct.Struct(">i").pack
_NULL: Final = _LENGTH(-1)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array of one dimension, of values of one type."""

    of: Type

    @property
    def oid(self) -> int:
        return self.of.array_oid

    def encode(self, values: Sequence[Stored]) -> bytes:
        """The array's binary form."""
        encode = self.of.encode
        parts = [_ARRAY.pack(1, None in values, self.of.oid, len(values), 1)]
        for value in values:
            if value is None:
                parts.append(_NULL)
            else:
                encoded = encode(value)
                parts += (_LENGTH(len(encoded)), encoded)
        return b"".join(parts)


def types_of(values: Sequence[Stored]) -> list[Type]:
    """The types in which values, none of which is None, are bound."""
    return [_TYPE_OF[type(value)] for value in values]
