"""What tests of moves do: move a tenant, act when the move has come to a stage, or die there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strongroom.conformance.stopping import Stopped
from strongroom.engine import Engine
from strongroom.errors import Unavailable
from strongroom.routing import Route, Router, Stage, move
from strongroom.routing.tables import ROUTES

from .tenants import (
    IN_HOME,
    MEMBERS,
    SCHEMA,
    Member,
    Rooms,
    contents,
    fill,
    router_over,
)


def watched(router: Router, to: str, act: Callable[[], object], *, at: Stage) -> Route:
    """Move t1, and do something when the move has reached a stage."""

    def watch(stage: Stage, table: str, _rows: int) -> None:
        if stage is at and not table:
            act()

    return move(router, "t1", to, [SCHEMA], watch=watch)


def filled(rooms: Rooms) -> tuple[dict[str, Any], Router]:
    """Two tenants at home; what t1 has, and a router that has looked at it."""
    old = router_over(rooms, IN_HOME, hold_ms=0)
    fill(old, "t1")
    fill(old, "t2")
    return contents(old, "t1"), old


def accepted(routers: list[Router], number: int) -> int:
    """Have each router try to write to t1; how many were let."""
    count = 0
    for index, router in enumerate(routers):
        try:
            router.insert(MEMBERS, Member("t1", f"x{number} {index}"))
            count += 1
        except Unavailable:
            pass
    assert count in (0, len(routers))
    return count


def give_up_at(router: Router, stage: Stage) -> None:
    """Begin a move of t1 to the east, and die when it has reached a stage."""

    def watch(at: Stage, table: str, _rows: int) -> None:
        if at is stage and (not table or stage is Stage.PLANNED):
            raise Stopped("dead")

    with pytest.raises(Stopped):
        move(router, "t1", "east", [SCHEMA], watch=watch)


def unsettled(rooms: Rooms) -> bool:
    route = rooms["home"].get(ROUTES, "t1")
    return route is not None and route.stage is not Stage.SETTLED


def damage(room: Engine, name: str) -> None:
    """Put another note into a member's row, past its seal."""

    def change(rows: Any) -> None:
        row = rows.fetch(MEMBERS, ("t1", name))
        rows.remove(MEMBERS, ("t1", name), None)
        rows.insert(MEMBERS, ("t1", name), (*row[:2], "forged", *row[3:]))

    room._write(change, lambda: False)


def forget(room: Engine, scope: str) -> None:
    """Put the route of a scope back to what it was before its first move."""
    route = room.get(ROUTES, scope)
    assert route is not None
    room.update(ROUTES, route.replace(room="home", number=0, stage=Stage.SETTLED), expect=route)
