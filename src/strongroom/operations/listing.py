"""Listing: the records of any one table, whatever their scope, as a store that was not migrated has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, NotFound
from strongroom.operations.stored import StoredTable
from strongroom.operations.survey import PAGE, survey
from strongroom.patterns import Subject
from strongroom.records import Record


def stored_table(engine: Engine, subjects: Sequence[Subject], name: str) -> StoredTable[Any]:
    """The table of that name as the store has it; raises as `survey` and `Survey.table`."""
    return survey(engine, subjects).table(name)


def list_records(
    engine: Engine,
    stored: StoredTable[Any],
    *prefix: Any,
    after: Sequence[Any] | None = None,
    limit: int,
    reverse: bool = False,
    page: int = PAGE,
) -> Iterator[Record]:
    """The records whose keys begin with `prefix`, in key order, at most `limit` of them; `reverse` from the end.

    They are read and held `page` at a time, so that `limit` may be any number from 1 on; the pages together are no
    snapshot (R2). `after` is the rest of a full key, excluded, to go on from (R5).

    Raises `InvalidArgument` for a limit below 1 and as `Engine.scan`; one corrupt row fails its whole page (R4).
    """
    if type(limit) is not int or limit < 1:
        raise InvalidArgument(f"{stored.table.name}: a limit is an integer from 1 on")
    if len(prefix) >= len(stored.table.key):
        raise InvalidArgument(f"{stored.table.name}: this is a full key: get its record instead")
    while limit:
        wanted = min(page, limit)
        records = stored.scan(engine, *prefix, after=after, limit=wanted, reverse=reverse)
        yield from records
        if len(records) < wanted:
            return
        limit -= len(records)
        after = stored.table.key_in(records[-1])[len(prefix) :]


def get_record(engine: Engine, stored: StoredTable[Any], *key: Any) -> Record:
    """The record under a full key; `NotFound` if there is none, else raises as `Engine.get`."""
    record: Record | None = stored.get(engine, *key)
    if record is None:
        raise NotFound(f"nothing is stored as {stored.table.show(stored.table.store_key(key))}")
    return record
