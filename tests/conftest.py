"""The rooms that engine-independent tests run in: every test that takes `room` runs once on each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.engine import Engine
from strongroom.routing import Placement, Router

pytest_plugins = ["servers.fixtures"]

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


@pytest.fixture(params=[*sorted(OPENERS), *(pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(SERVERS))])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine with nothing in it, of each kind in turn; also one of single-record strength only."""
    kind = request.param
    if kind in SERVERS:
        url = SERVERS[kind](request.getfixturevalue(kind), f"room_{secrets.token_hex(6)}")
        engine = strongroom.open(url)
    else:
        engine = OPENERS[kind](tmp_path)
    with engine:
        yield engine
