"""Records as an operator sees and names them: plain values without secrets, and keys from the words of a command."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from strongroom.errors import InvalidArgument, clip
from strongroom.records import HIDDEN, AnyTable, Document, KeyColumn, Record

Plain = dict[str, Any]
"""A record's fields by name, made of nothing but what JSON has."""


def shown_record(table: AnyTable, record: Record) -> Plain:
    """A record's fields in declared order: bytes as hex digits, documents as JSON values, sensitive columns hidden."""
    shown: Plain = {}
    for column in table.columns:
        value = getattr(record, column.name)
        if column.sensitive:
            shown[column.name] = HIDDEN
        elif isinstance(value, bytes):
            shown[column.name] = value.hex()
        elif isinstance(column.kind, Document):
            shown[column.name] = msgspec.to_builtins(value, str_keys=True)
        else:
            shown[column.name] = value.value if isinstance(value, Enum) else value
    return shown


def parse_key(table: AnyTable, words: Sequence[str], *, offset: int = 0) -> tuple[Any, ...]:
    """The key values that `words` stand for, one for each key column from number `offset` on; there may be fewer.

    Raises `InvalidArgument` naming the column for a word that is not of its type, and for too many words.
    """
    columns = table.key[offset:]
    if len(words) > len(columns):
        names = ", ".join(part.column.name for part in columns) or "none"
        raise InvalidArgument(f"{table.name}: at most {len(columns)} key values here ({names}), not {len(words)}")
    return tuple(_parse(table, word, part) for word, part in zip(words, columns, strict=False))


def _parse(table: AnyTable, word: str, part: KeyColumn) -> int | float | str:
    if part.column.storage == "text":
        return word
    number = int if part.column.storage == "integer" else float
    try:
        # `int` and `float` would take "1_000" and spaces too, which nothing else reads as numbers.
        return number(word if word.strip() == word and "_" not in word else "")
    except ValueError:
        found = "" if part.column.sensitive else f", not {clip(word)}"
        expected = "an integer" if number is int else "a number"
        raise InvalidArgument(f"{table.name}.{part.column.name}: expected {expected}{found}") from None
