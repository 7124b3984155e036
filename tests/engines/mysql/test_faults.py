"""Faults as the server itself has them, in Strongroom's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.engines.mysql import MysqlEngine
from strongroom.errors import (
    Conflict,
    Corrupt,
    InvalidArgument,
    StrongroomError,
    TooLarge,
    Unavailable,
)
from tests.engines.leases import LEASES, Lease
from tests.engines.mysql.conftest import Ask


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (1213, Conflict),
        (1020, Conflict),
        (1205, Conflict),
        (1021, Unavailable),
        (1030, Unavailable),
        (1040, Unavailable),
        (1041, Unavailable),
        (1114, Unavailable),
        (1290, Unavailable),
        (1317, Unavailable),
        (1969, Unavailable),
        (1118, TooLarge),
        (1142, InvalidArgument),
        (1146, InvalidArgument),
        (1366, Corrupt),
        (1194, Corrupt),
        (1644, StrongroomError),
    ],
)
def test_what_the_server_says_has_a_name(
    room: MysqlEngine, admin: Ask, number: int, fault: type[StrongroomError]
) -> None:
    database = room.options.database
    admin(
        f"CREATE TRIGGER {database}.fails BEFORE INSERT ON {database}.leases FOR EACH ROW "
        f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'made to fail'"
    )
    calls: list[Callable[[], None]] = [
        lambda: room.insert(LEASES, Lease("a")),
        lambda: room.write(lambda transaction: transaction.insert(LEASES, Lease("a"))),
    ]
    for call in calls:
        with pytest.raises(StrongroomError) as refused:
            call()
        assert type(refused.value) is fault
        assert isinstance(refused.value.__cause__, Exception)
    admin(f"DROP TRIGGER {database}.fails")
    assert room.get(LEASES, "a") is None
    room.insert(LEASES, Lease("a"))


def test_a_key_that_is_no_text_is_corrupt_and_verify_goes_on_behind_it(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    room.insert(LEASES, Lease("z"))
    admin(f"UPDATE {room.options.database}.leases SET runner = X'62FF' WHERE runner = 'a'")
    with pytest.raises(Corrupt, match="leases"):
        room.scan(LEASES, limit=5)
    (bad, found), (good, lease) = room.examine(LEASES, limit=5)
    assert isinstance(found, Corrupt)
    assert (good, lease) == (("z",), Lease("z"))
    assert room.examine(LEASES, after=bad, limit=5) == [(("z",), Lease("z"))]


def test_what_the_server_says_of_a_statement_that_it_does_not_understand_shows_no_value(room: MysqlEngine) -> None:
    with room.links.lent() as link, pytest.raises(StrongroomError) as told:
        link.ask("SELECTED 'secret'")
    assert "secret" not in str(told.value)
