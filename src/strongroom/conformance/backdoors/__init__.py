"""Ways into a store behind its engine's back: what a hostile operator, a damaged disk or a stray script would use.

One module for each kind of store; those into servers need the server's driver, and are imported only where it is used.
"""

from strongroom.conformance.backdoors.door import BackDoor, ServerBackDoor, SqlBackDoor
from strongroom.conformance.backdoors.memory import MEMORY_STORE, MemoryBackDoor
from strongroom.conformance.backdoors.sqlite import SqliteBackDoor

__all__ = ["MEMORY_STORE", "BackDoor", "MemoryBackDoor", "ServerBackDoor", "SqlBackDoor", "SqliteBackDoor"]
