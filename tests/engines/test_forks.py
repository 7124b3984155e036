"""A forked child and its parent's connections to a server (C2)."""

from __future__ import annotations

import os
import secrets

import pytest

import strongroom
from strongroom.errors import Closed
from tests.conftest import SERVERS
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_forked_child_neither_uses_nor_ends_its_parent_s_sessions(kind: str, request: pytest.FixtureRequest) -> None:
    def fork_inside(transaction: strongroom.Transaction) -> int:
        transaction.get(LEASES, "a")
        child = os.fork()
        if not child:
            try:
                transaction.get(LEASES, "b")
            except Closed:
                os._exit(7)
            os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    url = SERVERS[kind](request.getfixturevalue(kind), f"fork_{secrets.token_hex(6)}")
    with strongroom.open(url) as room:
        room.prepare(SCHEMA)
        room.insert(LEASES, Lease("a"))
        assert room.write(fork_inside) == 7
        assert room.get(LEASES, "a") == Lease("a")
        assert room.write(lambda transaction: take_next(transaction, "a")) == 2
