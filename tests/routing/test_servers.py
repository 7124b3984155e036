"""A team grows: its queue moves from a file to PostgreSQL and on to etcd, or to other servers, while it is used."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import strongroom
from servers.dynamodb import DynamoAddress
from servers.etcd import store_url
from servers.postgres import Postgres
from servers.server import Address
from strongroom.errors import Unavailable
from strongroom.operations import verify
from strongroom.patterns import Subject
from strongroom.routing import Placement, Router, move

from .tenants import ACCOUNTS, LOG, MEMBERS, SCHEMA, SETTINGS, Account, Entry, Member, Setting, contents

pytestmark = pytest.mark.slow

TEAM = "team"


class Load:
    """Workers, each a process of its own as far as routers go, that check every one of their writes."""

    def __init__(self, opened: Callable[[], Router], workers: int = 3) -> None:
        self._opened = opened
        self._over = threading.Event()
        self.done = [0] * workers
        self.faults: list[BaseException] = []
        self._threads = [threading.Thread(target=self._work, args=(worker,)) for worker in range(workers)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_fault: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def advance(self) -> None:
        """Wait until every worker has done some more."""
        wanted = [done + 5 for done in self.done]
        while not self.faults and any(done < goal for done, goal in zip(self.done, wanted, strict=True)):
            self._over.wait(0.01)

    def _work(self, worker: int) -> None:
        try:
            with self._opened() as router:
                router.prepare(SCHEMA)
                while not self._over.is_set():
                    self._step(router, worker, self.done[worker] + 1)
                    self.done[worker] += 1
        except BaseException as fault:
            self.faults.append(fault)

    def _step(self, router: Router, worker: int, number: int) -> None:
        """One of everything; what the last step wrote must be there, and nothing later."""
        mine, name = f"worker {worker}", f"{worker} {number:05}"
        entry = LOG.append(router, TEAM, make=lambda position: Entry(TEAM, position, name))
        assert LOG.read(router, TEAM, after=entry.position - 1, limit=1) == [entry]
        account = router.get(ACCOUNTS, TEAM, mine)
        if account is None:
            assert number == 1
            router.insert(ACCOUNTS, Account(TEAM, mine, 1, 1))
        else:
            assert account.balance == number - 1
            router.update(ACCOUNTS, account.replace(version=number, balance=number), expect=account.version)
        router.put(SETTINGS, Setting(TEAM, mine, number))
        router.insert(MEMBERS, Member(TEAM, name))
        if number > 1:
            assert router.delete(MEMBERS, TEAM, f"{worker} {number - 1:05}")


def grow(opened: Callable[[], Router], stations: list[str]) -> None:
    """Move the team through the rooms under load, and account for every write."""
    with opened() as router:
        router.prepare(SCHEMA)
        with Load(opened) as load:
            for station in stations:
                load.advance()
                route = move(router, TEAM, station, [SCHEMA])
                assert route.room == station
                assert len(route.digest) == 64
                load.advance()
        assert load.faults == []
        entries = contents(router, TEAM)["entries"]
        written = sorted(f"{worker} {n:05}" for worker, done in enumerate(load.done) for n in range(1, done + 1))
        assert sorted(entry.text for entry in entries if isinstance(entry, Entry)) == written
        assert [account.balance for account in router.scan(ACCOUNTS, TEAM, limit=9)] == load.done
        assert [setting.value for setting in router.scan(SETTINGS, TEAM, limit=9, reverse=True)] == load.done
        assert router.count(MEMBERS, TEAM, limit=99) == len(load.done)
        assert contents(router.rooms[stations[-1]], TEAM) == contents(router, TEAM)
        assert list(verify(router, [Subject(SCHEMA, logs=[LOG])])) == []


def opener(urls: dict[str, str]) -> Callable[[], Router]:
    # A step of a loaded machine may take long: nobody is to be told that the scope is away for that.
    placement = Placement("file", default="file")
    return lambda: Router({name: strongroom.open(url) for name, url in urls.items()}, placement, hold_ms=60_000)


@pytest.mark.timeout(300)
def test_from_a_file_to_postgresql_to_etcd_and_home(tmp_path: Path, postgres: Address, etcd: Address) -> None:
    name = f"grow_{secrets.token_hex(4)}"
    urls = {
        "file": f"sqlite:///{tmp_path}/file.db",
        "postgres": postgres.url(schema=name),
        "etcd": store_url([etcd], name),
    }
    grow(opener(urls), ["postgres", "etcd", "file"])


@pytest.mark.timeout(300)
def test_from_a_file_to_mariadb_to_dynamodb_and_home(tmp_path: Path, mariadb: Address, dynamodb: DynamoAddress) -> None:
    name = f"grow_{secrets.token_hex(4)}"
    urls = {
        "file": f"sqlite:///{tmp_path}/file.db",
        "mariadb": mariadb.url(name),
        "dynamodb": dynamodb.url(name),
    }
    grow(opener(urls), ["mariadb", "dynamodb", "file"])


def test_a_room_whose_server_is_away_takes_only_its_own_scopes_along(
    tmp_path: Path, own_postgres: Callable[..., Postgres]
) -> None:
    server = own_postgres()
    rooms = {
        "file": strongroom.open(f"sqlite:///{tmp_path}/file.db"),
        "postgres": strongroom.open(server.address.url(schema="away", timeout_ms="3000")),
    }
    with Router(rooms, Placement("file", default="file", table={"far": "postgres"})) as router:
        router.prepare(SCHEMA)
        router.insert(MEMBERS, Member("near", "a"))
        router.insert(MEMBERS, Member("far", "a"))
        server.kill()
        with pytest.raises(Unavailable):
            router.get(MEMBERS, "far", "a")
        router.insert(MEMBERS, Member("near", "b"))
        assert router.count(MEMBERS, "near", limit=9) == 2
        with pytest.raises(Unavailable):
            router.count(MEMBERS, limit=9)
