"""Any record that a table can hold, drawn from its declaration."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strongroom.records import (
    AnyTable,
    Blob,
    Column,
    Document,
    Flag,
    Identifier,
    Integer,
    Json,
    Real,
    Text,
)
from strongroom.records.kinds import OneOf


def texts(max_bytes: int, *, empty: bool) -> st.SearchStrategy[str]:
    """Texts of any script, up to the last byte of their limit."""
    short = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=max_bytes // 4)
    edge = st.sampled_from("aé💥").map(lambda c: c * (max_bytes // len(c.encode())))
    return (short | edge).filter(lambda text: empty or text != "")


def values(column: Column) -> st.SearchStrategy[Any]:
    """Everything that the column can hold."""
    kind = column.kind
    strategy: st.SearchStrategy[Any]
    match kind:
        case Identifier():
            strategy = texts(kind.max_bytes, empty=kind.empty)
        case Text():
            strategy = texts(kind.max_bytes, empty=True)
        case Integer():
            strategy = st.integers(kind.minimum, kind.maximum)
        case Real():
            strategy = st.floats(kind.minimum, kind.maximum)
        case Flag():
            strategy = st.booleans()
        case Blob():
            strategy = st.binary(max_size=300)
        case Document() if kind.type == dict[str, str]:
            strategy = st.dictionaries(texts(64, empty=True), texts(64, empty=True), max_size=4)
        case Document():
            strategy = st.lists(texts(64, empty=True), max_size=4).map(tuple)
        case Json():
            strategy = st.sampled_from(["{}", "null", "0", '{"b": 1,  "a": [1.0, "é"]}', '{"a":1,"a":2}', '"\\u00e9"'])
        case OneOf():
            strategy = st.sampled_from(kind.enum)
        case _:
            raise AssertionError(f"no values of a {type(kind).__name__} are known here")
    return st.none() | strategy if column.nullable else strategy


def records(table: AnyTable, together: st.SearchStrategy[dict[str, Any]] | None = None) -> st.SearchStrategy[Any]:
    """Any record that the table can hold; `together` draws the columns that depend on each other."""
    made = st.builds(table.record, *[values(column) for column in table.columns])
    if together is not None:
        made = st.builds(lambda record, drawn: record.replace(**drawn), made, together)
    return made.filter(lambda record: table.rule is None or table.rule(record) is None)
