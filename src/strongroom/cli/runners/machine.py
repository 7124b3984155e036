"""The machine that the command runs on, and which host of a fleet it is.

A host is found by its id or by its display name, and never guessed: what a command sets belongs to one machine, and so
does the directory that it makes.
"""

from __future__ import annotations

import platform
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.domains.runners import Arch, Host, NotFound, Os, RunnerStore
from strongroom.errors import InvalidArgument, clip

_SYSTEMS: Final = {"Linux": Os.LINUX, "Darwin": Os.MAC_OS, "Windows": Os.WINDOWS}
_PROCESSORS: Final = {
    "x86_64": Arch.X64,
    "amd64": Arch.X64,
    "arm64": Arch.ARM64,
    "aarch64": Arch.ARM64,
    "armv7l": Arch.ARM32,
    "armv6l": Arch.ARM32,
}
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as it knows itself. Its system and processor are None where runners know none such."""

    name: str
    os: Os | None
    architecture: Arch | None

    def new_host(self, fleet: str, id: str, now: int) -> Host:
        """A host of this machine's kind, new `now` (Unix milliseconds). `InvalidArgument` where it can be none."""
        if self.os is None or self.architecture is None:
            raise InvalidArgument("this machine's system or processor is none that a host can have")
        return Host.make(fleet, id, self.name or id, os=self.os, architecture=self.architecture, now=now)


def this_machine() -> Machine:
    """The machine that this process runs on."""
    return Machine(socket.gethostname(), _SYSTEMS.get(platform.system()), _PROCESSORS.get(platform.machine().lower()))


def chosen_host(hosts: Sequence[Host], named: str | None, machine: Machine) -> str:
    """The id of the host that was named; else of the one with the machine's name as its id, or as its display name.

    In a fleet without hosts it is the machine's name. Raises `InvalidArgument` where there are hosts, and not exactly
    one is this machine.
    """
    if named is not None:
        return named
    if not hosts or any(host.id == machine.name for host in hosts):
        return machine.name
    ours = [host.id for host in hosts if host.display_name == machine.name]
    if len(ours) == 1:
        return ours[0]
    many = "no host" if not ours else "several hosts"
    ids = ", ".join(clip(host.id) for host in hosts[:_NAMED]) + (" and others" if len(hosts) > _NAMED else "")
    raise InvalidArgument(f"{many} of the fleet is named {clip(machine.name)}: name one with --host; there are {ids}")


def found_host(store: RunnerStore, named: str | None, machine: Machine) -> Host:
    """The host that a command is about. Raises as `chosen_host`, and `NotFound` where it is not on record."""
    hosts = store.hosts()
    id = chosen_host(hosts, named, machine)
    for host in hosts:
        if host.id == id:
            return host
    raise NotFound("host", id)


def made_host(store: RunnerStore, named: str | None, machine: Machine) -> Host:
    """As `found_host`; a host that is not on record is put there, as a new one of this machine's kind."""
    id = chosen_host(store.hosts(), named, machine)
    found = store.host(id)
    if found is not None:
        return found
    new = machine.new_host(store.fleet, id, time.time_ns() // 1_000_000)
    return store.change_host(id, lambda stored: stored or new)
