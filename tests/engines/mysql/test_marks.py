"""Marks: by which it is known of every transaction whether it was kept (T6)."""

from __future__ import annotations

import threading

import pymysql
import pytest

from strongroom.engines.mysql import MysqlEngine
from strongroom.errors import (
    InvalidArgument,
)


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
