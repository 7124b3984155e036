"""The MySQL engine on a Galera cluster: what the kit asks, on all nodes at once, and nodes that die or are cut off."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import pytest

import strongroom
from servers.galera import Galera
from servers.server import Address
from strongroom.engine import Engine
from strongroom.engines.mysql import MysqlEngine
from strongroom.engines.mysql.commits import BEGIN, COMMIT, packets
from strongroom.engines.mysql.guards import BUCKETS, buckets
from strongroom.errors import CommitUnknown, Conflict, Unavailable
from strongroom.records import VERSIONED, Identifier, Record, Table
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

pytestmark = pytest.mark.slow

_numbers = itertools.count(1)


def url_of(nodes: Sequence[Address], database: str, **options: str) -> str:
    first, *others = nodes
    return first.url(database, hosts=",".join(f"{node.host}:{node.port}" for node in others), **options)


def opened(nodes: Sequence[Address], database: str = "", **options: str) -> MysqlEngine:
    engine = strongroom.open(url_of(nodes, database or f"galera_{os.getpid()}_{next(_numbers)}", **options))
    assert isinstance(engine, MysqlEngine)
    engine.prepare(SCHEMA)
    return engine


@pytest.fixture
def rooms(galera: list[Address]) -> Iterator[list[MysqlEngine]]:
    """A store with an engine object on each node."""
    database = f"galera_{os.getpid()}_{next(_numbers)}"
    engines = [opened([node, *galera], database) for node in galera]
    yield engines
    for engine in engines:
        engine.close()


def test_a_node_is_told_to_wait_for_what_the_others_acknowledged(rooms: list[MysqlEngine]) -> None:
    for room in rooms:
        with room.links.lent() as link:
            assert link.server.cluster
            assert link.ask("SELECT @@wsrep_sync_wait") == [(1,)]
        assert room.describe()["wsrep_cluster_size"] == "3"


def test_a_node_gets_each_statement_of_a_transaction_for_itself(rooms: list[MysqlEngine]) -> None:
    with rooms[0].links.lent() as link:
        assert packets([BEGIN, "a", "b", COMMIT], link.server) == [[BEGIN, "a"], ["b"], [COMMIT]]
        assert packets(["a", "b", COMMIT], link.server) == [["a"], ["b"], [COMMIT]]


def test_of_increments_on_several_nodes_none_is_lost(rooms: list[MysqlEngine]) -> None:
    counts = [0] * len(rooms)

    def count(number: int) -> None:
        for _ in range(60):
            try:
                rooms[number].write(lambda transaction: take_next(transaction, "hot"))
            except Conflict:
                continue
            counts[number] += 1

    threads = [threading.Thread(target=count, args=(number,)) for number in range(len(rooms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) > 60
    for room in rooms:
        assert room.get(LEASES, "hot") == Lease("hot", version=sum(counts))


def test_what_came_of_a_transaction_can_be_asked_on_another_node(rooms: list[MysqlEngine]) -> None:
    here, there, _ = rooms
    kept, lost = here.lane.marks.new_token(), here.lane.marks.new_token()
    with here.links.lent() as link:
        link.trip([BEGIN, here.lane.marks.mark(kept)])
        link.trip([COMMIT])
    assert there.resolve(kept) is True
    assert there.resolve(lost) is False
    assert here.resolve(lost) is False


class Task(Record):
    queue: Annotated[str, Identifier(32)]
    task: Annotated[str, Identifier(32)]
    version: int = 1


TASKS = Table("tasks", Task, key=("queue", "task"), scope=1, changes=VERSIONED("version"))


def test_a_guard_row_stands_for_a_scope_and_a_walk_beyond_one_reaches_them_all() -> None:
    assert buckets(TASKS, ("q", "a")) == buckets(TASKS, ("q", "b")) == buckets(TASKS, ("q",))
    assert len({tuple(buckets(TASKS, (f"q{number}",))) for number in range(1000)}) == BUCKETS
    assert list(buckets(TASKS, ())) == list(range(BUCKETS))


class Writers:
    """Threads that count up a row each, and know what they were told."""

    def __init__(self, room: Engine, number: int = 3) -> None:
        self._room = room
        self._stop = threading.Event()
        self.acknowledged = [0] * number
        self.broken: list[str] = []
        self._threads = [threading.Thread(target=self._count, args=(one,)) for one in range(number)]
        for thread in self._threads:
            thread.start()

    def _count(self, number: int) -> None:
        while not self._stop.is_set():
            try:
                version = self._room.write(lambda transaction: take_next(transaction, f"r{number}"))
            except (Unavailable, Conflict):
                self._stop.wait(0.01)
            except CommitUnknown as unknown:
                self.acknowledged[number] += self._resolved(unknown.token)
            else:
                # Each version is taken by exactly one write, whatever became of the answers on the way.
                if version != self.acknowledged[number] + 1:
                    self.broken.append(f"r{number}: {version} after {self.acknowledged[number]}")
                self.acknowledged[number] = version

    def _resolved(self, token: str) -> bool:
        while True:
            try:
                return self._room.resolve(token)
            except Unavailable:
                self._stop.wait(0.1)

    def wait_for_more(self) -> None:
        """Wait until every row was counted up again."""
        before = [*self.acknowledged]
        for _ in range(600):
            if all(now > then for now, then in zip(self.acknowledged, before, strict=True)):
                return
            self._stop.wait(0.1)
        raise AssertionError(f"nothing was written for a minute: {before}")

    def end(self) -> list[int]:
        """Stop them; what each was told last."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert self.broken == []
        return self.acknowledged


def versions(room: Engine, number: int = 3) -> list[int]:
    found = [room.get(LEASES, f"r{one}") for one in range(number)]
    return [0 if lease is None else lease.version for lease in found]


def test_when_a_node_is_killed_work_goes_on_on_another_and_nothing_is_lost_or_done_twice(
    own_galera: Callable[..., Galera],
) -> None:
    cluster = own_galera()
    with opened(cluster.addresses, timeout_ms="20000") as room:
        writers = Writers(room)
        writers.wait_for_more()
        assert room.describe()["connected_to"] == "{0.host}:{0.port}".format(cluster.addresses[0])
        cluster.nodes[0].kill()
        writers.wait_for_more()
        assert room.describe()["connected_to"] != "{0.host}:{0.port}".format(cluster.addresses[0])
        cluster.nodes[0].start()
        writers.wait_for_more()
        told = writers.end()
        assert versions(room) == told
        with opened(cluster.addresses[:1], room.options.database) as back:
            assert versions(back) == told


@pytest.mark.parametrize("clients", [False, True], ids=["from its peers", "from its clients too"])
def test_a_node_that_is_cut_off_is_left_and_keeps_nothing_that_the_others_do_not(
    own_galera: Callable[..., Galera], clients: bool
) -> None:
    cluster = own_galera(namespaces=True)
    with opened(cluster.addresses, timeout_ms="10000") as room:
        writers = Writers(room)
        writers.wait_for_more()
        cluster.partition(0, clients=clients)
        writers.wait_for_more()
        assert room.describe()["connected_to"] != "{0.host}:{0.port}".format(cluster.addresses[0])
        cluster.heal(0)
        writers.wait_for_more()
        told = writers.end()
        for address in cluster.addresses:
            with opened([address], room.options.database) as node:
                assert versions(node) == told
