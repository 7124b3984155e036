"""Private database servers, for tests and benchmarks.

They listen on loopback ports of their own, keep their data in a temporary folder, and end with the process that they
were started for, however that ends::

    with Postgres() as server:
        strongroom.open(server.url(schema="mine"))

``python -m servers`` says what this machine has of them, ``python -m servers install`` gets the rest (Debian, root).
"""

from servers.dynamodb import DynamoDBLocal, Moto, any_dynamodb
from servers.errors import Missing, ServerFailed
from servers.etcd import Etcd, EtcdCluster
from servers.galera import Galera
from servers.machine import available, find
from servers.mariadb import MariaDB
from servers.pgbouncer import PgBouncer
from servers.postgres import Postgres
from servers.server import Address, Server

__all__ = [
    "Address",
    "DynamoDBLocal",
    "Etcd",
    "EtcdCluster",
    "Galera",
    "MariaDB",
    "Missing",
    "Moto",
    "PgBouncer",
    "Postgres",
    "Server",
    "ServerFailed",
    "any_dynamodb",
    "available",
    "find",
]
