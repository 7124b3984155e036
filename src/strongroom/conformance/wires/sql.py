"""Which statements commit: those that say so, and those that write while no transaction is open."""

from __future__ import annotations

import re
from typing import Final

from strongroom.conformance.wires.wire import Wire

_BEGINS: Final = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION|SET\s+AUTOCOMMIT\s*=\s*0)\b", re.IGNORECASE)
_COMMITS: Final = re.compile(r"(?:^|;)\s*COMMIT\b", re.IGNORECASE)
_ENDS: Final = re.compile(r"\s*(?:ROLLBACK|ABORT)\b(?!\s+(?:WORK\s+)?TO\b)", re.IGNORECASE)
_WRITES: Final = re.compile(r"\s*(?:WITH\b.*?\b)?(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE | re.DOTALL)


class SqlWire(Wire):
    """A connection over which statements go."""

    def __init__(self) -> None:
        super().__init__()
        self._open = False
        """Whether the client has a transaction open."""

    def _commits(self, statement: str) -> bool:
        """Whether a statement that goes by commits."""
        if _COMMITS.search(statement):
            self._open = False
            return True
        if _BEGINS.match(statement):
            self._open = True
        elif _ENDS.match(statement):
            self._open = False
        return not self._open and _WRITES.match(statement) is not None
