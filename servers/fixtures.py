"""The servers as pytest fixtures: started when first asked for, shared by a whole test run, ended with it.

A parallel run's workers share them too. What a machine can't have is skipped, by name; where the environment variable
``CI`` is set it is an error instead, as nobody reads there what was skipped.

A test that stops, kills or cuts a server asks for one of its own (`own_postgres` and the like). A module that wants to
keep one for all of its tests makes a fixture of its own, with `need`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import pytest

from servers.dynamodb import CREDENTIALS, DynamoAddress, any_dynamodb
from servers.errors import Missing
from servers.etcd import Etcd, EtcdCluster
from servers.galera import Galera
from servers.machine import available, find
from servers.mariadb import MariaDB
from servers.pgbouncer import PgBouncer
from servers.postgres import Postgres
from servers.run import Run, current, join
from servers.server import Address, Server

S = TypeVar("S")


def need(kind: str) -> None:
    """Skip the test where that kind of server can't be had (see `servers.machine`); where ``CI`` is set, fail it."""
    try:
        find(kind)
    except Missing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{kind}: {missing}; `python -m servers install` gets what can be had")


def pytest_configure(config: pytest.Config) -> None:
    """Make the run of the servers, or join that of the process that started this one as a worker."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        join(Run(Path(given["servers_run"]), given["servers_owner"]))
        return
    # Tests kill servers, but cut nobody's power: what a server flushes may stay in memory, away from a slow disk.
    run = Run.named(f"{os.getpid()}-{os.urandom(4).hex()}", os.getpid(), flushed=False)
    config.stash[RUN] = run
    join(run)
    config.add_cleanup(run.end)


def pytest_report_header() -> str:
    """Say which of the two DynamoDBs is tested with."""
    found = available()["dynamodb"]
    return f"dynamodb: {f'none: {found}' if isinstance(found, Missing) else found}"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of a parallel run which run of servers to join."""
    run = node.config.stash[RUN]
    node.workerinput["servers_run"], node.workerinput["servers_owner"] = str(run.folder), run.owner


RUN = pytest.StashKey[Run]()


def _shared(kind: str, make: Callable[[], Server | Galera | EtcdCluster], *, name: str | None = None) -> list[Address]:
    """Where the run's server of that kind, and of that name, answers; the first to ask starts it."""
    need(kind)

    def start() -> list[dict[str, Any]]:
        server = make()
        try:
            server.start()
        except BaseException:
            server.close()
            raise
        addresses = [server.address] if isinstance(server, Server) else server.addresses
        return [asdict(address) for address in addresses]

    return [Address(**address) for address in current().once(f"shared-{name or kind}", start)]


@pytest.fixture(scope="session")
def postgres() -> Address:
    """The system's PostgreSQL."""
    return _shared("postgres", Postgres)[0]


@pytest.fixture(scope="session")
def postgres18() -> Address:
    """PostgreSQL 18, of the wheel."""
    return _shared("postgres18", lambda: Postgres("postgres18"))[0]


@pytest.fixture(scope="session")
def pgbouncer(postgres: Address) -> Address:
    """A pgbouncer in transaction pooling before `postgres`."""
    return _shared("pgbouncer", lambda: PgBouncer(postgres))[0]


@pytest.fixture(scope="session")
def mariadb() -> Address:
    """A single MariaDB."""
    return _shared("mariadb", MariaDB)[0]


@pytest.fixture(scope="session")
def galera() -> list[Address]:
    """The three nodes of a Galera cluster."""
    return _shared("galera", Galera)


@pytest.fixture(scope="session")
def etcd() -> Address:
    """A single etcd."""
    return _shared("etcd", Etcd)[0]


@pytest.fixture(scope="session")
def etcd_cluster() -> list[Address]:
    """The three nodes of an etcd cluster."""
    return _shared("etcd", EtcdCluster, name="etcd-cluster")


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[DynamoAddress]:
    """A DynamoDB Local, or moto; boto3 finds credentials in the environment that mean nothing."""
    address = DynamoAddress(**asdict(_shared("dynamodb", any_dynamodb)[0]))
    with pytest.MonkeyPatch.context() as environment:
        for name, value in CREDENTIALS.items():
            environment.setenv(name, value)
        yield address


def _own(kind: str, start: Callable[..., AbstractContextManager[S]]) -> Iterator[Callable[..., S]]:
    need(kind)
    with ExitStack() as all_of_them:
        yield lambda *arguments, **options: all_of_them.enter_context(start(*arguments, **options))


@pytest.fixture
def own_postgres() -> Iterator[Callable[..., Postgres]]:
    """Starts a PostgreSQL of the test's own, with `Postgres`'s arguments."""
    yield from _own("postgres", Postgres)


@pytest.fixture
def own_pgbouncer() -> Iterator[Callable[..., PgBouncer]]:
    """Starts a pgbouncer of the test's own, before the address given."""
    yield from _own("pgbouncer", PgBouncer)


@pytest.fixture
def own_mariadb() -> Iterator[Callable[..., MariaDB]]:
    """Starts a MariaDB of the test's own, with `MariaDB`'s arguments."""
    yield from _own("mariadb", MariaDB)


@pytest.fixture
def own_etcd() -> Iterator[Callable[..., Etcd]]:
    """Starts an etcd of the test's own, with `Etcd`'s arguments."""
    yield from _own("etcd", Etcd)


@pytest.fixture
def own_etcd_cluster() -> Iterator[Callable[..., EtcdCluster]]:
    """Starts an etcd cluster of the test's own, with its arguments; one with namespaces skips without root."""

    def start(**options: Any) -> EtcdCluster:
        if options.get("namespaces"):
            need("namespaces")
        return EtcdCluster(**options)

    yield from _own("etcd", start)


@pytest.fixture
def own_galera() -> Iterator[Callable[..., Galera]]:
    """Starts a Galera cluster of the test's own, with `Galera`'s arguments; one with namespaces skips without root."""

    def start(**options: Any) -> Galera:
        if options.get("namespaces"):
            need("namespaces")
        return Galera(**options)

    yield from _own("galera", start)
