"""Moves: one scope goes from one room to another while others, and its own readers, go on.

Who owns the scope is decided in one row of the home room, its `Route`. Everything before the switch of that row may be
done again, everything behind it only cleans up; so a move that died anywhere is ended by making it again, and no crash
leaves two owners or none.

    planned    the target is told to expect the scope, and gets a first copy while the source goes on
    fenced     the source refuses writes of the scope: they wait
    copied     the copy has been made again, and is whole
    verified   both sides have the same digest of every table
    switched   the route names the target: this one write moves the scope
    settled    both rooms say so themselves; the source's rows are removed, or kept
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from strongroom.engine import Engine, Strength, Transaction
from strongroom.engine.catalog import CATALOG
from strongroom.errors import AlreadyExists, Conflict, Corrupt, InvalidArgument, Unsupported, VersionMismatch, clip
from strongroom.records import Schema
from strongroom.routing.copying import ScopeRows
from strongroom.routing.router import Router
from strongroom.routing.tables import BEFORE_SWITCH, FENCES, ROUTER, ROUTES, Fence, Hold, Route, Stage

Watch = Callable[[Stage, str, int], None]
"""Called with the stage that a move has reached, the table under way, and how many of its rows are done."""


def _unwatched(_stage: Stage, _table: str, _rows: int) -> None:
    """Watches nothing."""


def move(
    router: Router,
    scope: str,
    to: str,
    schemas: Sequence[Schema],
    *,
    keep: bool = False,
    watch: Watch = _unwatched,
) -> Route:
    """Move a scope to the room `to`, or end a move there that was cut short; the route that came of it.

    Readers go on meanwhile. Writers wait from the fence to the switch, in which time all rows of the scope are read
    twice on both sides, and get `Unavailable` if that is longer than their router holds them.

    Arguments:
        schemas: all that the rooms were prepared for: tables that are not known here would be left behind.
        keep: leave the source's rows where they are. Without it they are removed, but for those of tables that allow no
            deletes. Rows that stay mean nothing any more, and are met by nobody.

    Raises `InvalidArgument` for a room that there is not, a target that has rows of the scope from elsewhere, and while
    a move to another room is under way; `Unsupported` where the rooms' transactions are too weak or the router was
    founded without moves, and where a room has tables of no known schema; `Corrupt` for a damaged row, and where the
    digests differ; `Conflict` (retryable) where somebody else carries out a move of the scope at the same time.
    """
    return _Move(router, scope, schemas, watch).to(to, keep=keep)


def cancel(router: Router, scope: str, schemas: Sequence[Schema], *, watch: Watch = _unwatched) -> Route:
    """Give up the move of a scope that has not been switched: its source goes on. Raises as `move`."""
    return _Move(router, scope, schemas, watch).cancel()


class _Move:
    """The steps of a move, each of which may be the first after a crash."""

    def __init__(self, router: Router, scope: str, schemas: Sequence[Schema], watch: Watch) -> None:
        self._router = router
        self._scope = scope
        self._schemas = (CATALOG, ROUTER, *(s for s in schemas if s.name not in (CATALOG.name, ROUTER.name)))
        self._tables = [table for schema in schemas for table in schema.tables if table.scope]
        self._watch = watch

    def to(self, to: str, *, keep: bool) -> Route:
        route = self._known()
        self._check_room(to)
        if route is not None and route.stage in (Stage.SWITCHED, Stage.CANCELLED):
            route = self._clean_up(route)
        if route is not None and route.stage in BEFORE_SWITCH and route.other != to:
            raise InvalidArgument(
                f"the scope {clip(self._scope)} is being moved to {route.other}: end that, or cancel it, before"
            )
        source = self._router.routes.look_up(self._scope).room
        if source == to:
            return route or Route(self._scope, to, 0, Stage.SETTLED, to, keep=False)
        self._check_room(source)
        if route is None or route.stage is Stage.SETTLED:
            route = self._plan(route, source, to, keep=keep)
        while route.stage in BEFORE_SWITCH:
            route = self._step(route)
        return self._clean_up(route)

    def cancel(self) -> Route:
        route = self._known()
        if route is None or route.stage not in (*BEFORE_SWITCH, Stage.CANCELLED):
            raise InvalidArgument(
                f"no move of the scope {clip(self._scope)} can be cancelled: none is before its switch"
            )
        if route.stage is not Stage.CANCELLED:
            # First the fence: it bears the number under which the source goes on.
            self._fence(route.room, route.number + 1, Hold.FENCED)
            route = self._mark(route, route.replace(number=route.number + 1, stage=Stage.CANCELLED, rows=0, digest=""))
        return self._clean_up(route)

    # The stages.

    def _plan(self, before: Route | None, source: str, target: str, *, keep: bool) -> Route:
        if self._room(target).get(FENCES, self._scope) is None and not self._rows(target, 0).is_empty():
            raise InvalidArgument(
                f"the room {target} has rows of the scope {clip(self._scope)} that no move has brought there"
            )
        number, version = (before.number, before.version + 1) if before else (0, 0)
        planned = Route(self._scope, source, number, Stage.PLANNED, target, keep=keep, version=version)
        if before is not None:
            return self._mark(before, planned)
        try:
            self._router.home.insert(ROUTES, planned)
        except AlreadyExists as rival:
            raise _overtaken() from rival
        return planned

    def _step(self, route: Route) -> Route:
        number = route.number + 1
        source, target = self._rows(route.room, number), self._rows(route.other, number)

        def watch(table: str, rows: int) -> None:
            self._watch(route.stage, table, rows)

        match route.stage:
            case Stage.PLANNED:
                self._fence(route.other, number, Hold.INCOMING)
                source.copy_to(target, watch)  # most of it, while nobody waits
                self._fence(route.room, number, Hold.FENCED)
                return self._mark(route, route.replace(stage=Stage.FENCED))
            case Stage.FENCED:
                self._fence(route.other, number, Hold.INCOMING, since=self._time_in(route.room))
                source.copy_to(target, watch)
                return self._mark(route, route.replace(stage=Stage.COPIED))
            case Stage.COPIED:
                here, there = source.digest(watch), target.digest(watch)
                for table, digest in here.tables.items():
                    if there.tables[table] != digest:
                        if self._known() != route:
                            raise _overtaken()
                        raise Corrupt(
                            f"{table}: the copy of the scope {clip(self._scope)} has another digest", table=table
                        )
                return self._mark(route, route.replace(stage=Stage.VERIFIED, rows=here.rows, digest=here.whole))
            case _:
                switched = route.replace(room=route.other, other=route.room, number=number, stage=Stage.SWITCHED)
                return self._mark(route, switched)

    def _clean_up(self, route: Route) -> Route:
        """Have both rooms say what was decided. Whoever comes first to the owner may have said it there already."""
        self._fence(route.room, route.number, Hold.OPEN)
        self._fence(route.other, route.number, Hold.LEFT)
        if route.stage is Stage.CANCELLED or not route.keep:
            self._rows(route.other, route.number).remove(lambda table, rows: self._watch(route.stage, table, rows))
        return self._mark(route, route.replace(stage=Stage.SETTLED))

    # What they are made of.

    def _known(self) -> Route | None:
        if not self._router.routes.placement.movable:
            raise Unsupported("the router was founded with movable = false: its scopes stay where they are")
        return self._router.home.get(ROUTES, self._scope)

    def _mark(self, before: Route, after: Route) -> Route:
        """Record how far the move has come, unless somebody else got ahead."""
        after = after.replace(version=before.version + 1)
        try:
            self._router.home.update(ROUTES, after, expect=before)
        except VersionMismatch as rival:
            raise _overtaken() from rival
        self._watch(after.stage, "", 0)
        return after

    def _fence(self, room: str, number: int, hold: Hold, *, since: int = 0) -> None:
        """Set what a room knows of the scope, if the move that says so is the last that the room heard of."""

        def change(transaction: Transaction) -> None:
            old = transaction.get(FENCES, self._scope)
            if old is None:
                return transaction.insert(FENCES, Fence(self._scope, number, hold, since))
            if old.number > number or (old.number == number and hold not in _AFTER[old.hold]):
                raise _overtaken()
            new = old.replace(number=number, hold=hold)
            if hold is Hold.INCOMING:
                # A time that this very move has set stays: nothing was told any time at the source since.
                new = new.replace(since=(old.since if old.number == number else 0) or since)
            if new == old:
                return transaction.abandon(None)
            return transaction.update(FENCES, new.replace(version=old.version + 1), expect=old)

        self._room(room).write(change)

    def _time_in(self, room: str) -> int:
        """The time that the scope has come to in its room."""
        fence = self._room(room).get(FENCES, self._scope)
        return max(self._room(room).now(), fence.since if fence else 0)

    def _rows(self, room: str, number: int) -> ScopeRows:
        return ScopeRows(self._room(room), self._tables, self._scope, number)

    def _room(self, name: str) -> Engine:
        return self._router.rooms[name]

    def _check_room(self, name: str) -> None:
        if name not in self._router.rooms:
            raise InvalidArgument(f"no room {clip(name)}; there are {', '.join(sorted(self._router.rooms))}")
        room = self._room(name)
        room.require(Strength.MULTI_RECORD, f"moving a scope into or out of the room {name}")
        for schema in self._schemas:
            if not room._is_prepared(schema):
                raise InvalidArgument(f"the room {name} is not prepared for {schema.name}: migrate before")
        known = {table.name for schema in self._schemas for table in schema.tables}
        unknown = room.tables() - known
        if unknown:
            raise Unsupported(
                f"the room {name} has tables of no known schema, which would be left behind: "
                f"{', '.join(sorted(unknown))}"
            )


_AFTER: Final = {
    Hold.OPEN: (Hold.OPEN,),
    Hold.FENCED: (Hold.FENCED, Hold.OPEN, Hold.LEFT),
    Hold.INCOMING: (Hold.INCOMING, Hold.OPEN, Hold.LEFT),
    Hold.LEFT: (Hold.LEFT,),
}
"""What a room may come to say of a scope next under the same number."""


def _overtaken() -> Conflict:
    return Conflict("somebody else moves the scope at the same time, or has moved it: look, and try again")
