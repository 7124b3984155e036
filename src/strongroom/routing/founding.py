"""Founding: who the rooms of a router are, and the rule that they keep to. Told from what stands in the rooms.

A store that is given under the wrong name, belongs to another router, or is looked at under another rule would answer
with nothing where there is something. Each of these is refused before the first answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Mapping
from typing import Final

from strongroom.engine import Engine, retry
from strongroom.engine.catalog import epoch_of
from strongroom.errors import AlreadyExists, InvalidArgument, VersionMismatch, clip
from strongroom.records import MAX_LIMIT
from strongroom.routing.placement import Placement
from strongroom.routing.tables import FOUNDING, MEMBERS, MEMBERSHIPS, ROUTES, Founding, Member, Membership, Route

_NAME: Final = "router"

Rooms = Mapping[str, Engine]


def found(rooms: Rooms, given: Placement) -> None:
    """Found the router that the rooms make up, unless it is: the rule in the home room, and in each room who it is.

    The rooms are prepared. May be done again, and by several at once. Raises as `founded`.
    """
    home = rooms[given.home]
    if home.get(FOUNDING, _NAME) is None:
        taken = [name for name, room in rooms.items() if room.scan(MEMBERSHIPS, limit=1)]
        # Rooms join what is founded: if the home room is still no home, they joined another one.
        if taken and home.get(FOUNDING, _NAME) is None:
            raise InvalidArgument(f"the store given as the room {taken[0]} belongs to a router with another home")
        with contextlib.suppress(AlreadyExists):  # whoever came first, the rule is held against his below
            home.insert(FOUNDING, _founding(given))
    founding = _check(rooms, given, joining=True)
    for name, room in rooms.items():
        with contextlib.suppress(AlreadyExists):
            if not room.scan(MEMBERSHIPS, limit=1):
                room.insert(MEMBERSHIPS, Membership(founding.router, name))


def founded(rooms: Rooms, given: Placement) -> tuple[Placement, dict[str, Route]]:
    """The rule that the router was founded with, and the scopes that were moved since. Nothing is written.

    Raises `InvalidArgument` where the router was not founded, or under another rule; where a store is another room or
    another router's; where a room in which scopes live is not given; and where the given table places a scope elsewhere
    than it lives.
    """
    kept = _rule(_check(rooms, given, joining=False))
    routes = routes_of(rooms[given.home])
    missing = {*kept.named_rooms(), *(route.room for route in routes.values())} - set(rooms)
    if missing:
        raise InvalidArgument(f"scopes live in rooms that are not given: {', '.join(sorted(missing))}")
    for scope, room in given.table.items():
        here = routes[scope].room if scope in routes else kept.room_of(scope)
        if room not in (here, kept.room_of(scope)):
            raise InvalidArgument(
                f"the scope {clip(scope)} is placed in {room}, and lives in {here}: name that, and move it"
            )
    return kept, routes


def joint_epoch(rooms: Rooms, home: str) -> str:
    """The epoch of a router: another one once any of its rooms was restored (R5), and the same when one joins."""

    def look() -> str:
        known = {member.room: member for member in rooms[home].scan(MEMBERS, limit=MAX_LIMIT)}
        epochs = {name: epoch_of(room) for name, room in rooms.items()}
        for name, epoch in epochs.items():
            member = known.get(name)
            if member is None:
                known[name] = Member(name, epoch)
                try:
                    rooms[home].insert(MEMBERS, known[name])
                except AlreadyExists as rival:
                    raise VersionMismatch(str(rival)) from rival
            elif member.epoch != epoch:
                known[name] = Member(name, epoch, member.restores + 1)
                rooms[home].update(MEMBERS, known[name], expect=member)
        restored = sorted(f"{member.room} {member.restores}" for member in known.values() if member.restores)
        return hashlib.blake2b(" ".join([epochs[home], *restored]).encode(), digest_size=8).hexdigest()

    return retry(look)


def _founding(given: Placement) -> Founding:
    hashed, table = ",".join(given.hashed), dict(given.table)
    return Founding(_NAME, secrets.token_hex(16), given.home, given.default, hashed, table, given.movable)


def _rule(founding: Founding) -> Placement:
    hashed = tuple(founding.hashed.split(",")) if founding.hashed else ()
    return Placement(founding.home, hashed, founding.default, founding.table, founding.movable)


def _check(rooms: Rooms, given: Placement, *, joining: bool) -> Founding:
    founding = rooms[given.home].get(FOUNDING, _NAME)
    if founding is None:
        raise InvalidArgument(f"the room {given.home} is no router's home yet: prepare a schema first")
    kept = _rule(founding)
    for what in ("home", "hashed", "default", "movable"):
        if getattr(kept, what) != getattr(given, what):
            raise InvalidArgument(
                f"the router was founded with {what} {_said(getattr(kept, what))}, not {_said(getattr(given, what))}: "
                "that never changes, or rows would be looked for where they are not"
            )
    for name, room in rooms.items():
        memberships = room.scan(MEMBERSHIPS, limit=2)
        if not memberships and not joining:
            raise InvalidArgument(f"the room {name} has not joined the router yet: prepare a schema first")
        for membership in memberships:
            if membership != Membership(founding.router, name):
                whose = "this router" if membership.router == founding.router else "another router"
                raise InvalidArgument(f"the store given as the room {name} is the room {membership.room} of {whose}")
    return founding


def routes_of(home: Engine) -> dict[str, Route]:
    """Every scope that was ever moved, as the home room has it."""
    routes: dict[str, Route] = {}
    after: tuple[str, ...] | None = None
    while page := home.scan(ROUTES, after=after, limit=MAX_LIMIT):
        routes.update((route.scope, route) for route in page)
        after = (page[-1].scope,)
    return routes


def _said(value: str | bool | tuple[str, ...]) -> str:
    return (", ".join(value) if isinstance(value, tuple) else str(value)) or "none"
