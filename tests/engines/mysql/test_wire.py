"""What comes over a connection, taken apart: whole, in pieces, broken off, too late, or senseless."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pymysql
import pytest
from pymysql.constants import CLIENT

from servers.mariadb import MariaDB
from servers.server import Address
from strongroom.engines.mysql import MysqlEngine
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.faults import is_lost, number_of
from strongroom.engines.mysql.wire import Wire
from tests.engines.mysql.conftest import opened

MORE = 8
"""The status of a connection on which another answer follows."""
LOST = 2013


class Line:
    """As much of the driver's connection as a `Wire` uses, with a server at its other end that is the test."""

    def __init__(self, timeout: float = 20) -> None:
        self._sock, self.server = socket.socketpair()
        self._sock.settimeout(timeout)
        self.open = True
        self.server_status = 0

    def _execute_command(self, _command: int, _sql: str) -> None:
        self._next_seq_id = 1

    def _force_close(self) -> None:
        self.open = False
        self._sock.close()

    def exchange(self, answers: list[Answer]) -> None:
        Wire(cast(Any, self)).exchange("asked", answers)


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made._force_close()
    made.server.close()


def packet(number: int, content: bytes) -> bytes:
    return len(content).to_bytes(3, "little") + bytes([number]) + content


def packets(*contents: bytes) -> bytes:
    return b"".join(packet(number, content) for number, content in enumerate(contents, 1))


def text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def column(kind: int, charset: int = 63) -> bytes:
    names = b"".join(map(text, (b"def", b"db", b"t", b"t", b"c", b"c")))
    return names + b"\x0c" + charset.to_bytes(2, "little") + bytes(4) + bytes([kind]) + bytes(5)


def done(count: int, *, status: int = 2) -> bytes:
    return bytes([0, count, 0]) + status.to_bytes(2, "little") + bytes(2)


def end(*, status: int = 2, warnings: int = 0) -> bytes:
    return b"\xfe" + warnings.to_bytes(2, "little") + status.to_bytes(2, "little")


def refusal(number: int, says: str) -> bytes:
    return b"\xff" + number.to_bytes(2, "little") + b"#HY000" + says.encode()


LONGLONG, VAR_STRING, BLOB = 8, 253, 252

TWO_ROWS = (
    b"\x02",
    column(LONGLONG),
    column(BLOB),
    end(),
    text(b"-7") + text(b"\x00\xff"),
    b"\xfb" + text(b""),
    end(status=3, warnings=2),
)


def test_an_answer_is_the_same_in_whatever_pieces_it_comes(line: Line) -> None:
    stream = packets(done(3, status=2 | MORE), *TWO_ROWS)
    expected = [Answer((), 3), Answer([(-7, b"\x00\xff"), (None, b"")], 2, 2)]
    answers: list[Answer] = []
    line.server.sendall(stream)
    line.exchange(answers)
    assert answers == expected
    assert line.server_status == 3

    def drip() -> None:
        for at in range(len(stream)):
            line.server.sendall(stream[at : at + 1])

    dripping = threading.Thread(target=drip)
    dripping.start()
    answers = []
    line.exchange(answers)
    dripping.join()
    assert answers == expected


def test_an_answer_that_breaks_off_at_any_byte_is_a_lost_connection() -> None:
    stream = packets(done(1, status=2 | MORE), *TWO_ROWS)
    first = len(packets(done(1)))
    for length in range(len(stream)):
        line, answers = Line(), list[Answer]()
        line.server.sendall(stream[:length])
        line.server.close()
        with pytest.raises(pymysql.OperationalError) as told:
            line.exchange(answers)
        assert number_of(told.value) == LOST
        assert not line.open
        assert answers == ([Answer((), 1)] if length >= first else [])


def test_an_answer_that_never_comes_is_a_lost_connection(line: Line) -> None:
    line._sock.settimeout(0.05)
    with pytest.raises(pymysql.OperationalError, match="timed out") as told:
        line.exchange([])
    assert number_of(told.value) == LOST
    assert not line.open


