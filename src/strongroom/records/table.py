"""Tables: how one record type is kept - its key, its scope, and the changes it allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from strongroom.errors import InvalidArgument, show_key
from strongroom.records.kinds import Blob, Document, Flag, Identifier, Integer, Json, Stored, Text, Unfit
from strongroom.records.record import Column, Record, columns_of

R = TypeVar("R", bound=Record)

Key = tuple[Stored, ...]
"""A row's key, or leading values of one, in stored form."""

SEAL: Final = "seal"
"""The name of the column that holds every row's seal; no record may have a field of this name."""

HIDDEN: Final = "<hidden>"
"""What stands for the value of a sensitive column wherever keys and records are shown."""

CATALOG_TABLES: Final = frozenset({"strongroom_steps", "strongroom_facts"})
"""The tables that a store keeps about itself; no schema but the catalog has them."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,47}")


def check_name(what: str, name: str) -> None:
    """Raises TypeError for a name that no table, and no schema, may have."""
    if not _NAME.fullmatch(name):
        raise TypeError(f"{what} name {name!r}: lower-case letters, digits and underscores, at most 48")


@dataclass(frozen=True, slots=True)
class Changes:
    """Which changes a table allows to a row that exists."""

    update: bool = False
    delete: bool = False
    put: bool = False
    version: str = ""


NEVER: Final = Changes()
"""Rows are inserted and never change."""
MEMBERSHIP: Final = Changes(delete=True)
"""Rows are inserted and deleted, never updated."""
REPLACEABLE: Final = Changes(delete=True, put=True)
"""Rows are put whole, over whatever was there, and deleted."""


def VERSIONED(column: str) -> Changes:  # noqa: N802 - stands beside the constants
    """Rows are inserted, and updated by compare-and-set on the integer `column`."""
    return Changes(update=True, version=column)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of a key, and the direction that its values are kept in."""

    column: Column
    index: int
    descending: bool


def desc(name: str) -> str:
    """A key column kept in descending order."""
    return "-" + name


