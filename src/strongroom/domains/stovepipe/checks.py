"""Refusals before the engine is asked, for the calls whose own write comes too late or refuses in another order."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from strongroom.errors import InvalidArgument, ScopeMismatch, show_key
from strongroom.records import Record, Table, Unfit

R = TypeVar("R", bound=Record)


def check_type(table: Table[R], record: R) -> None:
    """Raises `InvalidArgument` for a record of another type than the table keeps."""
    if type(record) is not table.record:
        raise InvalidArgument(f"{table.name}: expected a {table.record.__name__}, not {type(record).__name__}")


def check_queue(table: Table[R], queue: str, record: R) -> None:
    """Raises `ScopeMismatch` for another queue's record (S2)."""
    named = getattr(record, table.key_names[0])
    if named != queue:
        raise ScopeMismatch(f"{table.name}: a record of {show_key((named,))} in the scope {show_key((queue,))}")


def check_column(table: Table[R], name: str, value: Any) -> None:
    """Raises `InvalidArgument` for a value that the column can't hold (K2, K4)."""
    column = table.columns[table.index[name]]
    try:
        column.store(value)
    except Unfit as problem:
        raise table.unfit(column, problem) from None


def check_columns(table: Table[R], record: R, *, ignore: Collection[str] = ()) -> None:
    """Raises `InvalidArgument` for a record that the table can't hold; columns in `ignore` may have any value."""
    for column in table.columns:
        if column.name not in ignore:
            check_column(table, column.name, getattr(record, column.name))
    if table.rule is not None and (wrong := table.rule(record)) is not None:
        raise InvalidArgument(f"{table.name}: {wrong}")
