"""A run: the servers of one test run, or of one program, and the folder that they live in.

A run belongs to a process, its owner. However that ends, be it by ``kill -9``, every server of the run ends with it and
the folder goes. Other processes can join the run (the workers of a parallel test run do), so that what is slow to make
is made once for them all.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from servers.errors import ServerFailed

SANDBOX_USER: Final = "nobody"
"""Who servers run as when the run's owner is root: PostgreSQL and Galera refuse root."""

MEMORY: Final = Path("/dev/shm")
MEMORY_NEEDED: Final = 4 << 30
"""Bytes that the servers of a whole test run may come to, and half as much again."""


@dataclass(frozen=True)
class Identity:
    """The user and group that the servers run as, as numbers."""

    user: int
    group: int


def sandbox() -> Identity | None:
    """Who the servers run as; None for whoever the caller is."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam(SANDBOX_USER)
    return Identity(nobody.pw_uid, nobody.pw_gid)


@dataclass(frozen=True)
class Run:
    """A folder for servers, and the process that they end with."""

    folder: Path
    owner: int

    @classmethod
    def named(cls, name: str, owner: int, *, flushed: bool = True) -> Run:
        """The run of that name, which every process that knows the name can join; its folder is made when needed.

        Where flushes need reach no disk, the folder is in memory, if the machine has the room.
        """
        memory = not flushed and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED
        place = MEMORY if memory else Path(tempfile.gettempdir())
        return cls(place.resolve() / f"strongroom-servers-{name}", owner)

    @property
    def guard(self) -> int:
        """The process id of the run's guard: the keepers of servers end theirs when it ends."""
        pid = self.once("guard", self._start_guard)
        assert isinstance(pid, int)
        return pid

    @property
    def alive(self) -> Path:
        """A file that every keeper holds a shared lock on while its server, or anything of it, is there."""
        return self.folder / "alive"

    def new_folder(self, name: str) -> Path:
        """A new folder that only the servers' user, and root, can look into."""
        self._make()
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        if identity := sandbox():
            os.chown(folder, identity.user, identity.group)
        return folder

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` answers, in JSON's terms: called by whoever comes first, and remembered for everyone.

        Raises what `make` raises; those who come later get it as `ServerFailed`.
        """
        self._make()
        answer = self.folder / f"{name}.json"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not answer.exists():
                try:
                    _write(answer, {"made": make()})
                except Exception as failure:
                    _write(answer, {"failed": f"{failure}"})
                    raise
        known = json.loads(answer.read_text(encoding="utf-8"))
        if "failed" in known:
            raise ServerFailed(known["failed"])
        return known["made"]

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Keep every other process of the run from what it does under the same name meanwhile."""
        self._make()
        with (self.folder / f"{name}.alone").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def end(self) -> None:
        """End every server, wait until nothing is left of them, and remove the folder."""
        if not self.folder.exists():
            return
        if self.alive.exists():
            os.kill(self.guard, signal.SIGTERM)
            with self.alive.open() as alive:
                fcntl.flock(alive, fcntl.LOCK_EX)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        # Others must be able to pass through it, though not to look around: the servers' user has its folders there.
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o711)

    def _start_guard(self) -> int:
        script = Path(__file__).with_name("_guard.py")
        command = [sys.executable, "-I", "-S", str(script), str(self.owner), str(self.folder)]
        started = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.alive.touch()
        return int(started.stdout)


def _write(path: Path, value: object) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(value), encoding="utf-8")
    unfinished.replace(path)


_current: Run | None = None


def current() -> Run:
    """The run that this process has joined; else one of its own, which ends when it exits."""
    global _current
    if _current is None:
        _current = Run.named(f"{os.getpid()}-{os.urandom(4).hex()}", os.getpid())
        atexit.register(_end_at_exit, _current)
    return _current


def join(run: Run) -> None:
    """Make `run` the one that this process starts its servers in."""
    global _current
    _current = run


def _end_at_exit(run: Run) -> None:
    if run.owner == os.getpid():  # A forked child has our exit handlers too.
        run.end()
