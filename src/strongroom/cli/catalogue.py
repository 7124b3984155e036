"""The schemas that the commands know: the built-in domains', and those that other packages announce.

A package announces one by an entry point in the group ``strongroom.schemas``, which names a `Subject` or a `Schema`.
Nothing is imported before a command needs it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.operations.survey import check_names
from strongroom.patterns import Subject
from strongroom.records import Schema
from strongroom.routing import ROUTER, Router

GROUP: Final = "strongroom.schemas"

BUILT_IN: Final = (
    "strongroom.domains.stovepipe",
    "strongroom.domains.changes",
    "strongroom.domains.runners",
    "strongroom.domains.dispatch",
    "strongroom.validator.records",
)
"""The modules of the built-in domains; each has a `SUBJECT`."""


def known_subjects() -> tuple[Subject, ...]:
    """Every subject that is known, the built-in ones first.

    Raises `InvalidArgument` for an announced one that can't be loaded, and for two that share a schema's or a table's
    name: leaving one out would pass its tables over in silence.
    """
    subjects = [_subject(import_module(module).SUBJECT) for module in BUILT_IN]
    subjects += [_announced(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    check_names([subject.schema for subject in subjects])
    return tuple(subjects)


def subjects_for(engine: Engine) -> tuple[Subject, ...]:
    """As `known_subjects`, and what the engine keeps itself where it is a router."""
    return (*known_subjects(), Subject(ROUTER)) if isinstance(engine, Router) else known_subjects()


def complete_table(incomplete: str) -> list[str]:
    """The known tables whose names begin with `incomplete`, for shell completion."""
    try:
        subjects = known_subjects()
    except StrongroomError:
        return []  # a half-typed line is no place to tell it; the command will
    names = [table.name for subject in subjects for table in subject.schema.tables]
    return [name for name in names if name.startswith(incomplete)]


def _announced(point: EntryPoint) -> Subject:
    try:
        return _subject(point.load())
    except Exception as problem:  # other people's code, of which anything may be expected
        raise InvalidArgument(
            f"the schema {point.name} ({point.value}) can't be loaded: {type(problem).__name__}: {problem}"
        ) from problem


def _subject(declared: object) -> Subject:
    if isinstance(declared, Schema):
        return Subject(declared)
    if not isinstance(declared, Subject):
        raise TypeError(f"neither a Subject nor a Schema, but a {type(declared).__name__}")
    return declared
