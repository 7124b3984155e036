"""Processes that wait for work, as `bench.workshop.Crew` has threads.

A process is a module run with arguments: it calls `serve` with its work. Each line that it reads is how often to do it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.measure import Side

_LEAST: Final = 8
"""How often at least each process does its work in one chunk."""


class Processes:
    """As many processes of one module as there are lists of arguments."""

    def __init__(self, module: str, arguments: Sequence[Sequence[str]]) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", module, *some],
                cwd=Path(__file__).parents[1],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for some in arguments
        ]

    @property
    def side(self) -> Side:
        """The side on which each process is a caller."""
        return Side(self.run, jobs=len(self._processes), least=_LEAST, elsewhere=True)

    def run(self, n: int) -> None:
        """Have each process do its work `n` times, all at once."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{n}\n")
            process.stdin.flush()
        for process in self._processes:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError(f"process {process.pid} of the benchmark ended: what it said is above")

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError), process:
                pass  # it reads the end of its input, and ends


def serve(work: Callable[[int], object]) -> None:
    """In such a process: do `work` as often as each line says, until there are no more."""
    for line in sys.stdin:
        work(int(line))
        print("done", flush=True)
