"""Rows that no store writes: sealed as they should be, and holding what they should not."""

from __future__ import annotations

from typing import Any

import msgspec

from strongroom.engine import Engine
from strongroom.records import AnyTable, Record, RowCodec, Sealer, Stored, Table


def plant(room: Engine, table: AnyTable, record: Record, **stored: Stored) -> None:
    """Put a row where `record` belongs, with its own seal, in which some columns hold what is given instead."""
    ruleless: Table[Any] = Table(table.name, table.record, key=table.key_names, scope=table.scope)
    values = list(RowCodec(ruleless, Sealer()).encode(record)[:-1])
    for name, value in stored.items():
        values[table.index[name]] = value
    seal = Sealer().for_table(table.name)(msgspec.msgpack.encode(tuple(values)))
    row = (*values, seal)
    room._write(lambda rows: rows.put(table, table.key_of(row), row), lambda: False)


def break_seal(room: Engine, table: AnyTable, record: Record) -> None:
    """Put `record` under a seal that is not its own."""
    row = RowCodec(table, Sealer()).encode(record)
    damaged = (*row[:-1], bytes(32))
    room._write(lambda rows: rows.put(table, table.key_of(row), damaged), lambda: False)
