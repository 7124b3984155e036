"""The router with one safeguard broken: where scopes are looked for, what crosses them, and their moves.

The kit moves no scopes. What breaks a move has no ground to be hunted on: `tests/routing/test_mutants.py` holds the
tests of moves to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Guard, WrappedRows, WritableRows
from strongroom.records import AnyTable, Key, KeyRange, Row
from strongroom.routing import founding, placement, walks
from strongroom.routing.copying import Digest, ScopeRows, Watch, _Stretch
from strongroom.routing.fences import Fences, Place, Verdict
from strongroom.routing.founding import Rooms
from strongroom.routing.moving import _Move
from strongroom.routing.router import Router
from strongroom.routing.routes import Routes
from strongroom.routing.scopes import ScopedReads
from strongroom.routing.tables import ROUTES, Hold, Route, Stage

ROUTER = Ground.ROUTER


# Where rows are looked for, and what crosses scopes.


@mutant("K3", "R5", on=ROUTER)
def router_walk_across_scopes_sees_one_room(patch: Patches) -> None:
    """What crosses scopes is read from one room only."""
    fetch_range = walks.fetch_range
    patch.function(fetch_range, lambda rooms, *rest: fetch_range(_first(rooms), *rest))


@mutant("R5", "S1", on=ROUTER)
def router_count_across_scopes_sees_one_room(patch: Patches) -> None:
    """What crosses scopes is counted in one room only."""
    tally = walks.tally
    patch.function(tally, lambda rooms, *rest: tally(_first(rooms), *rest))


@mutant("K3", "R5", on=ROUTER)
def router_walk_across_scopes_is_not_merged(patch: Patches) -> None:
    """What crosses scopes comes one room after the other, each in its own order."""

    def in_turn(rooms: Rooms, _routes: Routes, table: AnyTable, wanted: KeyRange) -> list[Row]:
        found = [row for name in sorted(rooms) for row in rooms[name]._rows.fetch_range(table, wanted)]
        return found[: wanted.limit]

    patch.function(walks.fetch_range, in_turn)


@mutant("K3", "M1", on=ROUTER)
def router_migrates_its_home_alone(patch: Patches) -> None:
    """A schema's steps are applied in the home room, and in no other."""
    patch.method(Router, "_migrate", lambda self, work: (self._found(), self.home._migrate(work))[1])


@mutant("S1")
def router_hash_ignores_the_scope(patch: Patches) -> None:
    """A room's weight does not depend on the scope: all scopes live in one room."""
    score = placement._score
    patch.function(score, lambda _scope, room: score("", room))


@mutant("T1", "S1")
def router_functions_may_cross_scopes(patch: Patches) -> None:
    """A function that touches a second scope goes on in the first one's room."""
    patch.method(ScopedReads, "_check", lambda self, _table, _key: None)


@mutant("T6")
def router_token_does_not_name_its_room(patch: Patches) -> None:
    """The token of a commit that nobody answered for is given to whichever room is home."""
    patch.method(Router, "resolve", lambda self, token: self.home.resolve(token.partition(":")[2]))


@mutant("R5")
def router_epoch_is_that_of_its_home(patch: Patches) -> None:
    """A restore of another room than the home room begins no new epoch."""
    joint_epoch = founding.joint_epoch
    patch.function(joint_epoch, lambda rooms, home: joint_epoch({home: rooms[home]}, home))


# Who owns a scope.


@mutant("S1", "R1")
def router_two_owners_after_a_move(patch: Patches) -> None:
    """The number of a scope's fence is not compared: a room that it left serves it to whoever comes with an old map."""
    patch.method(Fences, "judge", lambda self, _row, _place: Verdict.HERE)


@mutant("T2")
def router_writes_do_not_look_at_the_fence(patch: Patches) -> None:
    """A write goes to where its router believes the scope to be."""
    patch.method(Fences, "admit_writes", lambda self, _rows, _scope, _place: 0)


@mutant("R1")
def router_reads_behind_the_fence_are_not_confirmed(patch: Patches) -> None:
    """What was read while a scope was about to leave is answered without asking whether it has left meanwhile."""
    patch.method(Routes, "confirm", lambda self, _scope, _place: None)


@mutant("S1")
def router_rows_left_behind_are_met_again(patch: Patches) -> None:
    """What crosses scopes meets a scope that was moved in every room that has rows of it."""
    patch.function(walks._owners, lambda _routes: {})


