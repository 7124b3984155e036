"""The connections of one engine: too few, cut, killed, silent, another process's; and locks that others hold."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

import strongroom
from strongroom.engines.mysql import MysqlEngine
from strongroom.errors import (
    Conflict,
    Unavailable,
)
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next
from tests.engines.mysql.conftest import Ask, Url, opened


def test_a_caller_who_gets_no_connection_in_time_is_told_so(room: MysqlEngine) -> None:
    held = [room.links.take() for _ in range(3)]
    with pytest.raises(Unavailable, match="all 3 connections were in use for 2000 ms"):
        room.get(LEASES, "a")
    for link in held:
        room.links.leave(link)
    assert room.get(LEASES, "a") is None


def test_a_lock_that_another_holds_too_long_ends_in_a_conflict(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    admin("START TRANSACTION")
    admin(f"SELECT * FROM {room.options.database}.leases FOR UPDATE")
    with pytest.raises(Conflict, match="locked for too long"):
        room.update(LEASES, Lease("a", version=2), expect=1)
    with pytest.raises(Conflict, match="locked for too long"):
        room.write(lambda transaction: take_next(transaction, "a"))
    assert room.get(LEASES, "a") == Lease("a")  # whoever only reads does not wait
    admin("ROLLBACK")
    assert room.write(lambda transaction: take_next(transaction, "a")) == 2


def test_inspect_names_who_keeps_a_lock(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    admin("START TRANSACTION")
    admin(f"SELECT * FROM {room.options.database}.leases FOR UPDATE")
    ((session,),) = admin("SELECT CONNECTION_ID()")
    waiting = threading.Thread(target=lambda: room.update(LEASES, Lease("a"), expect=1))
    waiting.start()
    holders: Any = ()
    while not holders and waiting.is_alive():
        threading.Event().wait(0.2)  # the server shows what it knew a moment ago to whoever asks again and again
        holders = room.describe()["holders"]
    admin("ROLLBACK")
    waiting.join()
    assert f"session {session} keeps session" in holders[0]


def test_a_connection_that_an_operator_kills_is_noticed_by_nobody(room: MysqlEngine, admin: Ask) -> None:
    def kill() -> None:
        for (number,) in admin("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()"):
            if any(number == session for session in _sessions(room)):
                admin(f"KILL {number}")

    kill()
    assert room.get(LEASES, "a") is None
    kill()
    assert room.write(lambda transaction: take_next(transaction, "a")) == 1
    kill()
    room.insert(LEASES, Lease("b"))
    kill()
    assert room.read(lambda snapshot: snapshot.count(LEASES, limit=10)) == 2
    runs = []

    def change(transaction: strongroom.Transaction) -> int:
        runs.append(transaction.get(LEASES, "other"))
        if len(runs) == 1:
            kill()
        return take_next(transaction, "a")

    assert room.write(change) == 2
    assert len(runs) == 2


def _sessions(room: MysqlEngine) -> list[int]:
    return [link.session for link in room.links.forsake()]


def test_a_server_that_takes_connections_and_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable):
            strongroom.open(f"mysql://root@127.0.0.1:{port}/a?timeout_ms=100")


def test_close_leaves_no_session_no_thread_and_no_mark(url: Url, admin: Ask) -> None:
    threads = set(threading.enumerate())
    engine = opened(url())
    engine.prepare(SCHEMA)
    for i in range(300):
        engine.insert(LEASES, Lease(f"r{i}"))
    sessions = set(_sessions(engine))
    marks = f"SELECT COUNT(*) FROM {engine.options.database}.strongroom_marks"
    assert 0 < admin(marks)[0][0] < 256  # swept on the way
    engine.close()
    assert admin(marks) == ((0,),)
    assert set(threading.enumerate()) == threads
    left = "SELECT id FROM information_schema.processlist"
    for _ in range(100):  # the server ends a session a moment after the client did
        if sessions & {number for (number,) in admin(left)}:
            threading.Event().wait(0.02)
    assert not sessions & {number for (number,) in admin(left)}
