"""Rooms with nothing in them, and a router over them whose tenants are all at home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import strongroom
from strongroom.routing import Router

from .tenants import (
    IN_HOME,
    Rooms,
    fill,
    memory_rooms,
    router_over,
)


@pytest.fixture(params=["memory", "sqlite"])
def rooms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    if request.param == "memory":
        rooms = memory_rooms()
    else:
        folder = tmp_path_factory.mktemp("rooms")
        rooms = {
            name: strongroom.open(f"sqlite:///{folder}/{name}.db?synchronous=normal")
            for name in ("home", "east", "west")
        }
    yield rooms
    for room in rooms.values():
        room.close()


@pytest.fixture
def router(rooms: Rooms) -> Router:
    """A router with two filled tenants, both at home."""
    router = router_over(rooms, IN_HOME)
    fill(router, "t1")
    fill(router, "t2")
    return router
