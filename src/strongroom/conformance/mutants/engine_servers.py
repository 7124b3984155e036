"""What the engines of database servers have in common, with one safeguard broken."""

from __future__ import annotations

from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import TableChanges
from strongroom.engines.sql.pool import Pool

SERVERS = (Ground.POSTGRES, Ground.MYSQL)


@mutant("W4", "T1", on=SERVERS)
def servers_row_made_anew_is_updated(patch: Patches) -> None:
    """An immutable row that one transaction removes and makes anew is updated, which the database itself refuses."""
    patch.method(TableChanges, "guarded", lambda self: self)


@mutant("C1", on=SERVERS)
def servers_connection_lent_to_two(patch: Patches) -> None:
    """The pool lends a connection to whoever comes, also while another one uses it."""
    take = Pool.take

    def lend(self: Any) -> Any:
        connection = take(self)
        self._idle.append(connection)
        return connection

    patch.method(Pool, "take", lend)
