"""Workers under asyncio claim jobs, each job exactly once.

`room.run` makes any call off the event loop, with its types. Calls that come together are committed together: forty
claims cost a few flushes of the disk, not forty.

    python examples/asyncio_claims.py [URL of a store]
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import strongroom
from strongroom.errors import AlreadyExists
from strongroom.patterns import ScopedTable
from strongroom.records import Identifier, Record, Schema, Table


class Claim(Record):
    queue: Annotated[str, Identifier(64)]
    job: Annotated[str, Identifier(64)]
    worker: Annotated[str, Identifier(64)]


CLAIMS = Table("claims", Claim, key=("queue", "job"), scope=1)
JOBS = [f"job-{number}" for number in range(10)]


async def work(room: strongroom.Engine, claims: ScopedTable[Claim], worker: str) -> list[str]:
    won = []
    for job in JOBS:
        try:
            await room.run(claims.insert, Claim("nightly", job, worker))
        except AlreadyExists:
            continue  # somebody else's
        won.append(job)
    return won


async def main(url: str) -> None:
    with strongroom.open(url) as room:
        room.prepare(Schema("claims", CLAIMS))
        claims = ScopedTable(room, CLAIMS, ("nightly",))
        won = await asyncio.gather(*(work(room, claims, f"worker-{number}") for number in range(4)))
        print(sum(len(jobs) for jobs in won), "claims of", len(JOBS), "jobs")
        assert sorted(job for jobs in won for job in jobs) == JOBS

        # A caller that is cancelled after its call has begun is told what came of it; before that, nothing was done.
        task = asyncio.ensure_future(room.run(claims.insert, Claim("nightly", "late", "worker-9")))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
            kept = True
        except strongroom.Cancelled as cancelled:
            kept = cancelled.error is None
        except asyncio.CancelledError:
            kept = False
        assert kept == (claims.find("late") is not None)
        print("the cancelled caller knows what came of its call")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory://"))
