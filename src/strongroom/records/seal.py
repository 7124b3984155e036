"""Seals: the digest kept with every row over its table, key and values (R4).

A row's canonical form is the MessagePack array of its stored values in column order, without the trailing added
columns that hold their default (so that a row keeps its seal when its table gains a column, M4). The seal is the
BLAKE2b-256 digest of the table's name and that form. With a seal key it is a keyed digest: who does not have the key
can't write a row that reads as true. Without one it shows damage and hand-made changes, not a determined forger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, Protocol

from strongroom.errors import InvalidArgument

SEAL_BYTES: Final = 32
MIN_KEY_BYTES: Final = 16
MAX_KEY_BYTES: Final = 64


class _Hash(Protocol):
    def copy(self) -> _Hash: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class Sealer:
    """Makes seals, with or without a key of 16 to 64 bytes; `InvalidArgument` for a key of another length."""

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
            raise InvalidArgument(f"a seal key has {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes, not {len(key)}")
        self._key = key or b""

    def __repr__(self) -> str:
        return f"<{'keyed' if self._key else 'keyless'} sealer>"

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that tell keys apart and give nothing of the key away; empty without a key."""
        if not self._key:
            return ""
        return hashlib.blake2b(b"fingerprint", digest_size=8, key=self._key, person=b"strongroom.key").hexdigest()

    def for_table(self, name: str) -> Callable[[bytes], bytes]:
        """The function from a row's canonical bytes to its seal, for the table `name`."""
        base: _Hash = hashlib.blake2b(digest_size=SEAL_BYTES, key=self._key, person=b"strongroom.row")
        base.update(len(name).to_bytes(1, "big") + name.encode())
        start = base.copy

        def seal(canonical: bytes) -> bytes:
            state = start()
            state.update(canonical)
            return state.digest()

        return seal