class Table(Generic[R]):
    """The declaration of how one record type is kept.

    Arguments:
        name: lower-case letters, digits and underscores, at most 48, unique among all tables of a store.
        record: the record type.
        key: the names of the key columns, in order; ``desc(name)`` for one in descending order.
        scope: how many leading key columns a store is bound to (S1).
        changes: `NEVER`, `MEMBERSHIP`, `REPLACEABLE` or ``VERSIONED(column)``.
        since: the schema step that creates the table (M1).
        rule: the domain's own rule over several columns: answers what is wrong with a record, or ``None``. It is
            asked before a write (`InvalidArgument`) and after a read (`Corrupt`).

    Raises TypeError for a declaration that no engine could keep.
    """

    def __init__(
        self,
        name: str,
        record: type[R],
        *,
        key: Sequence[str],
        scope: int = 0,
        changes: Changes = NEVER,
        since: int = 1,
        rule: Callable[[R], str | None] | None = None,
    ) -> None:
        check_name("table", name)
        if name.startswith("sqlite_") or (name.startswith("strongroom_") and name not in CATALOG_TABLES):
            raise TypeError(f"table name {name!r}: names that begin so are taken")
        if type(since) is not int or since < 1:
            raise TypeError(f"table {name}: a schema's steps are counted from 1")
        self.name = name
        self.record = record
        self.columns = columns_of(record)
        self.changes = changes
        self.scope = scope
        self.since = since
        self.rule = rule
        self.index = {column.name: i for i, column in enumerate(self.columns)}
        if any(column.name.lower() == SEAL for column in self.columns):
            raise TypeError(f"table {name}: no field may be named {SEAL!r}")
        self.key = tuple(self._key_column(part) for part in key)
        if not self.key or len({part.index for part in self.key}) != len(self.key):
            raise TypeError(f"table {name}: the key needs columns, each once")
        if not 0 <= scope <= len(self.key):
            raise TypeError(f"table {name}: the scope is some of the leading key columns")
        self.key_names = tuple(part.column.name for part in self.key)
        first, *more = [part.index for part in self.key]
        self._pick: Callable[[Sequence[Stored]], Key] = itemgetter(first, *more) if more else lambda row: (row[first],)
        kinds = [part.column.kind for part in self.key]
        self._short = min(kind.max_bytes if isinstance(kind, Identifier) else 0 for kind in kinds)
        """How long a key's texts may be together without any of them being over its limit; 0: not only texts."""
        if changes.version:
            self._check_version_column(changes.version)

    def __repr__(self) -> str:
        return f"<table {self.name}>"

    def key_of(self, row: Sequence[Stored]) -> Key:
        """The key of a row in stored form."""
        return self._pick(row)

    def key_in(self, record: R) -> tuple[Any, ...]:
        """The values of a record's key columns, in the key's order, as the record has them."""
        return tuple([getattr(record, name) for name in self.key_names])

    def store_key(self, key: Sequence[Any], *, partial: bool = False) -> Key:
        """The stored form of a key, or (`partial`) of leading values of one.

        Raises `InvalidArgument` naming the column for a value that it can't hold, and for a wrong number of values.
        """
        parts = self.key
        if self._short and len(key) == len(parts) and self._is_short_text(key):
            return tuple(key)
        if len(key) != len(parts) and not (partial and len(key) < len(parts)):
            raise InvalidArgument(
                f"{self.name}: the key has {len(parts)} values ({', '.join(self.key_names)}), not {len(key)}"
            )
        return self.store_key_part(key, 0)

    def store_key_part(self, values: Sequence[Any], offset: int) -> Key:
        """The stored form of the key values that start at key column `offset`; raises as `store_key`."""
        stored = []
        for value, part in zip(values, self.key[offset:], strict=False):
            try:
                stored.append(part.column.kind.store(value))
            except Unfit as problem:
                raise self.unfit(part.column, problem) from None
        return tuple(stored)

    def _is_short_text(self, key: Sequence[Any]) -> bool:
        """Whether a key of texts is so short and plain, as nearly all are, that it needs no further check."""
        try:
            text = "".join(key)
        except TypeError:
            return False
        return len(text) <= self._short and text.isascii() and "\0" not in text and "" not in key

    def check(self, record: R, *, ignore: Collection[str] = ()) -> None:
        """Raises `InvalidArgument` for a record that the table can't hold; columns in `ignore` may have any value.

        A write checks this by itself. It is for callers who do something else first.
        """
        self.check_type(record)
        for column in self.columns:
            if column.name not in ignore:
                self.check_value(column.name, getattr(record, column.name))
        if self.rule is not None and (wrong := self.rule(record)) is not None:
            raise InvalidArgument(f"{self.name}: {wrong}")

    def check_type(self, record: R) -> None:
        """Raises `InvalidArgument` for a record of another type than the table keeps."""
        if type(record) is not self.record:
            raise InvalidArgument(f"{self.name}: expected a {self.record.__name__}, not {type(record).__name__}")

    def check_value(self, name: str, value: Any) -> Stored:
        """The stored form of a value of the column `name`; `InvalidArgument` if it can't hold it (K2, K4)."""
        column = self.columns[self.index[name]]
        try:
            return column.store(value)
        except Unfit as problem:
            raise self.unfit(column, problem) from None

    def unfit(self, column: Column, problem: Unfit) -> InvalidArgument:
        """The error for a value that `column` can't hold."""
        return InvalidArgument(f"{self.name}.{column.name}: expected {problem}")

    def show(self, key: Sequence[Stored]) -> str:
        """The table and a key of it, as messages name a row; sensitive parts hidden."""
        return f"{self.name}{show_key(self.shown_key(key))}"

    def shown_key(self, key: Sequence[Stored]) -> Key:
        """A key in stored form, or leading values of one, with sensitive parts hidden."""
        return tuple(HIDDEN if part.column.sensitive else value for value, part in zip(key, self.key, strict=False))

    def _key_column(self, part: str) -> KeyColumn:
        name = part.removeprefix("-")
        if name not in self.index:
            raise TypeError(f"table {self.name}: no field {name!r}")
        column = self.columns[self.index[name]]
        if column.nullable or isinstance(column.kind, Flag | Blob | Json | Document | Text) or column.since > 1:
            raise TypeError(f"table {self.name}: {name} can't be part of a key")
        return KeyColumn(column, self.index[name], part.startswith("-"))

    def _check_version_column(self, name: str) -> None:
        if name not in self.index or not isinstance(self.columns[self.index[name]].kind, Integer):
            raise TypeError(f"table {self.name}: the version column {name!r} must be an integer field")
        if name in self.key_names:
            raise TypeError(f"table {self.name}: the version column can't be part of the key")


AnyTable = Table[Any]
