"""A script: runs one server program, and sees to it that nothing of it is left when its time has come.

That is when the run's guard ends, when told so by a signal, and when the program itself ends: then whatever it has
started and left behind goes too. ``SIGTERM`` first asks the program by its farewell signal, if it has one; ``SIGUSR1``
kills everything at once. It prints its own process id and the program's.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PATIENCE = 5.0
"""How many seconds a program gets between its farewell signal and the end of everything."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, CLONE_NEWNET = 1, 36, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def main(task: dict[str, Any]) -> None:
    if os.fork():
        return
    os.setsid()
    alive = os.open(task["alive"], os.O_RDONLY)  # The folder's remover waits until nobody holds this lock.
    fcntl.flock(alive, fcntl.LOCK_SH)
    guard = os.pidfd_open(task["guard"])
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # Orphans of the program become ours.
    if task["namespace"]:
        enter(task["namespace"])
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    started = start(task)
    program = started.pid
    print(os.getpid(), program, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    status = attend(program, guard, woken, task["farewell"])
    killed = kill_all(program)
    Path(task["status"]).write_text(str(killed if status is None else status), encoding="utf-8")


def enter(namespace: str) -> None:
    with open(namespace) as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")


def start(task: dict[str, Any]) -> subprocess.Popen[bytes]:
    """The started program, which dies with this process even if that is killed.

    Whoever gets it keeps it: it would bury an ended program when it is itself dropped, and the status with it.
    """
    with open(task["log"], "ab") as log:
        return subprocess.Popen(
            task["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=task["folder"],
            env=task["environment"],
            user=task["user"],
            group=task["group"],
            extra_groups=None if task["user"] is None else [],
            start_new_session=True,
            # After the change of user, which clears it.
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )


def attend(program: int, guard: int, woken: int, farewell: int | None) -> int | None:
    """Wait until the program ends (the answer is its status), or its time has come (None)."""
    asked_at: float | None = None
    while True:
        left = None if asked_at is None else max(0.0, asked_at + PATIENCE - time.monotonic())
        ready, _, _ = select.select([guard, woken] if asked_at is None else [woken], [], [], left)
        signals = os.read(woken, 64) if woken in ready else b""
        status = reap(program)
        if status is not None or signal.SIGUSR1 in signals or not ready:
            return status
        if guard in ready or signal.SIGTERM in signals:
            if not farewell:
                return None
            os.kill(program, farewell)
            asked_at = time.monotonic()


def kill_all(program: int) -> int | None:
    """Kill whatever descends from us, until nothing does; the program's status if it was there."""
    status = None
    while ours := descendants(os.getpid()):
        for process in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)
        ended = reap(program)
        status = ended if status is None else status
    return status


def reap(wanted: int) -> int | None:
    """Bury every child that has ended; the exit status of `wanted` if it was among them."""
    found = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not process:
            return found
        if process == wanted:
            found = os.waitstatus_to_exitcode(status)


def descendants(of: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in os.listdir("/proc"):
        if not folder.isdecimal():
            continue
        try:
            stat = Path("/proc", folder, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # It has ended since.
        parent = int(stat.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(folder))
    found = []
    unvisited = [of]
    while unvisited:
        below = children.get(unvisited.pop(), [])
        found += below
        unvisited += below
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
