"""Key bytes: an encoding whose bytewise order is the declared key order, and which decodes to the same key (K3).

Text is its UTF-8 bytes and a closing zero byte (text holds no NUL, so that nothing needs escaping, and a text sorts
before every longer one that it begins). Integers are eight big-endian bytes with the sign bit turned; reals are
their IEEE bits, turned so that they sort as numbers. A descending column has every bit turned. A key's encoding is
never the beginning of another full key's, and the encoding of leading values begins every key that has them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from strongroom.errors import Corrupt
from strongroom.records.kinds import Stored
from strongroom.records.table import AnyTable, Key, KeyColumn

_SIGN = 1 << 63
_ALL = (1 << 64) - 1
_TURN = bytes(255 - i for i in range(256))


def _encode_part(value: Stored, part: KeyColumn) -> bytes:
    if isinstance(value, str):
        encoded = value.encode() + b"\0"
    elif isinstance(value, float):
        bits: int = struct.unpack(">Q", struct.pack(">d", value))[0]
        encoded = struct.pack(">Q", bits ^ _ALL if bits & _SIGN else bits | _SIGN)
    elif isinstance(value, int):
        encoded = struct.pack(">Q", value + _SIGN)
    else:
        raise TypeError(f"{part.column.name}: {type(value).__name__} can't be part of a key")
    return encoded.translate(_TURN) if part.descending else encoded


def encode_key(table: AnyTable, key: Sequence[Stored]) -> bytes:
    """The key bytes of a key in stored form, or of leading values of one."""
    return b"".join([_encode_part(value, part) for value, part in zip(key, table.key, strict=False)])


def decode_key(table: AnyTable, data: bytes) -> Key:
    """The key in stored form that `data` is the encoding of; `Corrupt` if it is none."""
    key: list[Stored] = []
    at = 0
    try:
        for part in table.key:
            end = data.index(b"\xff" if part.descending else b"\0", at) + 1 if part.column.storage == "text" else at + 8
            piece = data[at:end].translate(_TURN) if part.descending else data[at:end]
            if part.column.storage == "text":
                key.append(piece[:-1].decode())
            else:
                bits: int = struct.unpack(">Q", piece)[0]
                if part.column.storage == "integer":
                    key.append(bits - _SIGN)
                else:
                    key.append(struct.unpack(">d", struct.pack(">Q", bits ^ _SIGN if bits & _SIGN else bits ^ _ALL))[0])
            at = end
    except (ValueError, struct.error) as problem:
        raise Corrupt(f"{table.name}: a stored key can't be decoded", table=table.name) from problem
    if at != len(data):
        raise Corrupt(f"{table.name}: a stored key has {len(data) - at} bytes too many", table=table.name)
    return tuple(key)


def placed(table: AnyTable, data: bytes, row: tuple[Stored, ...]) -> tuple[Stored, ...]:
    """A row as it stands under the key bytes `data`; one that names another key gets this key and loses its seal.

    An engine that keeps a row beside its key bytes hands it out through this, so that a whole row which was copied
    under another key is found to be corrupt, and where. Raises `Corrupt` for bytes that are no key.
    """
    if encode_key(table, table.key_of(row)) == data:
        return row
    values = list(row)
    for part, value in zip(table.key, decode_key(table, data), strict=True):
        values[part.index] = value
    return (*values[:-1], b"")


def after_all(prefix: bytes) -> bytes | None:
    """The least bytes that are greater than everything which begins with `prefix`; None if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
