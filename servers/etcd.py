"""A private etcd: one node, or a cluster of three that can be killed, paused and cut apart."""

from __future__ import annotations

import json
import os
import signal
import ssl
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from servers.cluster import NODES, Cluster
from servers.errors import ServerFailed
from servers.machine import find
from servers.network import Network
from servers.ports import Port
from servers.run import Run, current
from servers.server import DEADLINE, PAUSE, Address, Server

ASKING: Final = 2.0
"""How many seconds a node gets to answer one question."""


STATUS: Final = "/v3/maintenance/status"


def store_url(addresses: Sequence[Address], prefix: str, **options: str) -> str:
    """The URL of the store of that prefix, for an engine that asks these nodes, the first of them first."""
    query = f"?{urlencode(options)}" if options else ""
    return f"etcd://{','.join(f'{address.host}:{address.port}' for address in addresses)}/{prefix}{query}"


def leader_among(addresses: Sequence[Address]) -> int:
    """Which of a cluster's nodes leads. Raises `ServerFailed` where none does."""
    for number, address in enumerate(addresses):
        if _leads(_ask(f"http://{address.host}:{address.port}{STATUS}", {})):
            return number
    raise ServerFailed("the cluster has no leader")


def _leads(status: Mapping[str, Any] | None) -> bool:
    return status is not None and status.get("leader") == status["header"]["member_id"]


def _ask(url: str, body: Mapping[str, Any] | None, context: ssl.SSLContext | None = None) -> dict[str, Any] | None:
    """What a node answers to a request, a POST if that has a body; None when it doesn't."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data, ASKING, context=context) as answer:
            found: dict[str, Any] = json.load(answer)
    except OSError:
        return None
    return found


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files, in PEM, with which a node and its clients know each other: one certificate serves both here."""

    authority: Path
    certificate: Path
    key: Path


class Etcd(Server):
    """A node. As it is made it is a cluster of its own, on loopback ports; `EtcdCluster` makes several into one.

    Arguments:
        settings: flags beside, or instead of, those that it needs to run.
        certificates: have it speak TLS with its clients, and ask for their certificates.
        number: of the node in its cluster.
        network: the network that it is in, if that is not this machine's.
        run: the run that it ends with.

    Raises `Missing` when there is none here.
    """

    farewell = signal.SIGTERM

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        certificates: Certificates | None = None,
        number: int = 0,
        network: Network | None = None,
        run: Run | None = None,
    ) -> None:
        self._program = find("etcd")
        super().__init__(f"etcd{number}", run=run)
        self._settings = dict(settings or {})
        self._certificates = certificates
        self._number = number
        self._network = network
        self._peer_port = Port() if network is None else None
        self.peers: list[Etcd] = [self]
        """All nodes of the cluster, itself among them."""

    @property
    def namespace(self) -> str | None:
        return None if self._network is None else self._network.namespace(self._number)

    @property
    def address(self) -> Address:
        host = "127.0.0.1" if self._network is None else self._network.host(self._number)
        return Address("etcd", "", host, self._port.number, "", str(self.log))

    @property
    def peer_url(self) -> str:
        """Where its peers reach it."""
        if self._network is not None:
            return f"http://{self._network.peer_host(self._number)}:2380"
        assert self._peer_port is not None
        return f"http://127.0.0.1:{self._peer_port.number}"

    @property
    def member(self) -> str:
        """What it is called in its cluster."""
        return f"node{self._number}"

    def url(self, database: str | None = None, **options: str) -> str:
        """The URL of the store of the prefix `database`, for an engine that asks this node alone."""
        return store_url([self.address], database or "", **options)

    def leads(self) -> bool:
        """Whether it leads its cluster; False when it doesn't answer."""
        return _leads(self.ask(STATUS, {}))

    def compact(self) -> None:
        """Have the cluster forget all revisions but the newest."""
        status = self.ask(STATUS, {})
        if status is not None:
            self.ask("/v3/kv/compaction", {"revision": status["header"]["revision"], "physical": True})

    def defragment(self) -> None:
        """Have it write its database anew, without the room that it does not use; it answers nobody meanwhile."""
        self.ask("/v3/maintenance/defragment", {})

    def disarm(self) -> None:
        """Have it take writes again after its database was full."""
        status = self.ask(STATUS, {})
        if status is not None:
            member = status["header"]["member_id"]
            self.ask("/v3/maintenance/alarm", {"action": "DEACTIVATE", "alarm": "NOSPACE", "memberID": member})

    def pause(self) -> None:
        """Have it stand still (``SIGSTOP``): it takes connections, and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Undo `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        super().close()
        if self._peer_port is not None:
            self._peer_port.release()

    def _command(self) -> list[str]:
        client = f"{'https' if self._certificates else 'http'}://{self.host}:{self.port}"
        flags = {
            "name": self.member,
            "data-dir": str(self.folder / "data"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": self.peer_url,
            "initial-advertise-peer-urls": self.peer_url,
            "initial-cluster": ",".join(f"{peer.member}={peer.peer_url}" for peer in self.peers),
            "initial-cluster-token": self.folder.name if len(self.peers) == 1 else "cluster",
        }
        if self._certificates is not None:
            flags |= {
                "cert-file": str(self._certificates.certificate),
                "key-file": str(self._certificates.key),
                "trusted-ca-file": str(self._certificates.authority),
                "client-cert-auth": "true",
            }
        return [str(self._program), *(f"--{name}={value}" for name, value in (flags | self._settings).items())]

    def _answers(self) -> bool:
        health = self.ask("/health")
        return health is not None and health.get("health") == "true"

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """What it answers to a request, a POST if that has a body; None when it doesn't."""
        context = None
        if self._certificates is not None:
            context = ssl.create_default_context(cafile=str(self._certificates.authority))
            context.load_cert_chain(self._certificates.certificate, self._certificates.key)
        return _ask(f"{'https' if context else 'http'}://{self.host}:{self.port}{path}", body, context)


class EtcdCluster(Cluster[Etcd]):
    """A private cluster of three nodes, on loopback ports or in a network of their own that can be cut.

    Arguments:
        namespaces: give every node a network namespace, for `partition`. Root only.
        settings: flags beside, or instead of, those that a node needs to run.
        run: the run that it ends with.

    Raises `Missing` when it can't be had here. As a context manager it starts at the beginning and closes at the end.
    """

    def __init__(
        self, *, namespaces: bool = False, settings: Mapping[str, str] | None = None, run: Run | None = None
    ) -> None:
        run = run or current()
        find("etcd")
        super().__init__(run, namespaces=namespaces)
        self.nodes = [Etcd(settings=settings, number=number, network=self._network, run=run) for number in range(NODES)]
        for node in self.nodes:
            node.peers = self.nodes

    def url(self, prefix: str, *, first: int = 0, **options: str) -> str:
        """The URL of a store for an engine that asks all nodes, the node `first` before the others."""
        return store_url(self.addresses[first:] + self.addresses[:first], prefix, **options)

    def leader(self) -> int:
        """The number of the node that leads by now. Raises `ServerFailed` when there is none for long."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            for number, node in enumerate(self.nodes):
                if node.running and node.leads():
                    return number
            time.sleep(PAUSE)
        raise self._failed("had no leader")

    def start(self) -> None:
        """Start all nodes, for the first time or again, and wait until they are one cluster."""
        for node in self.nodes:
            node.launch()
        self.wait()

    def wait(self) -> None:
        """Wait until every node answers, which it does when the cluster has a leader. Raises `ServerFailed`."""
        for node in self.nodes:
            node.wait()
