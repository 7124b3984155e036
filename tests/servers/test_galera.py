"""A Galera cluster of one's own: nodes lost and back, and a network that is cut."""

from __future__ import annotations

from collections.abc import Callable

import pymysql
import pytest

from servers import Galera, ServerFailed
from tests.servers.asking import ask, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def write(cluster: Galera, node: int, number: int) -> None:
    ask(cluster.nodes[node].address, f"INSERT INTO mine.kept VALUES ({number})")


def kept(cluster: Galera, node: int) -> list[int]:
    # After waiting for what the others have committed.
    statement = "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT number FROM mine.kept ORDER BY number"
    return [number for (number,) in ask(cluster.nodes[node].address, statement)]


def cluster_with_a_table(own_galera: Callable[..., Galera], *, namespaces: bool = False) -> Galera:
    cluster = own_galera(namespaces=namespaces)
    ask(cluster.addresses[0], "CREATE DATABASE mine")
    ask(cluster.addresses[0], "CREATE TABLE mine.kept (number int PRIMARY KEY)")
    return cluster


def test_a_killed_node_comes_back_with_what_it_missed(own_galera: Callable[..., Galera]) -> None:
    cluster = cluster_with_a_table(own_galera)
    cluster.nodes[2].kill()
    write(cluster, 0, 1)
    cluster.nodes[2].start()
    assert kept(cluster, 2) == [1]
    cluster.nodes[0].restart()
    assert kept(cluster, 0) == [1]
    with pytest.raises(ServerFailed, match="namespaces"):
        cluster.partition(1)


def test_a_cluster_that_is_killed_or_stopped_comes_back_whole(own_galera: Callable[..., Galera]) -> None:
    cluster = cluster_with_a_table(own_galera)
    for number, end in enumerate([cluster.kill, cluster.stop]):
        write(cluster, number, number)
        end()
        assert not any(node.running for node in cluster.nodes)
        cluster.start()
        assert [kept(cluster, node) for node in range(3)] == [list(range(number + 1))] * 3


def test_a_node_cut_off_from_the_others_refuses_its_clients_until_the_network_is_healed(
    own_galera: Callable[..., Galera],
) -> None:
    cluster = cluster_with_a_table(own_galera, namespaces=True)

    def refuses() -> bool:
        try:
            ask(cluster.addresses[1], "SELECT number FROM mine.kept")
        except pymysql.OperationalError as refusal:
            return bool(refusal.args[0] == 1047)
        return False

    cluster.partition(1)
    wait_until(refuses)
    write(cluster, 0, 1)
    cluster.heal(1)
    assert kept(cluster, 1) == [1]


def test_a_node_cut_off_from_its_clients_too_does_not_answer(own_galera: Callable[..., Galera]) -> None:
    cluster = cluster_with_a_table(own_galera, namespaces=True)
    cluster.partition(2, clients=True)
    with pytest.raises(pymysql.OperationalError, match=r"timed out|No route"):
        ask(cluster.addresses[2], "SELECT 1")
    write(cluster, 0, 1)
    cluster.heal(2)
    assert kept(cluster, 2) == [1]
