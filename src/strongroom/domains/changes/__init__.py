"""Changes: which requests of a queue have claimed which changes, so that none is landed by two of them at once.

``changes.open(engine).for_queue("monorepo/main")`` gives the claims of one queue. A claim is one record; nothing joins
several, nothing is filtered, and nothing is ever deleted.
"""

from strongroom.domains.changes.duplicates import OwnerState, find_duplicates
from strongroom.domains.changes.faults import NotFound, VersionMismatch
from strongroom.domains.changes.records import SCHEMA, ChangeRecord
from strongroom.domains.changes.store import SUBJECT, Changes, ChangeStore, open

__all__ = [
    "SCHEMA",
    "SUBJECT",
    "ChangeRecord",
    "ChangeStore",
    "Changes",
    "NotFound",
    "OwnerState",
    "VersionMismatch",
    "find_duplicates",
    "open",
]
