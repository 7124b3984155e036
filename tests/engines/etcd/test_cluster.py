"""The etcd engine on a cluster whose nodes are killed, paused, cut off, compacted and defragmented while it works.

Whatever happens: what was acknowledged is there, once; no read is older than what was acknowledged before it; and of
those who claim a task one gets it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Annotated

import pytest

import strongroom
from servers import EtcdCluster
from strongroom.engine import Engine
from strongroom.errors import AlreadyExists, CommitUnknown, Unavailable
from strongroom.patterns import Log
from strongroom.records import NEVER, Identifier, Record, Schema, Table
from tests.engines.leases import LEASES, Lease, take_next
from tests.servers.asking import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PATIENT = {"timeout_ms": "30000"}


class Claim(Record):
    task: Annotated[str, Identifier(50)]
    owner: Annotated[str, Identifier(50)]


class Entry(Record):
    stream: Annotated[str, Identifier(50)]
    position: int
    text: Annotated[str, Identifier(50)] = "none"


CLAIMS = Table("claims", Claim, key=("task",), changes=NEVER)
ENTRIES = Log(Table("entries", Entry, key=("stream", "position")))
SCHEMA = Schema("work", LEASES, CLAIMS, ENTRIES.table)


class Load:
    """Threads that write and read on engines of their own, each through another node first, and check what they get."""

    def __init__(self, cluster: EtcdCluster) -> None:
        self._cluster = cluster
        self._stack = ExitStack()
        self._stop = threading.Event()
        self._faults: list[BaseException] = []
        self.counts = [0, 0, 0]
        """The last version of each lease that was acknowledged."""
        self.claims: dict[str, list[str]] = {}
        """Who was told that a task is his."""
        self.entries: list[tuple[int, str]] = []
        """The positions and texts of entries that were acknowledged."""

    def open(self, first: int) -> Engine:
        return self._stack.enter_context(strongroom.open(self._cluster.url("load", first=first, **PATIENT)))

    def __enter__(self) -> Load:
        self.checker = self.open(0)
        self.checker.prepare(SCHEMA)
        self._threads = [
            threading.Thread(target=self._guarded, args=(work, number, self.open(number)))
            for number in range(3)
            for work in (self._count, self._claim, self._append)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(100)
        self._stack.close()

    def goes_on(self) -> None:
        """Wait until each counts further; fail when that takes longer than anything should."""
        before = list(self.counts)
        wait_until(lambda: all(now > then for now, then in zip(self.counts, before, strict=True)), 60)

    def check(self) -> None:
        """End the work, and compare what is there with what was acknowledged."""
        self._stop.set()
        for thread in self._threads:
            thread.join(100)
            assert not thread.is_alive()
        assert self._faults == []
        for number, count in enumerate(self.counts):
            assert count > 5, "there was hardly any work"
            lease = self.checker.get(LEASES, str(number))
            assert lease is not None
            assert lease.version == count
        stored = {claim.task: claim.owner for claim in self.checker.scan(CLAIMS, limit=10_000)}
        assert {task: [stored[task]] for task in self.claims} == self.claims
        assert stored.keys() == self.claims.keys()
        log = [(entry.position, entry.text) for entry in ENTRIES.read(self.checker, "s", limit=10_000)]
        assert log == sorted(self.entries)

    def _guarded(self, work: Callable[[int, Engine, Engine], None], number: int, engine: Engine) -> None:
        try:
            reader = self.open((number + 1) % 3)
            work(number, engine, reader)
        except BaseException as fault:
            self._faults.append(fault)

    def _count(self, number: int, engine: Engine, reader: Engine) -> None:
        name = str(number)
        while not self._stop.is_set():
            before = self.counts[number]
            try:
                version = engine.write(lambda transaction: take_next(transaction, name))
            except CommitUnknown as unknown:
                version = before + engine.resolve(unknown.token)
            else:
                assert version == before + 1, "a write was lost, or made twice"
            self.counts[number] = version
            seen = reader.get(LEASES, name)
            assert (seen.version if seen else 0) >= version, "a read is older than what was acknowledged before it"

    def _claim(self, number: int, engine: Engine, reader: Engine) -> None:
        task = 0
        while not self._stop.is_set():
            task += 1
            name, owner = f"{task:06}", f"owner {number}"
            try:
                engine.insert(CLAIMS, Claim(name, owner))
            except AlreadyExists:
                continue
            except CommitUnknown as unknown:
                if not engine.resolve(unknown.token):
                    task -= 1
                    continue
            self.claims.setdefault(name, []).append(owner)
            assert reader.get(CLAIMS, name) == Claim(name, owner)

    def _append(self, number: int, engine: Engine, reader: Engine) -> None:
        turn = 0
        while not self._stop.is_set():
            turn += 1
            text = f"{number}.{turn}"
            made: list[int] = []

            def make(position: int, text: str = text, made: list[int] = made) -> Entry:
                made.append(position)
                return Entry("s", position, text)

            try:
                ENTRIES.append(engine, "s", make=make)
            except CommitUnknown as unknown:
                if not engine.resolve(unknown.token):
                    continue
            self.entries.append((made[-1], text))
            assert ENTRIES.head(reader, "s") >= made[-1]
            self._stop.wait(0.01)


@pytest.fixture
def cluster(own_etcd_cluster: Callable[..., EtcdCluster]) -> EtcdCluster:
    return own_etcd_cluster()


@pytest.fixture
def cut_cluster(own_etcd_cluster: Callable[..., EtcdCluster]) -> EtcdCluster:
    return own_etcd_cluster(namespaces=True)


@pytest.fixture
def load(cluster: EtcdCluster) -> Iterator[Load]:
    with Load(cluster) as working:
        time.sleep(1)
        yield working


def test_nothing_is_lost_when_the_leader_is_killed(cluster: EtcdCluster, load: Load) -> None:
    for _ in range(3):
        leader = cluster.nodes[cluster.leader()]
        leader.kill()
        time.sleep(3)
        leader.start()
        time.sleep(1)
    load.check()


def test_nothing_is_lost_when_all_nodes_are_killed_at_once(cluster: EtcdCluster, load: Load) -> None:
    for _ in range(2):
        cluster.kill()
        time.sleep(1)
        cluster.start()
        time.sleep(1)
    load.check()


def test_a_node_that_stands_still_holds_up_nobody_for_long(cluster: EtcdCluster, load: Load) -> None:
    for behind_leader in (0, 1):
        node = cluster.nodes[(cluster.leader() + behind_leader) % 3]
        node.pause()
        try:
            time.sleep(2.5)
            load.goes_on()
        finally:
            node.resume()
        time.sleep(1)
    load.check()


def test_nothing_is_lost_when_the_leader_is_cut_off(cut_cluster: EtcdCluster) -> None:
    with Load(cut_cluster) as load:
        time.sleep(1)
        for clients in (False, True):
            leader = cut_cluster.leader()
            cut_cluster.partition(leader, clients=clients)
            time.sleep(4)
            cut_cluster.heal(leader)
            time.sleep(1)
        load.check()


def test_a_node_that_is_cut_off_from_the_others_answers_nothing_that_may_be_old(cut_cluster: EtcdCluster) -> None:
    leader = cut_cluster.leader()
    alone = cut_cluster.nodes[leader].url("cut", timeout_ms="1500")
    with (
        strongroom.open(cut_cluster.url("cut", first=(leader + 1) % 3, **PATIENT)) as room,
        strongroom.open(alone) as cut,
    ):
        room.prepare(SCHEMA)
        assert room.write(lambda transaction: take_next(transaction, "a")) == 1
        assert cut.get(LEASES, "a") == Lease("a")
        cut_cluster.partition(leader)
        assert room.write(lambda transaction: take_next(transaction, "a")) == 2
        calls: list[Callable[[], object]] = [
            lambda: cut.get(LEASES, "a"),
            lambda: cut.scan(LEASES, limit=9),
            lambda: cut.read(lambda reader: reader.get(LEASES, "a")),
            lambda: cut.write(lambda transaction: transaction.get(LEASES, "a")),
        ]
        for call in calls:
            with pytest.raises(Unavailable):
                call()
        with pytest.raises(CommitUnknown) as unknown:
            cut.insert(LEASES, Lease("b"))
        with pytest.raises(Unavailable):
            cut.resolve(unknown.value.token)
        cut_cluster.heal(leader)
        kept = room.resolve(unknown.value.token)
        assert cut.resolve(unknown.value.token) is kept
        assert (room.get(LEASES, "b") is not None) is kept
        assert cut.get(LEASES, "a") == Lease("a", version=2)


def test_nothing_is_lost_in_compactions_and_defragmentations(cluster: EtcdCluster, load: Load) -> None:
    for turn in range(12):
        cluster.nodes[turn % 3].compact()
        for node in cluster.nodes:
            node.defragment()
        time.sleep(0.3)
    load.check()
