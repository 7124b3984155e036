"""Against raw drivers, on private servers: Strongroom beside psycopg or PyMySQL, on one server, with the same tables.

`raw` says what a raw connection does, `postgres` and `mysql` do it; `cases` and `logs` measure, on either.
"""

from __future__ import annotations

from typing import Final

from bench.remote import cases, logs
from bench.remote.mysql import MYSQL
from bench.remote.postgres import POSTGRES
from bench.remote.raw import Kind
from bench.workshop import Case

KINDS: Final[dict[str, Kind]] = {kind.group: kind for kind in (POSTGRES, MYSQL)}


def remote_cases(kind: Kind) -> tuple[Case, ...]:
    """All cases on one kind of server."""
    return (*cases.cases(kind), *logs.cases(kind))


__all__ = ["KINDS", "MYSQL", "POSTGRES", "remote_cases"]
