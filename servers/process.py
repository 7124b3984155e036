"""One program, run under a keeper: when the run ends, or the program does, nothing of it is left."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from servers.errors import ServerFailed
from servers.run import Run, sandbox

TAIL = 4000
"""How many bytes of a log's end a failure shows."""


class Process:
    """A running program of a server, with everything that it starts.

    Arguments:
        command: what to run; its output goes to the log.
        run: the run that it ends with.
        folder: its working folder and home; the log is there.
        name: of its log.
        farewell: the signal that lets it end in order, at the end of the run; without one it is killed.
        namespace: the path of the network namespace to run in. Root only.
        as_root: stay root instead of becoming the servers' user.

    Raises `ServerFailed` when it can't be run.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        run: Run,
        folder: Path,
        name: str = "log",
        farewell: signal.Signals | None = None,
        namespace: str | None = None,
        as_root: bool = False,
    ) -> None:
        self.log = folder / name
        self._status = folder / f"{name}.status"
        self._status.unlink(missing_ok=True)
        identity = None if as_root else sandbox()
        task = {
            "command": list(command),
            "guard": run.guard,
            "alive": str(run.alive),
            "folder": str(folder),
            "log": str(self.log),
            "status": str(self._status),
            "environment": _environment(folder),
            "farewell": farewell,
            "namespace": namespace,
            "user": identity and identity.user,
            "group": identity and identity.group,
        }
        script = Path(__file__).with_name("_keeper.py")
        with self.log.open("ab") as log:
            started = subprocess.run(
                [sys.executable, "-I", "-S", str(script), json.dumps(task)],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            keeper, self.pid = map(int, started.stdout.split())
        except ValueError:
            raise ServerFailed(f"{command[0]} could not be run; the end of {self.log}:\n{tail(self.log)}") from None
        try:
            self._keeper: int | None = os.pidfd_open(keeper)
        except ProcessLookupError:
            self._keeper = None

    @property
    def running(self) -> bool:
        """Whether anything of the program is left."""
        return not self.wait(0)

    def wait(self, seconds: float) -> bool:
        """Whether nothing of the program is left, after waiting so long for it at most."""
        if self._keeper is not None:
            ended, _, _ = select.select([self._keeper], [], [], seconds)
            if not ended:
                return False
            os.close(self._keeper)
            self._keeper = None
        return True

    @property
    def status(self) -> int | None:
        """The program's exit status, negative for a signal's number; None while it runs."""
        if self.running or not self._status.exists():
            return None
        return int(self._status.read_text(encoding="utf-8"))

    def send(self, number: signal.Signals) -> None:
        """Send the program itself a signal."""
        if self.running:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the program and all that it has started, at once, and wait until they are gone."""
        self._end(signal.SIGUSR1)

    def end(self) -> None:
        """Bid the program farewell, kill what is left a few seconds later, and wait until it is gone."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._keeper is not None and not self.wait(0):
            signal.pidfd_send_signal(self._keeper, number)
            if not self.wait(30):
                raise ServerFailed(f"process {self.pid} could not be killed; the end of {self.log}:\n{tail(self.log)}")


def tail(log: Path) -> str:
    """The end of a log, for a failure's message."""
    return log.read_bytes()[-TAIL:].decode(errors="replace") if log.exists() else ""


def _environment(folder: Path) -> dict[str, str]:
    # Not the caller's: what a server does must not depend on who tests, nor see the caller's secrets.
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
    }
