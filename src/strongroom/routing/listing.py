"""Listings: which scopes there are, found by skipping from one to the next in the rooms' own key order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strongroom.engine import Engine
from strongroom.errors import clip
from strongroom.records import AnyTable, KeyRange, Schema
from strongroom.routing.router import Router
from strongroom.routing.scopes import named
from strongroom.routing.tables import Stage


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a scope lives."""

    scope: str
    room: str
    why: str
    """``table``, ``hash`` or ``default``, as the rule says; ``moved`` for one that was moved since."""
    stage: Stage = Stage.SETTLED
    other: str = ""
    """While a move is not settled, the room that it goes to, or comes from."""
    number: int = 0
    """The fencing number: how often it was moved."""

    def __str__(self) -> str:
        way = "to" if self.stage not in (Stage.SWITCHED, Stage.CANCELLED) else "from"
        under_way = f", a move {way} {self.other} is {self.stage.value}" if self.stage is not Stage.SETTLED else ""
        return f"{clip(self.scope)} lives in {self.room} ({self.why}){under_way}"


def where(router: Router, scope: str) -> Whereabouts:
    """Where a scope lives, as the home room says now, whether it has rows or not."""
    return _where(router, scope, set(router.routes.all_moved()))


def scopes_of(router: Router, schemas: Sequence[Schema]) -> list[Whereabouts]:
    """Every scope that has a row in the room it lives in, or was ever moved; in order.

    It takes one short read for each scope of each table of each room.
    """
    moved = set(router.routes.all_moved())
    found = set(moved)
    for name, room in router.rooms.items():
        for schema in schemas:
            for table in schema.tables:
                if table.scope:
                    found.update(s for s in _scopes_in(room, table) if router.routes.place(s).room == name)
    return [_where(router, scope, moved) for scope in sorted(found)]


def _where(router: Router, scope: str, moved: set[str]) -> Whereabouts:
    placement = router.routes.placement
    if scope in moved:
        route = router.routes.route(scope)
        return Whereabouts(scope, route.room, "moved", route.stage, route.other, route.number)
    why = "table" if scope in placement.table else "hash" if placement.hashed else "default"
    return Whereabouts(scope, placement.room_of(scope), why)


def _scopes_in(room: Engine, table: AnyTable) -> Iterator[str]:
    """The scopes of the rows that a room has in a table."""
    first = table.key[0]
    wanted = KeyRange(limit=1)
    while rows := room._rows.fetch_range(table, wanted):
        key = table.key_of(rows[0])
        yield named(key[0])
        value = key[0]
        if first.descending or not isinstance(value, str | int):
            # No value is known to be the next: behind this very row.
            wanted = wanted._replace(lower=key, lower_open=True)
        else:
            # The least value behind this one; a text holds no NUL.
            wanted = wanted._replace(lower=(value + "\x01" if isinstance(value, str) else value + 1,))
