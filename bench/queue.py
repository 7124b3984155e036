"""A job queue on Strongroom's tables, as a control plane would write it: what the queue libraries are held against.

A job is a record with a version, and stays when it is done. A second table lists the jobs that wait, in their order;
it is written in the same transaction. So an enqueue, a claim and a finish are one durable commit each.
"""

from __future__ import annotations

import itertools
import time

from bench.tables import JOBS, PAYLOAD, READY, Job, Ready, State
from strongroom import Transaction
from strongroom.engine import Engine


class JobQueue:
    """The queue `name` in a room."""

    def __init__(self, room: Engine, name: str) -> None:
        self._room = room
        self._name = name
        self._serial = itertools.count()

    def enqueue(self) -> Job:
        """Keep a new job, to be claimed after all that wait."""
        id = f"{time.time_ns():020d}-{next(self._serial):08d}"
        new = Job(self._name, id, 1, State.READY, "", time.time_ns() // 1_000_000, PAYLOAD)

        def change(transaction: Transaction) -> Job:
            transaction.insert(JOBS, new)
            transaction.insert(READY, Ready(self._name, id))
            return new

        return self._room.write(change)

    def claim(self, owner: str) -> Job | None:
        """The job that has waited longest, now its `owner`'s; None if none waits."""

        def change(transaction: Transaction) -> Job | None:
            waiting = transaction.scan(READY, self._name, limit=1)
            if not waiting:
                return transaction.abandon(None)
            found = transaction.get(JOBS, self._name, waiting[0].id)
            assert found is not None
            claimed = found.replace(state=State.CLAIMED, owner=owner, version=found.version + 1)
            transaction.update(JOBS, claimed, expect=found.version)
            transaction.delete(READY, self._name, found.id)
            return claimed

        return self._room.write(change)

    def finish(self, claimed: Job) -> Job:
        """The job, now done; `VersionMismatch` if it is not as it was claimed."""
        done = claimed.replace(state=State.DONE, version=claimed.version + 1)
        self._room.update(JOBS, done, expect=claimed.version)
        return done

    def cycle(self, caller: int, n: int) -> None:
        """Enqueue, claim and finish, `n` times: what is timed."""
        for _ in range(n):
            self.enqueue()
            claimed = self.claim(f"runner-{caller}")
            assert claimed is not None
            self.finish(claimed)