def test_a_reset_is_a_lost_connection(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as ours:
        theirs, _ = listener.accept()
        ours.sendall(b"never read")
        theirs.close()
        line._force_close()
        line._sock = ours
        with pytest.raises(pymysql.OperationalError, match="reset") as told:
            line.exchange([])
    assert number_of(told.value) == LOST


def test_what_the_server_refuses_ends_the_answers_and_not_the_connection(line: Line) -> None:
    line.server.sendall(packets(done(1, status=3 | MORE), done(2, status=3 | MORE), refusal(1213, "a deadlock")))
    answers: list[Answer] = []
    with pytest.raises(pymysql.OperationalError, match="a deadlock") as told:
        line.exchange(answers)
    assert number_of(told.value) == 1213
    assert answers == [Answer((), 1), Answer((), 2)]
    assert line.open
    assert line.server_status & 1, "the transaction is open still"
    line.server.sendall(packets(done(0)))
    answers = []
    line.exchange(answers)
    assert answers == [Answer((), 0)]


def test_a_refusal_in_the_middle_of_the_rows_is_that_of_the_statement(line: Line) -> None:
    line.server.sendall(packets(*TWO_ROWS[:5], refusal(1317, "interrupted")))
    with pytest.raises(pymysql.OperationalError, match="interrupted"):
        line.exchange([])
    assert line.open


def test_what_a_server_says_unasked_as_it_goes_is_no_answer(line: Line) -> None:
    line.server.sendall(packet(0, refusal(1053, "shutting down")) + packets(done(1)))
    with pytest.raises(pymysql.OperationalError) as told:
        line.exchange([])
    assert number_of(told.value) == LOST
    assert not line.open


@pytest.mark.parametrize(
    "stream",
    [
        packets(b"\xfb/etc/passwd"),
        packets(b""),
        packets(b"\x00\x01"),
        packets(b"\x01", column(LONGLONG)[:9], end()),
        packets(b"\x01", column(LONGLONG), column(LONGLONG)),
        packets(*TWO_ROWS[:4], text(b"1"), end()),
        packets(*TWO_ROWS[:4], text(b"1") + text(b"2") + text(b"3"), end()),
        packets(*TWO_ROWS[:4], text(b"1") + b"\x05four", end()),
        packets(*TWO_ROWS[:4], text(b"one") + text(b""), end()),
        packets(b"\xff"),
    ],
    ids=["file", "nothing", "no status", "column", "no end", "short", "long", "cut", "no number", "no fault"],
)
def test_an_answer_that_makes_no_sense_ends_the_connection(line: Line, stream: bytes) -> None:
    line.server.sendall(stream)
    with pytest.raises(pymysql.OperationalError, match="no sense") as told:
        line.exchange([])
    assert is_lost(told.value)
    assert not line.open
    assert told.value.__cause__ is None, "it may show a value"


VALUES = {
    "9223372036854775807": 2**63 - 1,
    "CAST(-9223372036854775808 AS SIGNED)": -(2**63),
    "CAST(1 AS UNSIGNED)": 1,
    "NULL": None,
    "1.5e0": 1.5,
    "-4.9406564584124654e-324": -5e-324,
    "'it''s é 𝄞'": "it's é 𝄞",
    "''": "",
    "REPEAT('x', 250)": "x" * 250,
    "REPEAT('x', 251)": "x" * 251,
    "REPEAT('x', 65536)": "x" * 65536,
}


def test_answers_are_those_that_the_driver_gives(room: MysqlEngine, mariadb: Address) -> None:
    table = f"{room.options.database}.all_types"
    statements = [
        f"SELECT {', '.join(VALUES)}",
        f"SELECT * FROM {table}",
        f"SELECT * FROM {table} WHERE i = 2",
        f"UPDATE {table} SET i = 1",
        f"SHOW COLUMNS FROM {table}",
        f"CREATE TABLE IF NOT EXISTS {table} (n INT)",
    ]
    flags = CLIENT.FOUND_ROWS | CLIENT.MULTI_STATEMENTS
    with (
        pymysql.connect(
            host=mariadb.host, port=mariadb.port, user="root", autocommit=True, client_flag=flags
        ) as theirs,
        theirs.cursor() as cursor,
        room.links.lent() as link,
    ):
        link.trip(
            [
                f"CREATE TABLE {table} (i BIGINT, r DOUBLE, t LONGTEXT, c VARCHAR(9), b LONGBLOB, s BINARY(3), e BLOB)",
                f"INSERT INTO {table} VALUES (-5, 25e-4, 'té', 'cé', X'00ff27', X'0080ff', '')",
                f"INSERT INTO {table} VALUES ({', '.join(['NULL'] * 7)})",
            ]
        )
        for statement in statements:
            cursor.execute(statement)
            (answer,) = link.trip([statement])
            assert tuple(answer.rows) == tuple(cursor.fetchall())
            assert (answer.count, answer.warnings) == (cursor.rowcount, cursor.warning_count)
        (found,) = link.ask(statements[0])
    assert found == (*VALUES.values(),)
    assert [type(value) for value in found] == [type(value) for value in VALUES.values()]


def test_what_is_no_utf_8_in_a_key_is_shown_as_lone_surrogates(room: MysqlEngine) -> None:
    with room.links.lent() as link:
        link.ask(f"CREATE TABLE {room.options.database}.raw (k VARBINARY(9) PRIMARY KEY)")
        link.ask(f"INSERT INTO {room.options.database}.raw VALUES (X'61FF')")
        assert link.ask(f"SELECT k FROM {room.options.database}.raw") == [("a\udcff",)]


@pytest.mark.slow
def test_answers_of_many_megabytes_come_whole_also_where_they_end_with_a_packet(
    own_mariadb: Callable[..., MariaDB],
) -> None:
    server = own_mariadb(settings={"max_allowed_packet": "64M"})
    with opened(server.address.url("large")) as engine, engine.links.lent() as link:
        for size in (0xFFFFFF - 5, 0xFFFFFF - 4, 0xFFFFFF - 3, 0xFFFFFF, 2 * 0xFFFFFF - 9, 2 * 0xFFFFFF - 8):
            ((first,), (second,)) = link.ask(f"SELECT REPEAT('x', {size}) UNION ALL SELECT 'y'")
            assert first == "x" * size
            assert second == "y"
        sent = "é" * 12_000_000
        assert link.ask(f"SELECT CHAR_LENGTH('{sent}')") == [(12_000_000,)]
