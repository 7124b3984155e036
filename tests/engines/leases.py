"""A table for tests of engines that stand behind a network, and what is done to it."""

from __future__ import annotations

from typing import Annotated

from strongroom.engine import Transaction
from strongroom.records import VERSIONED, Identifier, Record, Schema, Table


class Lease(Record):
    runner: Annotated[str, Identifier(255)]
    job: Annotated[str, Identifier(3000)] = "none"
    version: int = 1


LEASES = Table("leases", Lease, key=("runner",), changes=VERSIONED("version"))
SCHEMA = Schema("leases", LEASES)


def take_next(transaction: Transaction, runner: str) -> int:
    """Write the lease's next version, whatever there is; the version."""
    found = transaction.get(LEASES, runner)
    if found is None:
        transaction.insert(LEASES, Lease(runner))
        return 1
    transaction.update(LEASES, found.replace(version=found.version + 1), expect=found.version)
    return found.version + 1
