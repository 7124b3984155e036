"""Rows as DynamoDB's items: each column an attribute under its own name, so that an operator can read them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from strongroom.engines.dynamodb.places import PARTITION, REST, SORT, Place, encoded_rest, is_cut, is_digest, rest_of
from strongroom.errors import TooLarge
from strongroom.records import SEAL, AnyTable, Key, Row, Stored, decode_key, encode_key, placed

Item = dict[str, Any]

WRITTEN: Final = "_w"
"""The attribute with the token of the transaction that wrote the row: no two writes leave the same."""

MOST_BYTES: Final = 400 * 1024
"""The most bytes of an item, names and values together."""

_STRANGE: Final = b"\0not a value of a column's"
"""What stands for an attribute of a type that no column has: it breaks whatever row it is read in."""

_TAGS: Final = {"text": "S", "integer": "N", "real": "S", "bytes": "B"}
_NULL: Final[Item] = {"NULL": True}


def write_value(value: Stored) -> Item:
    """A stored value as DynamoDB writes it."""
    match value:
        case None:
            return _NULL
        case str():
            return {"S": value}
        case float():
            return {"S": repr(value)}  # DynamoDB's numbers are decimal, and end at 9.9e125
        case int():
            return {"N": str(value)}
        case _:
            return {"B": value}


def _read_real(text: str) -> Stored:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if repr(value) == text else text


def _read_integer(text: str) -> Stored:
    return int(text) if text.removeprefix("-").isdecimal() else text


_READ: Final[dict[str, Callable[[Any], Stored]]] = {
    "text": lambda value: str(value),
    "integer": _read_integer,
    "real": _read_real,
    "bytes": lambda value: bytes(value),
}


class TableItems:
    """The items of one table's rows."""

    def __init__(self, table: AnyTable) -> None:
        self.table = table
        self._columns = [
            (c.name, _TAGS[c.storage], _READ[c.storage], c.stored_default() if c.since > table.since else None)
            for c in table.columns
        ]

    def item(self, place: Place, row: Row, token: str) -> Item:
        """The item of a row at its place, written by the transaction `token`; `TooLarge` over 400 kB."""
        item: Item = {PARTITION: {"B": place[0]}, SORT: {"B": place[1]}, WRITTEN: {"S": token}}
        for column, value in zip(self._columns, row, strict=False):
            item[column[0]] = write_value(value)
        item[SEAL] = {"B": row[-1]}
        if is_cut(place[1]):
            item[REST] = {"B": encoded_rest(self.table, self.table.key_of(row))}
        if size_of(item) > MOST_BYTES:
            raise TooLarge(f"{self.table.show(self.table.key_of(row))}: DynamoDB keeps at most 400 kB in one item")
        return item

    def row(self, item: Item, key: Key | None = None) -> Row:
        """The row that an item holds; it loses its seal where it names another key than the one it stands under.

        `key` is what the item was asked for by, where that is known.
        """
        values: list[Stored] = []
        for name, tag, read, default in self._columns:
            held = item.get(name)
            if held is None:
                values.append(default)
            elif tag in held:
                values.append(read(held[tag]))
            elif "NULL" in held:
                values.append(None)
            else:
                values.append(_foreign(held))
        seal = item.get(SEAL, {}).get("B", b"")
        row = (*values, seal)
        if key is not None and self.table.key_of(row) == key:
            return row
        return self._placed(item, row)

    def _placed(self, item: Item, row: Row) -> Row:
        table = self.table
        scope = item[PARTITION]["B"][len(table.name) + 1 :]
        try:
            if is_digest(scope):  # it is told only by the row itself
                scope = encode_key(table, table.key_of(row)[: table.scope])
            return placed(table, scope + rest_of(item), row)
        except (TypeError, ValueError, struct.error):  # a value that no key can have
            values = [*row[:-1], b""]
            if not is_digest(scope):
                for part, value in zip(table.key, decode_key(table, scope + rest_of(item)), strict=True):
                    values[part.index] = value
            return tuple(values)


def _foreign(held: Item) -> Stored:
    """A value of another type than its column's, as it is: whoever checks the row says so."""
    if "N" in held:
        return _read_integer(held["N"])
    return next((bytes(v) if tag == "B" else str(v) for tag, v in held.items() if tag in ("B", "S")), _STRANGE)


class Items(dict[AnyTable, TableItems]):
    """The items of each table, made when they are first asked for."""

    def __missing__(self, table: AnyTable) -> TableItems:
        made = self[table] = TableItems(table)
        return made


def size_of(item: Item) -> int:
    """About as many bytes as DynamoDB counts for an item, and never fewer."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Item) -> int:
    ((tag, held),) = value.items()
    match tag:
        case "S":
            return len(held.encode())
        case "B":
            return len(held)
        case "N":
            return len(held) // 2 + 2
        case "BS":
            return sum(map(len, held))
        case _:
            return 1
