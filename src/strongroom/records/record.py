"""Records and their columns: the declaration of what a caller puts in and gets out."""

from __future__ import annotations

import enum
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Self

import msgspec

from strongroom.records.kinds import (
    Blob,
    Document,
    Flag,
    Identifier,
    Integer,
    Json,
    Kind,
    OneOf,
    Real,
    Since,
    Storage,
    Stored,
    Text,
    Unfit,
)


@typing.dataclass_transform(frozen_default=True)
class Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An immutable value that a table keeps; subclasses annotate their fields with kinds.

    A record is plain data. It is checked against its table when it is written and again when it is read.
    """

    def replace(self, **changes: Any) -> Self:
        """A copy with the given fields changed; TypeError for a field that does not exist."""
        return msgspec.structs.replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, in their declared order."""
        return msgspec.structs.asdict(self)


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a record as engines keep it."""

    name: str
    kind: Kind
    nullable: bool
    since: int
    default: Any

    @property
    def storage(self) -> Storage:
        """Which of the four stored forms the column has."""
        return self.kind.storage

    @property
    def sensitive(self) -> bool:
        """Whether the column's value must never be shown."""
        return self.kind.sensitive

    @property
    def plain(self) -> bool:
        """Whether the stored form decodes to the field without a step between."""
        return self.kind.plain

    def store(self, value: Any) -> Stored:
        """The stored form of a field's value; `Unfit` says what was expected."""
        if value is None and self.nullable:
            return None
        return self.kind.store(value)

    def load(self, stored: Stored) -> Any:
        """The field's value for a stored form, checked as strictly as a write; `Unfit` says what was expected."""
        if stored is None:
            if self.nullable:
                return None
            raise Unfit("a value, not nothing")
        return self.kind.load(stored)

    def stored_default(self) -> Stored:
        """What a row written before this column existed holds in it."""
        return self.store(self.default)


def _unwrap(annotation: Any) -> tuple[Any, list[Any]]:
    """An annotation's bare type and all that `Annotated` put beside it."""
    beside: list[Any] = []
    while typing.get_origin(annotation) is Annotated:
        beside += annotation.__metadata__
        annotation = annotation.__origin__
    return annotation, beside


_TYPES: dict[type, tuple[type, ...]] = {
    Identifier: (str,),
    Text: (str,),
    Json: (str,),
    Integer: (int,),
    Real: (float,),
    Flag: (bool,),
    Blob: (bytes,),
}


def _kind_for(where: str, bare: Any, beside: list[Any]) -> Kind:
    given = [item for item in beside if isinstance(item, Kind)]
    if len(given) > 1:
        raise TypeError(f"{where}: one kind, not {len(given)}")
    if isinstance(bare, type) and issubclass(bare, enum.StrEnum):
        return OneOf(enum=bare, sensitive=bool(given) and given[0].sensitive)
    if given:
        kind = given[0]
        if isinstance(kind, Document):
            return Document(kind.max_bytes, type=bare, sensitive=kind.sensitive)
        if bare not in _TYPES[type(kind)]:
            raise TypeError(f"{where}: {type(kind).__name__} goes with {_TYPES[type(kind)][0].__name__}, not {bare}")
        return kind
    if bare is bool:
        return Flag()
    if bare is int:
        return Integer()
    if bare is float:
        return Real()
    if bare in (str, bytes):
        raise TypeError(f"{where}: say its kind and limit, as in Annotated[str, Identifier(255)]")
    return Document(type=bare)


def columns_of(record: type[Record]) -> tuple[Column, ...]:
    """The columns of a record type, in declared order; TypeError where a declaration can't be kept."""
    hints = typing.get_type_hints(record, include_extras=True)
    columns = []
    for field in msgspec.structs.fields(record):
        where = f"{record.__name__}.{field.name}"
        annotation, beside = _unwrap(hints[field.name])
        nullable = False
        if typing.get_origin(annotation) in (typing.Union, types.UnionType):
            arms = [arm for arm in typing.get_args(annotation) if arm is not type(None)]
            if len(arms) == 1:
                nullable = True
                annotation, more = _unwrap(arms[0])
                beside += more
        since = next((item.step for item in beside if isinstance(item, Since)), 1)
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if since > 1 and default is msgspec.NODEFAULT:
            raise TypeError(f"{where}: a column added later needs a default")
        kind = _kind_for(where, annotation, beside)
        columns.append(Column(field.name, kind, nullable, since, default))
    if [column.since for column in columns] != sorted(column.since for column in columns):
        raise TypeError(f"{record.__name__}: columns added later stand after the older ones")
    return tuple(columns)
