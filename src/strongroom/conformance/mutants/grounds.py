"""Where mutants are hunted: engines, and test engines in front of one; each harness has stores of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from strongroom.conformance.flushes import FlushCountingHarness
from strongroom.conformance.harness import Harness
from strongroom.conformance.harnesses.router import RouterHarness
from strongroom.conformance.mutants.ground_buffered import BufferedEngine
from strongroom.conformance.mutants.registry import Ground
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.conformance.unreliable import UnreliableHarness
from strongroom.conformance.url_harness import UrlHarness
from strongroom.conformance.wrapping import WrappedHarness
from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument
from strongroom.routing import Placement

SCHEMES: Final = {
    "postgresql": Ground.POSTGRES,
    "postgres": Ground.POSTGRES,
    "mysql": Ground.MYSQL,
    "mariadb": Ground.MYSQL,
    "etcd": Ground.ETCD,
    "dynamodb": Ground.DYNAMODB,
}

EXAMPLES: Final = {
    Ground.POSTGRES: "postgresql://USER@HOST/DATABASE?schema=mutants",
    Ground.MYSQL: "mysql://USER@HOST/mutants",
    Ground.GALERA: "mysql://USER@HOST/mutants?hosts=HOST,HOST&balance=1",
    Ground.ETCD: "etcd://HOST:2379/mutants",
    Ground.DYNAMODB: "dynamodb://mutants?endpoint=http://HOST:8000",
}
"""A URL for each ground that needs a server."""


def ground_of(url: str) -> Ground:
    """The ground that a server's URL is; one of MySQL's with several hosts is a Galera cluster.

    Raises `InvalidArgument` for what is no URL, and for an engine whose mutants need no server.
    """
    parsed = StoreUrl.parse(url)
    ground = SCHEMES.get(parsed.scheme)
    if ground is None:
        known = ", ".join(sorted({ground.value for ground in SCHEMES.values()}))
        raise InvalidArgument(f"{parsed.scheme}: mutants are hunted on servers of {known}")
    return Ground.GALERA if ground is Ground.MYSQL and parsed.options.get("hosts") else ground


class Grounds:
    """Harnesses, each with stores of its own: what a stuck case leaves behind disturbs nobody.

    Arguments:
        folder: where stores that are files are made.
        servers: the URL of a store for each ground that needs a server. What is there already is never touched.
    """

    def __init__(self, folder: Path, servers: Mapping[Ground, str]) -> None:
        self._folder = folder
        self._servers = servers
        self._numbers = itertools.count(1)

    def has(self, ground: Ground) -> bool:
        """Whether anything can be hunted there."""
        return not ground.needs_server or ground in self._servers

    def harness(self, ground: Ground) -> Harness:
        """A new harness for this ground."""
        if ground.needs_server:
            return UrlHarness(self._servers[ground])
        number = next(self._numbers)
        if ground in (Ground.SQLITE, Ground.WATCHED):
            # The least limit, or it would take long to write more than that.
            url = f"sqlite:///{self._folder}/{number}.db?wal_limit_mib=1"
            return UrlHarness(url) if ground is Ground.SQLITE else FlushCountingHarness(url)
        if ground is Ground.ROUTER:
            names = ("home", "east", "west")
            rooms = {name: UrlHarness(f"memory://mutants-{os.getpid()}-{number}-{name}") for name in names}
            return RouterHarness(rooms, Placement("home", hashed=names))
        inner = UrlHarness(f"memory://mutants-{os.getpid()}-{number}")
        if ground is Ground.SINGLE_RECORD:
            return WrappedHarness(inner, SingleRecordEngine, name="single-record memory")
        if ground is Ground.BUFFERED:
            return WrappedHarness(inner, BufferedEngine, name="buffered memory")
        return UnreliableHarness(inner) if ground is Ground.UNRELIABLE else inner
