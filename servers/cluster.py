"""What private clusters have in common: nodes that know each other, a network that can be cut, and one life."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, Generic, TypeVar

from servers.errors import ServerFailed
from servers.life import Life
from servers.network import Network
from servers.process import tail
from servers.run import Run
from servers.server import DEADLINE, Address, Server

N = TypeVar("N", bound=Server)

NODES: Final = 3
"""The fewest of which a majority is left when one is lost."""


class Cluster(Life, Generic[N]):
    """Nodes on loopback ports, or in a network of their own that can be cut.

    Arguments:
        run: the run that it ends with.
        namespaces: give every node a network namespace, for `partition`. Root only.
    """

    nodes: list[N]

    def __init__(self, run: Run, *, namespaces: bool) -> None:
        self._network = Network(NODES, run) if namespaces else None

    @abstractmethod
    def wait(self) -> None:
        """Wait until all nodes are one cluster. Raises `ServerFailed`."""

    @property
    def addresses(self) -> list[Address]:
        """Where each node answers."""
        return [node.address for node in self.nodes]

    def kill(self) -> None:
        """Kill every node, one right after the other, as a crash of their machines would."""
        for node in self.nodes:
            node.kill()

    def stop(self) -> None:
        """Stop every node in order, one after the other. Then `start` again."""
        for node in self.nodes:
            node.stop()

    def partition(self, node: int, *, clients: bool = False) -> None:
        """Cut a node off from the others; from its clients too if so asked: then their packets go unanswered.

        Needs ``namespaces=True``.
        """
        self._cuttable.cut(node, clients=clients)

    def heal(self, node: int) -> None:
        """Undo `partition`, and wait until all nodes are one cluster again."""
        self._cuttable.mend(node)
        self.wait()

    def close(self) -> None:
        """End it for good: nothing of it is left."""
        for node in self.nodes:
            node.close()
        if self._network is not None:
            self._network.close()

    @property
    def _cuttable(self) -> Network:
        if self._network is None:
            raise ServerFailed("only the network of a cluster with namespaces can be cut")
        return self._network

    def _failed(self, what: str) -> ServerFailed:
        logs = "".join(f"\n{node.log}:\n{tail(node.log)}" for node in self.nodes)
        return ServerFailed(f"the cluster {what} within {DEADLINE:.0f} s; the ends of the logs:{logs}")
