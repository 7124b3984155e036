"""A network of one's own: every node in its network namespace, joined by a switch whose links can be cut.

A node has two links. Over one it meets its peers, through the switch, in a network that nothing outside can see. Over
the other it is reached from this machine. So its peers can be cut off while its clients still reach it.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from servers.errors import ServerFailed
from servers.machine import find, program
from servers.process import Process, tail
from servers.run import Run

FIRST: Final = 10
"""The number of the first namespace's file in the holder (see `_namespaces`): the switch's; the nodes' follow."""

DEADLINE = 30.0
"""How many seconds the namespaces may take to be there: it takes a few hundredths of one."""


class Network:
    """Namespaces for `nodes` nodes, and one for their switch. Root only.

    Raises `Missing` where such can't be made.
    """

    def __init__(self, nodes: int, run: Run) -> None:
        self._ip_program = find("namespaces")
        self.nodes = nodes
        folder = run.new_folder("network")
        ready = folder / "ready"
        script = Path(__file__).with_name("_namespaces.py")
        command = [sys.executable, "-I", "-S", str(script), str(nodes + 1), str(ready)]
        self._holder = Process(command, run=run, folder=folder, as_root=True)
        deadline = time.monotonic() + DEADLINE
        while not ready.exists():
            if not self._holder.running or time.monotonic() > deadline:
                raise ServerFailed(f"there are no network namespaces: {tail(self._holder.log)}")
            time.sleep(0.002)
        self._prefix = self._free_prefix()
        self._links = [f"sr{self._prefix.replace('.', '')}n{node}" for node in range(nodes)]
        self._link()

    def namespace(self, node: int) -> str:
        """The path of a node's namespace."""
        return self._namespace(1 + node)

    def host(self, node: int) -> str:
        """The address that a node has for this machine."""
        return f"{self._prefix}.{4 * node + 2}"

    def peer_host(self, node: int) -> str:
        """The address that a node has for the other nodes."""
        return f"192.168.0.{node + 1}"

    def cut(self, node: int, *, clients: bool = False) -> None:
        """Cut a node off from its peers; from its clients too if so asked: then packets go nowhere, unanswered."""
        self._ip(self._namespace(0), f"link set node{node} down")
        if clients:
            self._ip(self.namespace(node), "link set clients down")

    def mend(self, node: int) -> None:
        """Undo `cut`."""
        self._ip(self._namespace(0), f"link set node{node} up")
        self._ip(self.namespace(node), "link set clients up")

    def close(self) -> None:
        """Remove it all."""
        # The links would go with the namespaces that they lead to, but the kernel keeps these for a minute or two,
        # for the connections of killed nodes. That is what happens at the end of a run that doesn't get here.
        self._ip(None, *(f"link delete {link}" for link in self._links))
        self._holder.end()

    def _namespace(self, number: int) -> str:
        return f"/proc/{self._holder.pid}/fd/{FIRST + number}"

    def _free_prefix(self) -> str:
        """The first three numbers of a network that this machine knows nothing of."""
        # 198.18.0.0/15 is set apart for tests of networks (RFC 2544): nobody is reached there.
        while True:
            prefix = f"198.{random.choice((18, 19))}.{random.randrange(256)}"
            if not self._ip(None, f"route show to root {prefix}.0/24").strip():
                return prefix

    def _link(self) -> None:
        switch = ["link add switch type bridge", "link set switch up"]
        outside = []
        for node, link in enumerate(self._links):
            there = self.namespace(node)
            switch += [
                f"link add node{node} type veth peer name peers netns {there}",
                f"link set node{node} master switch up",
            ]
            outside += [
                f"link add {link} type veth peer name clients netns {there}",
                f"addr add {self._prefix}.{4 * node + 1}/30 dev {link}",
                f"link set {link} up",
            ]
        self._ip(self._namespace(0), *switch)
        self._ip(None, *outside)
        for node in range(self.nodes):
            self._ip(
                self.namespace(node),
                f"addr add {self.host(node)}/30 dev clients",
                f"addr add {self.peer_host(node)}/24 dev peers",
                *(f"link set {link} up" for link in ("lo", "clients", "peers")),
            )

    def _ip(self, namespace: str | None, *commands: str) -> str:
        """What ``ip`` answers to commands, in a namespace or outside of all."""
        enter = [str(program("nsenter")), f"--net={namespace}"] if namespace else []
        done = subprocess.run(
            [*enter, str(self._ip_program), "-batch", "-"],
            check=False,
            input="\n".join(commands),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ServerFailed(f"the network can't be set: {done.stderr.strip()}")
        return done.stdout
