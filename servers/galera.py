"""A private Galera cluster: MariaDB nodes that commit together, and whose network can be cut."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from servers.cluster import NODES, Cluster
from servers.data import copy_of
from servers.machine import find
from servers.mariadb import MariaDB
from servers.network import Network
from servers.ports import Port
from servers.run import Run, current
from servers.server import DEADLINE, PAUSE, Address

SETTINGS: Final = {
    "binlog_format": "ROW",
    "innodb_autoinc_lock_mode": "2",
    "wsrep_on": "ON",
    "wsrep_sst_method": "rsync",
}

PROVIDER_SETTINGS: Final = {
    # A lost node is given up after one second, not five: tests wait for it. The keepalive must be below a third.
    "evs.suspect_timeout": "PT1S",
    "evs.inactive_timeout": "PT3S",
    "evs.keepalive_period": "PT0.3S",
    "evs.inactive_check_period": "PT0.25S",
    # How often a joining node asks again: with the second that is delivered, a join takes one more.
    "evs.join_retrans_period": "PT0.3S",
    "gcache.size": "16M",
}


class Node(MariaDB):
    """A node of a cluster. It answers when it is in step with a majority of the cluster's nodes.

    `kill` and `stop` take it out of the cluster; `start` lets it join again, and catch up.
    """

    def __init__(self, number: int, *, network: Network | None, settings: Mapping[str, str], run: Run) -> None:
        self.founds = False
        """Whether it founds the cluster with its data at its next start, instead of joining it."""
        self.peers: list[Node] = []
        """All nodes of the cluster, itself among them."""
        self._library = find("galera")
        self._number = number
        self._network = network
        # For the messages of the group, for transfers of what a node missed, and for those of everything.
        self._peer_ports = [Port() for _ in range(3)] if network is None else []
        super().__init__(name=f"galera{number}", settings=SETTINGS | dict(settings), run=run)

    @property
    def namespace(self) -> str | None:
        return None if self._network is None else self._network.namespace(self._number)

    @property
    def address(self) -> Address:
        if self._network is None:
            return super().address
        return Address("mysql", "root", self._network.host(self._number), 3306, "", str(self.log))

    @property
    def group_address(self) -> str:
        """Where its peers send messages to."""
        return self._peer_addresses()[0]

    @property
    def may_found(self) -> bool:
        """Whether it knows that no other node has newer data: it was the last to stop."""
        state = self._data / "grastate.dat"
        return state.exists() and re.search(r"safe_to_bootstrap: *1", state.read_text(encoding="utf-8")) is not None

    @property
    def remembers_view(self) -> bool:
        """Whether it was killed in a cluster: when all of that cluster's nodes are back, they go on."""
        return (self._data / "gvwstate.dat").exists()

    def cluster_size(self) -> int:
        """How many nodes it is connected to, itself among them; 0 when it doesn't answer."""
        return int(self._status().get("wsrep_cluster_size", 0))

    def close(self) -> None:
        super().close()
        for port in self._peer_ports:
            port.release()

    def _make_data(self) -> None:
        copy_of(self.run, "galera", self._found_cluster, self._data)

    def _found_cluster(self, folder: Path) -> None:
        """Make the data of a cluster of one: nodes that begin with copies of it have little to catch up."""
        mine, self._data = self._data, folder / "data"
        super()._make_data()
        self.founds = True
        self.start()
        self.stop()
        self._data = mine

    def _peer_addresses(self) -> list[str]:
        if self._network is None:
            return [f"127.0.0.1:{port.number}" for port in self._peer_ports]
        return [f"{self._network.peer_host(self._number)}:{port}" for port in (4567, 4568, 4444)]

    def _options(self) -> dict[str, str]:
        group, incremental, snapshot = self._peer_addresses()
        provider = PROVIDER_SETTINGS | {
            "base_port": group.rpartition(":")[2],
            "gmcast.listen_addr": f"tcp://{group}",
            "ist.recv_addr": incremental,
        }
        founds, self.founds = self.founds, False
        return super()._options() | {
            "wsrep_provider": str(self._library),
            "wsrep_provider_options": ";".join(f"{name}={value}" for name, value in provider.items()),
            "wsrep_cluster_address": "gcomm://"
            + ("" if founds else ",".join(peer.group_address for peer in self.peers)),
            "wsrep_node_name": f"node{self._number}",
            "wsrep_node_address": group,
            "wsrep_sst_receive_address": snapshot,
        }

    def _answers(self) -> bool:
        status = self._status()
        return status.get("wsrep_ready") == "ON" and status["wsrep_local_state_comment"] == "Synced"

    def _status(self) -> dict[str, str]:
        """What it says of its part in the cluster; nothing when it doesn't answer."""
        return {str(name): str(value) for name, value in self._query("SHOW STATUS LIKE 'wsrep%'") or ()}


class Galera(Cluster[Node]):
    """A private cluster of three nodes, on loopback ports or in a network of their own that can be cut.

    Arguments:
        namespaces: give every node a network namespace, for `partition`. Root only.
        settings: server settings beside, or instead of, those of `SETTINGS`.
        run: the run that it ends with.

    Raises `Missing` when it can't be had here. As a context manager it starts at the beginning and closes at the end.
    """

    def __init__(
        self, *, namespaces: bool = False, settings: Mapping[str, str] | None = None, run: Run | None = None
    ) -> None:
        run = run or current()
        find("galera")
        super().__init__(run, namespaces=namespaces)
        self.nodes = [Node(number, network=self._network, settings=settings or {}, run=run) for number in range(NODES)]
        for node in self.nodes:
            node.peers = self.nodes

    def start(self) -> None:
        """Start all nodes, for the first time, or after all were stopped or killed; wait until they are one cluster.

        Raises `ServerFailed`, with the end of a node's log.
        """
        founder = next((node for node in self.nodes if node.may_found), None)
        if founder and not any(node.remembers_view for node in self.nodes):
            self._found(founder)
        for node in self.nodes:
            node.launch()
        self.wait()

    def _found(self, founder: Node) -> None:
        founder.founds = True
        founder.start()
        joining = [node for node in self.nodes if node is not founder]
        for size, node in enumerate(joining, 2):
            # One after the other, as two that come at once get into each other's way, and start over. To be a member
            # is enough, though: a node can catch up while the next one comes.
            node.launch()
            self._wait_for_size(size, [founder])

    def wait(self) -> None:
        """Wait until all nodes are one cluster, and in step. Raises `ServerFailed`."""
        for node in self.nodes:
            node.wait()
        self._wait_for_size(len(self.nodes), self.nodes)

    def _wait_for_size(self, size: int, seen_by: Sequence[Node]) -> None:
        deadline = time.monotonic() + DEADLINE
        while any(node.cluster_size() != size for node in seen_by):
            if time.monotonic() > deadline:
                raise self._failed(f"did not have {size} nodes")
            time.sleep(PAUSE)