@mutant("D3")
def router_forgotten_moves_are_not_noticed(patch: Patches) -> None:
    """A home room that knows less than the others is believed."""

    def believing(self: Any, scope: str) -> Place:
        routes = self._loaded()[1]
        route = self._home.get(ROUTES, scope)
        routes.pop(scope, None)
        if route is not None:
            routes[scope] = route
        place: Place = self.place(scope)
        return place

    patch.method(Routes, "look_up", believing)


# The steps of a move.


@mutant("T2")
def router_move_without_its_fence(patch: Patches) -> None:
    """A scope is copied and switched while its source goes on taking writes."""
    fence = _Move._fence

    def heedless(self: _Move, room: str, number: int, hold: Hold, *, since: int = 0) -> None:
        if hold is not Hold.FENCED:
            fence(self, room, number, hold, since=since)

    patch.method(_Move, "_fence", heedless)


@mutant("R4")
def router_digests_not_compared(patch: Patches) -> None:
    """A copy is taken to be whole because it was made."""

    def digest(self: ScopeRows, _watch: Watch) -> Digest:
        return Digest(0, {table.name: "" for table, _ in self._held()})

    patch.method(ScopeRows, "digest", digest)


@mutant("D1")
def router_source_lets_go_before_the_switch(patch: Patches) -> None:
    """The source is told that the scope has left before the home room knows: a crash in between leaves no owner."""
    step = _Move._step

    def hasty(self: _Move, route: Route) -> Route:
        if route.stage is Stage.VERIFIED:
            self._fence(route.room, route.number + 1, Hold.LEFT)
        return step(self, route)

    patch.method(_Move, "_step", hasty)


@mutant("D1")
def router_source_is_cleared_before_the_switch(patch: Patches) -> None:
    """The source's rows are removed as soon as the copy is verified: a crash in between loses them."""
    step = _Move._step

    def hasty(self: _Move, route: Route) -> Route:
        if route.stage is Stage.VERIFIED:
            self._fence(route.room, route.number + 1, Hold.LEFT)
            self._rows(route.room, route.number + 1).remove(lambda _table, _rows: None)
        return step(self, route)

    patch.method(_Move, "_step", hasty)


@mutant("D1", "S1")
def router_switch_before_the_copy_is_whole(patch: Patches) -> None:
    """The scope is switched with the first copy, made while its source went on."""
    step = _Move._step

    def hasty(self: _Move, route: Route) -> Route:
        if route.stage is Stage.FENCED:
            self._fence(route.other, route.number + 1, Hold.INCOMING)
            return self._mark(route, route.replace(stage=Stage.VERIFIED))
        return step(self, route)

    patch.method(_Move, "_step", hasty)


@mutant("T2", "W2")
def router_switch_is_no_compare_and_set(patch: Patches) -> None:
    """A mover that was taken for dead writes its next step over whatever another one has done since."""

    def over(self: _Move, before: Route, after: Route) -> Route:
        home = self._router.home
        found = home.get(ROUTES, self._scope)
        after = after.replace(version=(found or before).version + 1)
        if found is None:
            home.insert(ROUTES, after)
        else:
            home.update(ROUTES, after, expect=found)
        self._watch(after.stage, "", 0)
        return after

    patch.method(_Move, "_mark", over)


@mutant("W3")
def router_deleted_rows_come_along(patch: Patches) -> None:
    """A second copy adds and changes rows, and removes none."""
    replaced_by = _Stretch.replaced_by

    def adding(self: _Stretch, wanted: Sequence[Row]) -> Callable[[WritableRows], None]:
        change = replaced_by(self, wanted)
        return lambda rows: change(_Keeping(rows))

    patch.method(_Stretch, "replaced_by", adding)


@mutant("S1")
def router_target_may_have_rows_already(patch: Patches) -> None:
    """A target is not asked whether it has rows of the scope that no move has brought there."""
    patch.method(ScopeRows, "is_empty", lambda self: True)


@mutant("T2")
def router_time_of_a_scope_goes_back(patch: Patches) -> None:
    """The time that a scope has come to stays behind in its former room."""
    patch.method(_Move, "_time_in", lambda self, _room: 0)


class _Keeping(WrappedRows):
    """Removes nothing."""

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return True


def _first(rooms: Rooms) -> Rooms:
    name = min(rooms)
    return {name: rooms[name]}
