"""New servers' data: made once for a run, copied for every server, which takes a tenth of the time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from servers.errors import ServerFailed
from servers.process import Process, tail
from servers.run import Run

DEADLINE = 120.0
"""How many seconds it may take to make the data of a server. It takes less than one; a slow disk may take more."""


def copy_of(run: Run, name: str, make: Callable[[Path], None], target: Path) -> Path:
    """Copy the data of that name to the new folder `target`, and answer it.

    The first to ask has `make` called with an empty folder, in which it is to make the folder ``data``.
    """

    def first() -> str:
        folder = run.new_folder(f"{name}-data")
        make(folder)
        return str(folder / "data")

    subprocess.run(["cp", "-a", str(run.once(f"{name}-data", first)), str(target)], check=True)
    return target


def run_to_end(command: Sequence[str], run: Run, folder: Path) -> None:
    """Run a program as a server's user. Raises `ServerFailed` if it fails."""
    process = Process(command, run=run, folder=folder)
    if not process.wait(DEADLINE):
        process.kill()
    if process.status != 0:
        raise ServerFailed(f"{command[0]} ended with {process.status}; the end of {process.log}:\n{tail(process.log)}")
