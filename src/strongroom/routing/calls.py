"""A router's single calls: each goes to the room of its scope, and what has no scope to all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from strongroom.engine import Guard, SingleCalls, WritableRows
from strongroom.records import AnyTable, Key, KeyRange, Row
from strongroom.routing import walks
from strongroom.routing.fences import Elsewhere, Place, Verdict
from strongroom.routing.scopes import HOME, Scope, scope_of
from strongroom.routing.tables import FENCES

if TYPE_CHECKING:
    from strongroom.routing.router import Router

T = TypeVar("T")


class RoutedCalls(SingleCalls):
    """Single calls of `router`.

    A read is followed by a look at the scope's fence: whoever owns the scope after the read owned it during the read,
    as fencing numbers never come again. So it takes two quick calls rather than a snapshot. A write is a transaction
    with the look in it.
    """

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._router = router

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._look(scope_of(table, key), lambda rows: rows.fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        """One snapshot for each scope that the keys are of."""
        shares: defaultdict[Scope, list[Key]] = defaultdict(list)
        for key in keys:
            shares[scope_of(table, key)].append(key)
        found: dict[Key, Row | None] = {}
        for scope, wanted in shares.items():
            look = partial(_fetch_many, table=table, keys=wanted)
            found.update(zip(wanted, self._look(scope, look), strict=True))
        return [found[key] for key in keys]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        if table.scope and not wanted.prefix:
            self._router._check_outside("call")
            return walks.fetch_range(self._router.rooms, self._router.routes, table, wanted)
        return self._look(scope_of(table, wanted.prefix), lambda rows: rows.fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        if table.scope and not prefix:
            self._router._check_outside("call")
            return walks.tally(self._router.rooms, self._router.routes, table, limit)
        return self._look(scope_of(table, prefix), lambda rows: rows.tally(table, prefix, limit))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._change(scope_of(table, key), lambda rows: rows.insert(table, key, row))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._change(scope_of(table, key), lambda rows: rows.replace(table, key, row, guard))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._change(scope_of(table, key), lambda rows: rows.put(table, key, row))

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._change(scope_of(table, key), lambda rows: rows.remove(table, key, guard))

    def clock(self) -> int:
        self._router._check_outside("call")
        return self._router.latest(self._router.home._rows.clock())

    def _look(self, scope: Scope, look: Callable[[WritableRows], T]) -> T:
        router = self._router
        router._check_outside("call")
        if scope is HOME:
            return look(router.home._rows)

        def attempt(place: Place) -> T:
            room = router.rooms[place.room]._rows
            if not router.guards(place):
                return look(room)
            try:
                found = look(room)
            finally:
                # Also a fault is of no worth where the scope lives elsewhere.
                match router.fences.judge(room.fetch(FENCES, (scope,)), place):
                    case Verdict.ELSEWHERE:
                        raise Elsewhere
                    case Verdict.LEAVING:
                        router.routes.confirm(scope, place)
            return found

        return router.routes.follow(scope, attempt)

    def _change(self, scope: Scope, change: Callable[[WritableRows], T]) -> T:
        router = self._router
        router._check_outside("call")
        if scope is HOME:
            with router.tokens_of(router.home_name):
                return change(router.home._rows)

        def attempt(place: Place) -> T:
            if not router.guards(place):
                with router.tokens_of(place.room):
                    return change(router.rooms[place.room]._rows)

            def checked(rows: WritableRows) -> T:
                router.fences.admit_writes(rows, scope, place)
                return change(rows)

            return router.commit(place.room, checked, _never)

        return router.routes.follow(scope, attempt)


def _fetch_many(rows: WritableRows, *, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
    return rows.fetch_many(table, keys)


def _never() -> bool:
    return False
