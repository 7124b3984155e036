"""Ids, and the one JSON text that stands for all texts of the same value."""

from __future__ import annotations

import json
import secrets
from typing import Any, Final

import msgspec

from strongroom.errors import InvalidArgument


def new_id(prefix: str) -> str:
    """A new id: the prefix (``run_``, ``job_``, ...) and 32 hex digits of 16 random bytes."""
    return prefix + secrets.token_hex(16)


def canonical_json(text: str) -> str:
    """The same JSON value with sorted members and without blanks; numbers stay as they are written.

    Raises `InvalidArgument` for a text that is not one JSON value, and for a member that is there twice.
    """
    try:
        text.encode()
        value = _DECODER.decode(text)
        return msgspec.json.encode(value, order="sorted").decode()
    except (ValueError, TypeError, RecursionError) as problem:
        raise InvalidArgument("expected the text of one JSON value, each member once") from problem


def cut_bytes(text: str, limit: int) -> str:
    """The text in at most `limit` bytes of UTF-8, cut between two characters."""
    data = text.encode()
    return text if len(data) <= limit else data[:limit].decode(errors="ignore")


def _as_written(literal: str) -> msgspec.Raw:
    return msgspec.Raw(literal.encode())


def _refuse(literal: str) -> Any:
    raise ValueError(literal)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is there twice")
    return members


_DECODER: Final = json.JSONDecoder(
    parse_float=_as_written, parse_int=_as_written, parse_constant=_refuse, object_pairs_hook=_members
)
