from typing import Annotated

import strongroom
from strongroom.records import VERSIONED, Identifier, Record, Schema, Table


class Lease(Record):
    runner: Annotated[str, Identifier(255)]  # at most 255 bytes, compared byte for byte
    job: Annotated[str, Identifier(255)]
    version: int = 1


LEASES = Table("leases", Lease, key=("runner",), changes=VERSIONED("version"))

with strongroom.open("sqlite:///leases.db") as room:
    room.prepare(Schema("leases", LEASES))
    room.insert(LEASES, Lease("runner-1", "job-17"))  # flushed to the disk when it returns, or AlreadyExists
    room.update(LEASES, Lease("runner-1", "job-18", version=2), expect=1)  # or VersionMismatch, nothing written
    print(room.get(LEASES, "runner-1"))  # checked against its seal, or Corrupt
