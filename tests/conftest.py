"""The rooms that engine-independent tests run in: every test that takes `room` runs once on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import strongroom
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.engine import Engine

pytest_plugins = ["servers.fixtures"]

# What survives a power cut is the conformance kit's to ask; here a flush for every commit would only make thousands of
# tests slow.
OPENERS: dict[str, Callable[[Path], Engine]] = {
    "memory": lambda _folder: strongroom.open("memory://"),
    "sqlite": lambda folder: strongroom.open(f"sqlite:///{folder}/room.db?synchronous=normal"),
    "single-record": lambda _folder: SingleRecordEngine(strongroom.open("memory://")),
}


@pytest.fixture(params=sorted(OPENERS))
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine with nothing in it, of each kind in turn; also one of single-record strength only."""
    with OPENERS[request.param](tmp_path) as engine:
        yield engine
