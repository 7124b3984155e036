"""Who holds a claim: one process on one host, named so that others can tell whether it is gone.

A process id alone is used again by other processes, and means nothing on another host, after a reboot or in another
container. So a holder is its id together with the moment that it began, and the place where both mean something.
"""

from __future__ import annotations

import os
import platform
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """One user of claims in one process."""

    name: str
    """Random, so that two users in one process are two holders."""
    host: str
    process: int
    process_start: str

    @classmethod
    def new(cls) -> Holder:
        """A new holder in this process."""
        pid = os.getpid()
        return cls(secrets.token_hex(16), this_host(), pid, start_of(pid) or "")


def this_host() -> str:
    """The host, its boot and the namespace of process ids: two processes with the same can see each other."""
    name = platform.node().encode("ascii", "replace").decode()[:255]
    return f"{name} {_read('/proc/sys/kernel/random/boot_id')} {_link('/proc/self/ns/pid')}".strip()


def is_gone(host: str, process: int, process_start: str) -> bool:
    """Whether it is certain that the process has ended. False for one on another host, and where it can't be told."""
    if host != this_host() or process < 1:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # It is there, and another user's.
    start = start_of(process)
    return start is not None and process_start != "" and start != process_start


def start_of(pid: int) -> str | None:
    """When the process began, as its host counts; "" if it is dead and only unburied, None if it can't be told."""
    stat = _read(f"/proc/{pid}/stat")
    if stat:
        # The program's name, in brackets, may hold anything at all.
        fields = stat.rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]
    if os.path.isdir("/proc/self"):
        return None
    command = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    state, _, start = told.strip().partition(" ")
    return ("" if state.startswith("Z") else start.strip()) if start else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
