"""The rooms that engine-independent tests run in: every test that takes `room` runs once on each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from zlib import crc32

import pytest

import strongroom
from servers.etcd import store_url
from servers.run import current
from servers.server import Address
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.engine import Engine
from strongroom.routing import Placement, Router

pytest_plugins = ["servers.fixtures", "tests.at_once"]

# What survives a power cut is the conformance kit's to ask; here a flush for every commit would only make thousands of
# tests slow.
OPENERS: dict[str, Callable[[Path], Engine]] = {
    "memory": lambda _folder: strongroom.open("memory://"),
    "sqlite": lambda folder: strongroom.open(f"sqlite:///{folder}/room.db?synchronous=normal"),
    "single-record": lambda _folder: SingleRecordEngine(strongroom.open("memory://")),
    "router": lambda folder: Router(
        {
            "home": strongroom.open("memory://"),
            "east": strongroom.open(f"sqlite:///{folder}/east.db?synchronous=normal"),
            "west": strongroom.open("memory://"),
        },
        Placement("home", hashed=("home", "east", "west")),
    ),
}

SERVERS: dict[str, Callable[[Address, str], str]] = {
    "dynamodb": lambda server, name: server.url(name),
    "etcd": lambda server, name: store_url([server], name),
    "mariadb": lambda server, name: server.url(name),
    "postgres": lambda server, name: server.url(schema=name, synchronous_commit="off"),
}
"""The URL of a store of that name, for each fixture that is a server. They take longer."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-room", action="store_true", help="run every test that takes a room on every server, not on one of them"
    )


FOLLOWED_FOR_LONG = ("test_sqlite.py", "test_postgres.py")
"""Where the engine is followed for long by the model in every run; elsewhere that is one of the long tests."""


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each test that takes a room one of the servers: always the same, and each server about as many.

    What is marked `every_room` keeps them all.
    """
    for item in items:
        if "as_a_plain_model_does_for_long" in item.name and item.path.name not in FOLLOWED_FOR_LONG:
            item.add_marker(pytest.mark.long)
    if config.getoption("every_room"):
        return
    names = sorted(SERVERS)
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        kind = str(item.callspec.params.get("room")) if hasattr(item, "callspec") else ""
        every = kind not in SERVERS or item.get_closest_marker("every_room") is not None
        chosen = every or names[crc32(item.nodeid.replace(kind, "").encode()) % len(names)] == kind
        (kept if chosen else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps tests that are marked to be alone by one name from running at the same time."""
    marker = request.node.get_closest_marker("alone")
    with current().alone(*marker.args) if marker else nullcontext():
        yield


@pytest.fixture(params=[*sorted(OPENERS), *(pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(SERVERS))])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine with nothing in it, of each kind in turn; also one of single-record strength only."""
    with opener(request.param, request, tmp_path)() as engine:
        yield engine


def opener(kind: str, request: pytest.FixtureRequest, folder: Path) -> Callable[[], Engine]:
    """Opens engine objects on one new room of that kind: a database's where the kind is a server's fixture."""
    if kind not in SERVERS:
        return lambda: OPENERS[kind](folder)
    url = SERVERS[kind](request.getfixturevalue(kind), f"room_{secrets.token_hex(6)}")
    return lambda: strongroom.open(url)


MULTI_RECORD = [
    *sorted(OPENERS.keys() - {"single-record"}),
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(SERVERS)),
]
"""The kinds of rooms whose transactions hold many records, as a fixture's parameters."""
