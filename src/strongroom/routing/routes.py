"""Routes: where scopes live, as one router remembers it, and how it finds out better."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from strongroom.engine import Backoff
from strongroom.errors import Corrupt, Unavailable, clip
from strongroom.routing.fences import Elsewhere, Place
from strongroom.routing.founding import Rooms, founded, routes_of
from strongroom.routing.placement import Placement
from strongroom.routing.tables import ROUTES, Route

T = TypeVar("T")

_WAITS: Final = Backoff(first_ms=1, cap_ms=50)


class Routes:
    """The places of scopes. Nothing is looked up before the first is asked for.

    Arguments:
        rooms, given: the router's rooms, and the placement that it was given.
        hold: how long a call waits for a scope that is about to move, in seconds.

    Every method raises as `founded` as long as that was not asked, and as the home room does.
    """

    def __init__(self, rooms: Rooms, given: Placement, hold: float) -> None:
        self._rooms = rooms
        self._home = rooms[given.home]
        self._given = given
        self._hold = hold
        self._known: tuple[Placement, dict[str, Route]] | None = None
        self._loading = threading.Lock()

    @property
    def placement(self) -> Placement:
        """The rule that the router was founded with."""
        return self._loaded()[0]

    def place(self, scope: str) -> Place:
        """Where a scope lives, as this router believes."""
        placement, routes = self._loaded()
        route = routes.get(scope)
        return Place(placement.room_of(scope)) if route is None else Place.of(route)

    def look_up(self, scope: str) -> Place:
        """Where a scope lives, as the home room says now."""
        routes = self._loaded()[1]
        route = self._home.get(ROUTES, scope)
        known = routes.get(scope)
        if (0 if route is None else route.number) < (0 if known is None else known.number):
            raise _forgotten(scope)
        if route is not None:
            routes[scope] = route
        return self.place(scope)

    def all_moved(self) -> dict[str, Route]:
        """Every scope that was ever moved, as the home room says now."""
        placement, _routes = self._loaded()
        routes = routes_of(self._home)
        self._known = placement, routes
        return routes

    def load(self) -> None:
        """Look at all of it anew: the rooms, the rule, and the scopes that were moved."""
        with self._loading:
            self._known = founded(self._rooms, self._given)

    def route(self, scope: str) -> Route:
        """The route of a scope that is known to have been moved."""
        return self._loaded()[1][scope]

    def confirm(self, scope: str, place: Place) -> None:
        """Raises `Elsewhere` unless the scope still lives at `place`."""
        found = self.look_up(scope)
        if (found.room, found.number) != (place.room, place.number):
            raise Elsewhere

    def follow(self, scope: str, attempt: Callable[[Place], T]) -> T:
        """What `attempt` answers at the place of the scope; made again where it raises `Elsewhere`.

        Raises `Unavailable` (retryable) where the scope is held for a move for longer than a call waits, `Corrupt`
        where the rooms know of a move that the home room does not.
        """
        place = self.place(scope)
        until = time.monotonic() + self._hold
        for waits in range(2**62):
            try:
                return attempt(place)
            except Elsewhere:
                before, place = place, self.look_up(scope)
            if (before.room, before.number) != (place.room, place.number):
                continue
            if not place.moving:
                raise _forgotten(scope)
            if time.monotonic() >= until:
                raise Unavailable(f"the scope {clip(scope)} is being moved out of the room {place.room}: try again")
            time.sleep(_WAITS.pause(min(waits, 10)))
        raise AssertionError("unreachable")

    def _loaded(self) -> tuple[Placement, dict[str, Route]]:
        known = self._known
        if known is None:
            with self._loading:
                known = self._known = self._known or founded(self._rooms, self._given)
        return known


def _forgotten(scope: str) -> Corrupt:
    return Corrupt(
        f"the scope {clip(scope)} was moved, and the home room does not know: was it put back to an older state?",
        table=ROUTES.name,
        key=(scope,),
    )
