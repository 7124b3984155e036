from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import strongroom
from strongroom.conformance.backdoors import MemoryBackDoor, SqliteBackDoor
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.engines.memory import MemoryEngine

from .shop import Room


@pytest.fixture(params=["memory", "single-record", "sqlite"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    """An empty store, once on each engine."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/shop.db"
        with strongroom.open(url) as engine:
            yield Room(engine, SqliteBackDoor(tmp_path / "shop.db"), url)
        return
    memory = MemoryEngine()
    back = MemoryBackDoor(lambda: memory._store)
    with memory if request.param == "memory" else SingleRecordEngine(memory) as engine:
        yield Room(engine, back, "memory://")
