"""A harness for a router, made of one harness for each of its rooms."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from strongroom.conformance.harness import Ability, Harness
from strongroom.engine import Engine
from strongroom.records import AnyTable, Stored
from strongroom.routing import Placement, Router
from strongroom.routing.scopes import HOME, scope_of

_NOT: Final = frozenset({Ability.PROCESSES, Ability.EXCLUSIVE})
"""What is not simply what all rooms are able to do."""


class RouterHarness(Harness):
    """A router over one store of each of `rooms`. It is able to do what all of them are able to.

    Arguments:
        rooms: a harness for each room, by the room's name; they are closed with this one.
        placement: which scope lives where.
        seal_key: the key that the rooms' harnesses seal with.
    """

    name = "router"

    def __init__(self, rooms: Mapping[str, Harness], placement: Placement, *, seal_key: bytes | None = None) -> None:
        self.rooms = dict(rooms)
        self.placement = placement
        self._seal_key = seal_key
        self._folder = tempfile.TemporaryDirectory(prefix="strongroom-router-")

    def open(self) -> Engine:
        return self._opened(lambda room: room.open())

    def open_hasty(self) -> Engine:
        return self._opened(lambda room: room.open_hasty())

    def fresh(self) -> None:
        for room in self.rooms.values():
            room.wanted = self.wanted - _NOT
            room.fresh()

    def close(self) -> None:
        with contextlib.ExitStack() as all_of_them:
            all_of_them.callback(self._folder.cleanup)
            for room in self.rooms.values():
                all_of_them.callback(room.close)

    @property
    def url(self) -> str:
        urls = {name: room.url for name, room in self.rooms.items()}
        if not all(urls.values()) or self._seal_key is not None:
            return ""
        place = self.placement
        lines = [
            f"home = {json.dumps(place.home)}",
            f"hash = {json.dumps(place.hashed)}",
            f"default = {json.dumps(place.default)}",
            f"movable = {json.dumps(place.movable)}",
        ]
        for heading, pairs in (("rooms", urls), ("scopes", place.table)):
            lines += [f"[{heading}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in pairs.items())]
        file = Path(self._folder.name) / "rooms.toml"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return f"router:///{file}"

    @property
    def abilities(self) -> frozenset[Ability]:
        shared = frozenset.intersection(*(room.abilities for room in self.rooms.values())) - _NOT
        return shared | super().abilities

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._room_of(table, key).tamper(table, key, column, value)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        return self._room_of(table, key).peek(table, key)

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        self._room_of(table, key).remove(table, key)

    def raw_update_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._room_of(table, key).raw_update_refused(table, key, column, value)

    def raw_replace_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._room_of(table, key).raw_replace_refused(table, key, column, value)

    def raw_delete_refused(self, table: AnyTable, key: Sequence[Any]) -> bool:
        return self._room_of(table, key).raw_delete_refused(table, key)

    def image(self) -> bytes:
        return b"".join(room.image() for room in self.rooms.values())

    def flushes(self) -> int:
        return sum(room.flushes() for room in self.rooms.values())

    @contextmanager
    def inflict(self, fault: Ability) -> Iterator[None]:
        with contextlib.ExitStack() as faults:
            for room in self.rooms.values():
                faults.enter_context(room.inflict(fault))
            yield

    def cut(self) -> None:
        for room in self.rooms.values():
            room.cut()

    def _room_of(self, table: AnyTable, key: Sequence[Any]) -> Harness:
        scope = scope_of(table, table.store_key(key))
        return self.rooms[self.placement.home if scope is HOME else self.placement.room_of(scope)]

    def _opened(self, opened: Callable[[Harness], Engine]) -> Engine:
        with contextlib.ExitStack() as undo:
            rooms = {name: undo.enter_context(opened(room)) for name, room in self.rooms.items()}
            router = Router(rooms, self.placement, seal_key=self._seal_key)
            undo.pop_all()
        return router
