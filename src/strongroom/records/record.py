"""Records and their columns: the declaration of what a caller puts in and gets out."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

import msgspec

from strongroom.records.kinds import (
    MAX_INTEGER,
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


_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_TAKEN: Final = frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"})
"""Columns that every table of PostgreSQL's has already."""


def _check_record(record: type[Record]) -> None:
    """Raises TypeError for a record type whose fields would not come back as they were given."""
    name, config = record.__name__, record.__struct_config__
    if not (config.array_like and config.frozen and config.forbid_unknown_fields):
        raise TypeError(f"{name}: array_like, frozen and forbid_unknown_fields stay as Record has them")
    if config.tag is not None:
        raise TypeError(f"{name}: a record has no tag")
    if record.__match_args__ != record.__struct_fields__:
        raise TypeError(f"{name}: a record's fields are given by position, none by keyword only")
    for field in record.__struct_fields__:
        if not _NAME.fullmatch(field):
            raise TypeError(f"{name}.{field}: a column's name is a letter, and at most 47 letters, digits, underscores")
        if field.lower() in _TAKEN:
            raise TypeError(f"{name}.{field}: databases have columns of their own of that name")
    alike = Counter(field.lower() for field in record.__struct_fields__)  # SQL takes a and A for one name
    for field in record.__struct_fields__:
        if alike[field.lower()] > 1:
            raise TypeError(f"{name}.{field}: another field's name differs in its case only")


def _check_kind(where: str, kind: Kind) -> None:
    """Raises TypeError for a kind whose limits no value, or no engine, can keep."""
    match kind:
        case Integer(minimum, maximum):
            if not -MAX_INTEGER <= minimum <= maximum <= MAX_INTEGER:
                raise TypeError(f"{where}: an integer's limits lie within 63 bits, the lower one first")
        case Real(minimum, maximum):
            if not minimum <= maximum:
                raise TypeError(f"{where}: a number's lower limit comes first")
        case OneOf():
            if not len(kind.enum):
                raise TypeError(f"{where}: {kind.enum.__name__} has no members")
            for member in kind.enum:
                try:
                    Text().store(member.value)
                except Unfit as problem:
                    raise TypeError(f"{where}: {kind.enum.__name__}.{member.name}: expected {problem}") from None
        case Identifier(max_bytes) | Text(max_bytes) | Blob(max_bytes) | Json(max_bytes) | Document(max_bytes):
            if max_bytes < 1:
                raise TypeError(f"{where}: a limit is one byte or more")


def _default_of(where: str, field: msgspec.structs.FieldInfo, kind: Kind, nullable: bool) -> Any:
    """A field's default, NODEFAULT if it has none; TypeError for one that the column can't hold."""
    default = field.default
    if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    if default is msgspec.NODEFAULT or (default is None and nullable):
        return default
    try:
        kind.store(default)
    except Unfit as problem:
        raise TypeError(f"{where}: its default can't be kept: expected {problem}") from None
    return default


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
    _check_record(record)
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
        if type(since) is not int or since < 1:
            raise TypeError(f"{where}: a schema's steps are counted from 1")
        kind = _kind_for(where, annotation, beside)
        _check_kind(where, kind)
        default = _default_of(where, field, kind, nullable)
        if since > 1 and default is msgspec.NODEFAULT:
            raise TypeError(f"{where}: a column added later needs a default")
        columns.append(Column(field.name, kind, nullable, since, default))
    if [column.since for column in columns] != sorted(column.since for column in columns):
        raise TypeError(f"{record.__name__}: columns added later stand after the older ones")
    return tuple(columns)
