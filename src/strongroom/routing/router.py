"""The router: one engine in front of many, which finds for each scope the room that it lives in.

A store that is bound to a scope can't tell it from a single engine. What crosses scopes (verify, inspect, ls) walks all
rooms; only a function that touches two scopes is refused, wherever they live, so that it does not begin to fail on the
day when one of them moves.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from strongroom.engine import Claims, Engine, Rows, SchemaRows, Strength, WritableRows
from strongroom.engine.catalog import CATALOG
from strongroom.errors import CommitUnknown, InvalidArgument
from strongroom.records import Schema
from strongroom.routing.calls import RoutedCalls
from strongroom.routing.fences import Fences, Place, Verdict
from strongroom.routing.founding import found, joint_epoch
from strongroom.routing.placement import Placement, check_name
from strongroom.routing.routes import Routes
from strongroom.routing.scopes import HOME, Probe, ScopedReads, ScopedRows, Touched
from strongroom.routing.tables import FENCES, ROUTER

T = TypeVar("T")

HOLD_MS: Final = 10_000
"""How long a write waits for a scope that is about to move, in milliseconds."""


class Router(Engine):
    """An engine over `rooms`, which it closes with itself.

    Arguments:
        rooms: open engines by name, all under one seal key.
        placement: which scope lives where until it is moved; the one that the router was founded with.
        seal_key: the key that the rooms were opened with.
        hold_ms: how long a write waits while its scope is moved, before it is `Unavailable`.

    Raises `InvalidArgument` for a name that no room can have, and for a room that the placement names and that is not
    given. Every call raises it where the rooms are not what they are given as, see `founded`.
    """

    def __init__(
        self,
        rooms: Mapping[str, Engine],
        placement: Placement,
        *,
        seal_key: bytes | None = None,
        hold_ms: int = HOLD_MS,
    ) -> None:
        for name in rooms:
            check_name(name)
        missing = placement.named_rooms() - set(rooms)
        if missing:
            raise InvalidArgument(f"no room {', '.join(sorted(missing))}; there are {', '.join(sorted(rooms))}")
        self.rooms = dict(rooms)
        self.home_name = placement.home
        self.home = rooms[placement.home]
        self.claims = _weakest([room.claims for room in rooms.values()])
        self.routes = Routes(self.rooms, placement, hold_ms / 1000)
        self._once = self.claims.strength < Strength.MULTI_RECORD
        self._given = placement
        self._last = 0
        self._timing = threading.Lock()
        super().__init__("router", seal_key=seal_key)
        self.fences = Fences(self._codecs[FENCES])

    # What crosses rooms.

    def prepare(self, schema: Schema) -> None:
        """Bring every room to `schema`, and to what the router keeps itself; make the rooms a router.

        No room is touched before all were looked at (M2). Raises as `Engine.prepare` and `founded`; `InvalidArgument`
        for a schema with tables of the router's names.
        """
        self._check_outside("prepare")
        taken = {table.name for table in ROUTER.tables} & {table.name for table in schema.tables}
        if taken:
            raise InvalidArgument(f"schema {schema.name}: the router has tables {', '.join(sorted(taken))} of its own")
        first = schema.name not in self._prepared
        super().prepare(schema)
        if first:
            self._found()

    @property
    def epoch(self) -> str:
        """The epoch of all rooms together: 16 hex digits, new when any of them was restored (R5)."""
        if self._epoch is None:
            self.prepare(CATALOG)
            self._epoch = joint_epoch(self.rooms, self.home_name)
        return self._epoch

    def check_seal_key(self) -> str | None:
        """As `Engine.check_seal_key`, of every room."""
        found = {name: room.check_seal_key() for name, room in self.rooms.items()}
        return found[self.home_name]

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """When the rooms flush (D2), what they are, and the rule by which scopes find them."""
        self._check_open()
        rule = f"by hash over {', '.join(self._given.hashed)}" if self._given.hashed else f"in {self._given.default}"
        told = {name: room.describe().get("flush") for name, room in sorted(self.rooms.items())}
        return {
            "flush": "; ".join(f"{name}: {flush}" for name, flush in told.items() if flush),
            "home": self.home_name,
            "rooms": tuple(
                f"{name}: {room.name} ({room.claims.strength.shown})" for name, room in sorted(self.rooms.items())
            ),
            "scopes": rule,
            "scopes_by_name": len(self._given.table),
            "scopes_movable": self._given.movable,
        }

    def resolve(self, token: str) -> bool:
        """As the `resolve` of the room that gave the token out."""
        name, colon, rest = token.partition(":")
        if not colon or name not in self.rooms:
            raise InvalidArgument("router: the token is of none of its rooms")
        return self.rooms[name].resolve(rest)

    # Functions.

    def _read(self, work: Callable[[Rows], T]) -> T:
        probe = self._probe(work)
        scope = probe.scope
        if scope is HOME:
            return self.home._read(lambda rows: work(ScopedReads(rows, HOME, probe.shown, self._once)))

        def attempt(place: Place) -> T:
            verdict = [Verdict.HERE]

            def checked(rows: Rows) -> T:
                if self.guards(place):
                    verdict[0] = self.fences.admit_reads(rows, scope, place)
                return work(ScopedReads(rows, scope, probe.shown, self._once))

            try:
                return self.rooms[place.room]._read(checked)
            finally:
                # Also what it raised is of no worth where the scope had left.
                if verdict[0] is Verdict.LEAVING:
                    self.routes.confirm(scope, place)

        return self.routes.follow(scope, attempt)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        probe = self._probe(work)
        scope = probe.scope
        if scope is HOME:
            return self.commit(
                self.home_name,
                lambda rows: work(ScopedRows(rows, HOME, probe.shown, self._once, self.latest)),
                abandoned,
            )

        def attempt(place: Place) -> T:
            def checked(rows: WritableRows) -> T:
                since = self.fences.admit_writes(rows, scope, place) if self.guards(place) else 0
                return work(ScopedRows(rows, scope, probe.shown, self._once, lambda now: self.latest(max(now, since))))

            return self.commit(place.room, checked, abandoned)

        return self.routes.follow(scope, attempt)

    def _probe(self, work: Callable[[WritableRows], object]) -> Probe:
        """What `work` asks for first: it is run as far as that."""
        probe = Probe(self.latest)
        # What it raises before it asks for anything, it will raise in the home room again.
        with contextlib.suppress(Touched, Exception):
            work(probe)
        return probe

    # What its parts use.

    def guards(self, place: Place) -> bool:
        """Whether fences are looked at where the scope lives: a room of single operations has no place for a look."""
        return self._given.movable and self.rooms[place.room].claims.strength >= Strength.MULTI_RECORD

    def commit(self, room: str, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        """What `work` returns from a transaction of the room; a `CommitUnknown` names the room in its token."""
        raised: list[BaseException] = []

        def noted(rows: WritableRows) -> T:
            raised.clear()
            try:
                return work(rows)
            except BaseException as fault:
                raised.append(fault)
                raise

        with self.tokens_of(room, raised):
            return self.rooms[room]._write(noted, abandoned)

    @contextlib.contextmanager
    def tokens_of(self, room: str, raised: Sequence[BaseException] = ()) -> Iterator[None]:
        """Let a `CommitUnknown` of the room, but for one that a function raised by itself, name the room (T6)."""
        try:
            yield
        except CommitUnknown as fault:
            if any(fault is own for own in raised):
                raise
            raise CommitUnknown(str(fault), token=f"{room}:{fault.token}") from fault

    def latest(self, now: int = 0) -> int:
        """`now`, or what this router told last if that is later: rooms' clocks differ, and time never goes back."""
        with self._timing:
            self._last = max(self._last, now)
            return self._last

    def _single_calls(self) -> WritableRows:
        return RoutedCalls(self)

    def _is_prepared(self, schema: Schema) -> bool:
        # Each room is looked at, so that none is touched where another was written by newer code (M2).
        prepared = [room._is_prepared(one) for one in (ROUTER, schema) for room in self.rooms.values()]
        return all(prepared)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        """Run `work` in each room, the home room last: what that has on record, all of them have (M3)."""
        self._found()
        for name, room in self.rooms.items():
            if name != self.home_name:
                room._migrate(work)
        return self.home._migrate(work)

    def _found(self) -> None:
        """Make the rooms a router, unless they are one; look who they are."""
        for room in self.rooms.values():
            room.prepare(ROUTER)
        found(self.rooms, self._given)
        self.routes.load()

    def _tables(self) -> set[str]:
        return set().union(*(room.tables() for room in self.rooms.values()))

    def _close(self) -> None:
        with contextlib.ExitStack() as all_of_them:
            for room in self.rooms.values():
                all_of_them.callback(room.close)


def _weakest(claims: Sequence[Claims]) -> Claims:
    return Claims(
        strength=min(one.strength for one in claims),
        durability=min(one.durability for one in claims),
        sharing=min(one.sharing for one in claims),
        guards_immutable=all(one.guards_immutable for one in claims),
        reopens=all(one.reopens for one in claims),
        one_scope=True,
    )
