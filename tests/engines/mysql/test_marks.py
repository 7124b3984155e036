"""Marks: by which it is known of every transaction whether it was kept (T6)."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, cast

import pymysql
import pytest

from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, SCHEMA, THINGS, Mark, Member, Pair, Thing
from strongroom.engine import Engine
from strongroom.engines.mysql import MysqlEngine
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.wire import Wire
from strongroom.errors import InvalidArgument, VersionMismatch
from strongroom.records import Table
from tests.engines.mysql.conftest import Ask, Url, opened


@pytest.mark.parametrize("token", ["", "0" * 27, "g" * 28, "0" * 29, "' OR true -- "])
def test_a_token_that_was_never_given_out_is_refused(room: MysqlEngine, token: str) -> None:
    with pytest.raises(InvalidArgument, match="not one of this engine's"):
        room.resolve(token)


def test_a_token_of_long_ago_is_refused_as_its_mark_is_forgotten(room: MysqlEngine) -> None:
    with pytest.raises(InvalidArgument, match="older than six days"):
        room.resolve("00000001" + "0" * 20)


def test_a_mark_that_was_kept_is_told_apart_from_the_fence_of_one_that_was_not(room: MysqlEngine) -> None:
    marks = room.lane.marks
    kept, lost = marks.new_token(), marks.new_token()
    link = room.links.take()
    link.trip(["START TRANSACTION", marks.mark(kept), "COMMIT"])
    for _ in range(2):
        assert room.resolve(kept) is True
        assert room.resolve(lost) is False
    with pytest.raises(pymysql.IntegrityError):  # it arrives late, and meets the fence
        link.trip(["START TRANSACTION", marks.mark(lost), "COMMIT"])
    link.trip(["ROLLBACK"])
    room.links.leave(link)


def test_whether_a_transaction_still_under_way_is_kept_is_waited_for(room: MysqlEngine) -> None:
    marks = room.lane.marks
    token = marks.new_token()
    link = room.links.take()
    link.trip(["START TRANSACTION", marks.mark(token)])
    told: list[bool] = []
    asking = threading.Thread(target=lambda: told.append(room.resolve(token)))
    asking.start()
    asking.join(0.2)
    assert told == []
    link.trip(["COMMIT"])
    asking.join()
    assert told == [True]
    room.links.leave(link)


class Breaking:
    """What answers are read from, on a connection that breaks while its statement waits for a lock of `admin`'s.

    The lock is let go of then, and the server goes on, and finds nobody left to answer to.
    """

    def __init__(self, link: Link, admin: Ask) -> None:
        self._session = link.session
        self._admin = admin
        connection = cast(Wire, link._wire)._connection
        connection._rfile.close()
        self._socket, connection._sock = connection._sock, self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, _size: int) -> bytes:
        self._wait_for("innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id", 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()  # by a reset, which the server sees as it sends its next answer, not one later
        self._admin("ROLLBACK")
        self._wait_for("processlist WHERE id", 0)
        return b""

    def _wait_for(self, what: str, count: int) -> None:
        while self._admin(f"SELECT COUNT(*) FROM information_schema.{what} = {self._session}") != ((count,),):
            threading.Event().wait(0.12)  # whoever asks again within a tenth of a second is shown the same


@pytest.mark.parametrize(
    ("table", "change", "told", "left"),
    [
        (MARKS, lambda room: room.insert(MARKS, Mark("a")), None, [Mark("a")]),
        (THINGS, lambda room: room.update(THINGS, Thing("t", 2), expect=1), None, [Thing("t", 2)]),
        (THINGS, lambda room: room.update(THINGS, Thing("t", 9), expect=8), VersionMismatch, [Thing("t", 1)]),
        (PAIRS, lambda room: room.put(PAIRS, Pair("p", "", 2)), None, [Pair("p", "", 2)]),
        (MEMBERS, lambda room: room.delete(MEMBERS, "t", "m"), True, []),
        (MEMBERS, lambda room: room.delete(MEMBERS, "t", "m", expect=Member("t", "m", "x")), False, [Member("t", "m")]),
    ],
    ids=["an insert", "an update", "a stale update", "a put", "a delete", "a stale delete"],
)
def test_a_change_whose_client_was_gone_before_its_commit_is_told_truly(
    url: Url, admin: Ask, table: Table[Any], change: Callable[[Engine], object], told: object, left: list[Any]
) -> None:
    with opened(url()) as room:
        room.prepare(SCHEMA)
        room.insert(THINGS, Thing("t", 1))
        room.put(PAIRS, Pair("p", "", 1))
        room.insert(MEMBERS, Member("t", "m"))
        admin("START TRANSACTION")
        admin(f"SELECT * FROM {room.options.database}.{table.name} FOR UPDATE")
        for link in room.links.forsake():
            Breaking(link, admin)
        if isinstance(told, type):
            with pytest.raises(told):
                change(room)
        else:
            assert change(room) is told
        assert room.scan(table, limit=9) == left
