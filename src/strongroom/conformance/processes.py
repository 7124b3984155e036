"""Other processes for the kit's cases: started on a harness's store, listened to, and killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, Final

from strongroom.conformance.checks import Failed
from strongroom.conformance.kit import Kit

PATIENCE: Final = 45.0
"""Seconds after which a process that says nothing counts as stuck."""


class Worker:
    """A process that does one of the jobs of `strongroom.conformance.worker`."""

    def __init__(self, kit: Kit, job: str, *arguments: str, url: str = "") -> None:
        command = [sys.executable, "-m", "strongroom.conformance.worker", kit.harness.opener, url or kit.harness.url]
        # It imports what this process imports, from wherever that is.
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [*command, job, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        self._buffer = b""
        self._ended = False

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def line(self, patience: float = PATIENCE) -> str | None:
        """The next line that it says; None when it has ended. Fails if neither comes in `patience` seconds."""
        deadline = time.monotonic() + patience
        while b"\n" not in self._buffer and not self._ended:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], left)[0]:
                self.kill()
                raise Failed(f"a process said nothing for {patience:.0f} s: {self._complaint()}")
            self._read()
        if b"\n" not in self._buffer:
            return None  # a line that was cut off by death was never said
        said, _, self._buffer = self._buffer.partition(b"\n")
        return said.decode()

    def tell(self, line: str = "") -> None:
        """Send it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def ask(self) -> str | None:
        """Send it an empty line, and hear its answer."""
        self.tell()
        return self.line()

    def let_go(self) -> None:
        """End its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def finish(self) -> list[str]:
        """All that it says until its end; fails unless it ends well."""
        said = []
        while (line := self.line()) is not None:
            said.append(line)
        code = self._process.wait(PATIENCE)
        complaint = self._complaint()
        self._close()
        if code != 0 or said[-1:] != ["done"]:
            raise Failed(f"a process ended with code {code}: {complaint or said[-1:]}")
        return said[:-1]

    def code(self) -> int:
        """Its exit code, once it has ended."""
        code = self._process.wait(PATIENCE)
        self._close()
        return code

    def kill(self) -> list[str]:
        """Kill it (SIGKILL); what it had said by then."""
        self._process.kill()
        self._process.wait(PATIENCE)
        said = []
        while (line := self.line()) is not None:
            said.append(line)
        return said

    def end(self) -> None:
        """See that nothing is left of it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)
        self._close()

    def _complaint(self) -> str:
        """The last line that it wrote to its standard error, when it has ended."""
        if self._process.poll() is None or self._process.stderr is None or self._process.stderr.closed:
            return ""
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _read(self) -> None:
        data = os.read(self._out.fileno(), 65_536)
        self._buffer += data
        self._ended = not data

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Nursery:
    """Short-lived processes on one store, one at a time, which are to be killed."""

    def __init__(self, kit: Kit, *, url: str = "") -> None:
        self._worker = Worker(kit, "nursery", url=url)
        self._pid = 0
        if self._worker.line() != "ready":
            raise Failed("the nursery did not start")

    def begin(self, job: str, *arguments: str) -> None:
        """Start a process that does this job."""
        self._worker.tell(" ".join((job, *arguments)))
        said = self._worker.line() or ""
        if not said.startswith("pid "):
            raise Failed(f"a process of the nursery said {said!r}, not its number")
        self._pid = int(said.removeprefix("pid "))

    def line(self) -> str:
        """The next line that the process says; fails if it ends instead."""
        said = self._worker.line()
        if said is None or said.startswith("ended "):
            raise Failed(f"a process of the nursery ended by itself: {said}")
        return said

    def kill(self) -> list[str]:
        """Kill the process (SIGKILL); what else it had said by then."""
        os.kill(self._pid, signal.SIGKILL)
        said = []
        while (line := self._worker.line()) is not None and not line.startswith("ended "):
            said.append(line)
        return said

    def end(self) -> None:
        """See that nothing is left."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._worker.end()


@contextlib.contextmanager
def workers(kit: Kit, *jobs: tuple[str, ...]) -> Iterator[list[Worker]]:
    """Processes that do these jobs at once; what is left of them at the end is killed."""
    started: list[Worker] = []
    try:
        for job in jobs:
            started.append(Worker(kit, *job))
        yield started
    finally:
        for worker in started:
            worker.end()
