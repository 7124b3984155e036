"""Cursors: opaque texts that say where a listing goes on, and refuse to go on anywhere else (R5)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from strongroom.errors import CursorExpired, InvalidArgument, StrongroomError
from strongroom.records import AnyTable, Key

_VERSION: Final = 1
_CHECK_BYTES: Final = 8


class _Body(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    version: int
    epoch: str
    table: str
    listing: list[Any]
    after: list[Any]


def make_cursor(epoch: str, table: AnyTable, listing: Sequence[Any], after: Sequence[Any]) -> str:
    """The cursor of a listing of `table` that stands after the key values `after`.

    `listing` is what the listing is bound to: its prefix, and whatever else a page must have in common with the next.
    """
    body = msgspec.msgpack.encode(_Body(_VERSION, epoch, table.name, list(listing), list(after)))
    return base64.urlsafe_b64encode(_check(body) + body).decode().rstrip("=")


def read_cursor(text: str, epoch: str, table: AnyTable, listing: Sequence[Any], *, fixed: int) -> Key:
    """The key values that the cursor stands after; they follow the listing's `fixed` leading key values.

    Raises `InvalidArgument` for a text that is no cursor, or one of another table or listing, and `CursorExpired`
    for one from before the store was restored.
    """
    body = _read(text)
    if body is None or body.version != _VERSION:
        raise InvalidArgument(f"{table.name}: this is not a cursor; begin without one")
    if body.table != table.name or body.listing != list(listing):
        raise InvalidArgument(f"{table.name}: the cursor belongs to another listing; begin without one")
    if body.epoch != epoch:
        raise CursorExpired(f"{table.name}: the store was restored after this cursor was made; begin without one")
    if len(body.after) != len(table.key) - fixed:
        raise InvalidArgument(f"{table.name}: this is not a cursor; begin without one")
    return table.store_key_part(body.after, fixed)


def _read(text: str) -> _Body | None:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if data[:_CHECK_BYTES] != _check(data[_CHECK_BYTES:]):
            return None
        return msgspec.msgpack.decode(data[_CHECK_BYTES:], type=_Body)
    except (binascii.Error, ValueError, TypeError, msgspec.MsgspecError, StrongroomError):
        return None


def _check(body: bytes) -> bytes:
    """A cursor cut or mistyped on its way is told from one that was made here; it is no secret."""
    return hashlib.blake2b(body, digest_size=_CHECK_BYTES, person=b"strongroom.curs").digest()
