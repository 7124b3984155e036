"""Fleets in each room of multi-record strength, and a second door to the same room where its engine can have two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from strongroom.domains import runners
from strongroom.engine import Engine
from tests.conftest import MULTI_RECORD, opener
from tests.domains.engines import RefusingEngine
from tests.domains.runners.samples import FLEET, OTHER

ONE_DOOR: Final = {"memory", "router"}
"""Rooms that one engine object has for itself: there the second door is the first, and threads share it."""


class Doors:
    """Opens engine objects on one room, and closes them all."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._opened: list[Engine] = []
        self._open: Callable[[], Engine] | None = None
        self._one = True

    def lead_to(self, open: Callable[[], Engine], *, one: bool) -> None:
        self._open, self._one = open, one

    def another(self) -> Engine:
        if self._opened and self._one:
            return self._opened[0]
        assert self._open is not None
        self._opened.append(self._stack.enter_context(self._open()))
        return self._opened[-1]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def doors() -> Iterator[Doors]:
    made = Doors()
    yield made
    made.close()


@pytest.fixture(params=MULTI_RECORD)
def room(request: pytest.FixtureRequest, tmp_path: Path, doors: Doors) -> Engine:
    """An open engine of multi-record strength with nothing in it, of each kind in turn."""
    doors.lead_to(opener(request.param, request, tmp_path), one=request.param in ONE_DOOR)
    return doors.another()


@pytest.fixture
def store(room: Engine) -> runners.RunnerStore:
    """The store of one fleet."""
    return runners.open(room).for_fleet(FLEET)


@pytest.fixture
def beside(store: runners.RunnerStore, doors: Doors) -> runners.RunnerStore:
    """The store of the same fleet through another engine object, where there can be two on one room."""
    return runners.open(doors.another()).for_fleet(FLEET)


@pytest.fixture
def other(store: runners.RunnerStore) -> runners.RunnerStore:
    """The store of another fleet in the same room."""
    return runners.Runners(store.engine).for_fleet(OTHER)


@pytest.fixture
def unasked() -> runners.RunnerStore:
    """The store of the first fleet on an engine that fails the test when it is asked for anything."""
    return runners.Runners(RefusingEngine()).for_fleet(FLEET)
