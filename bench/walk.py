"""A process that reads every job of a store in pages, and tells its memory: ``python -m bench.walk FILE``."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import strongroom
from bench.tables import JOBS, QUEUE, SCHEMA


def main(path: str) -> None:
    with strongroom.open(f"sqlite:///{path}?create=0") as room:
        room.prepare(SCHEMA)
        before, began = peak_mb(), time.perf_counter()
        rows, after = 0, None
        while page := room.scan(JOBS, QUEUE, after=after, limit=1_000):
            rows += len(page)
            after = (page[-1].id,)
        told = {
            "rows": rows,
            "peak_mb": round(peak_mb(), 1),
            "growth_mb": round(peak_mb() - before, 1),
            "seconds": round(time.perf_counter() - began, 2),
        }
    print(json.dumps(told))


def peak_mb() -> float:
    """The most memory that this program has had resident, in MB of 10^6 bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux, getrusage also counts what the parent had between fork and exec.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024 / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6


if __name__ == "__main__":
    main(sys.argv[1])
