"""Turns: of many who write the same row again and again, each comes through."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from strongroom.conformance.tables import ENTRIES, LOG, SCHEMA, Entry
from strongroom.conformance.threads import errors_of, together
from strongroom.engines.mysql import MysqlEngine
from tests.engines.mysql.conftest import Url, opened

WRITERS, APPENDS = 16, 60


def test_of_many_writers_at_one_log_none_is_beaten_every_time(url: Url) -> None:
    """Each is an engine object, as if it were a process. Without turns about one append in a hundred gives up."""

    def append(room: MysqlEngine) -> None:
        for _ in range(APPENDS):
            LOG.append(room, "log", make=partial(Entry, "log"))

    with ExitStack() as stack:
        rooms = [stack.enter_context(opened(url())) for _ in range(WRITERS)]
        for room in rooms:
            room.prepare(SCHEMA)
        assert errors_of(together([partial(append, room) for room in rooms])) == []
        assert LOG.head(rooms[0], "log") == rooms[1].count(ENTRIES, limit=10_000) == WRITERS * APPENDS
