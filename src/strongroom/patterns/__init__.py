"""Patterns: what stores are made of, on any engine of the strength that each one names. Knows no engine."""

from strongroom.patterns.cursor import make_cursor, read_cursor
from strongroom.patterns.log import Log, Page
from strongroom.patterns.mapping import OrderedMapping, UniqueMapping
from strongroom.patterns.scoped import Faults, ScopedTable, check_scope
from strongroom.patterns.subjects import Subject

__all__ = [
    "Faults",
    "Log",
    "OrderedMapping",
    "Page",
    "ScopedTable",
    "Subject",
    "UniqueMapping",
    "check_scope",
    "make_cursor",
    "read_cursor",
]
