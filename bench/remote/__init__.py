"""Against raw drivers, on private servers: Strongroom beside psycopg, PyMySQL, gRPC or boto3, on one server.

`raw` says what a raw connection does, `postgres`, `mysql`, `etcd` and `dynamodb` do it; `cases` and `logs` measure.
"""

from __future__ import annotations

from typing import Final

from bench.remote import cases, logs
from bench.remote.dynamodb import DYNAMODB
from bench.remote.etcd import ETCD
from bench.remote.mysql import MYSQL
from bench.remote.postgres import POSTGRES
from bench.remote.raw import Kind
from bench.workshop import Case

KINDS: Final[dict[str, Kind]] = {kind.group: kind for kind in (POSTGRES, MYSQL, ETCD, DYNAMODB)}


def remote_cases(kind: Kind) -> tuple[Case, ...]:
    """All cases on one kind of server."""
    return (*cases.cases(kind), *logs.cases(kind))


__all__ = ["DYNAMODB", "ETCD", "KINDS", "MYSQL", "POSTGRES", "remote_cases"]
