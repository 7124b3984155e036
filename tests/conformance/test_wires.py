"""What a proxy reads off the wire: which message commits, and when the server has answered it."""

from __future__ import annotations

import pytest

from strongroom.conformance.wires.mysql import MysqlWire
from strongroom.conformance.wires.postgres import PostgresWire

STARTUP = (8).to_bytes(4) + (196608).to_bytes(4)


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + (len(body) + 4).to_bytes(4) + body


def query(text: str) -> bytes:
    return message(b"Q", text.encode() + b"\0")


READY = message(b"Z", b"I")


class TestPostgres:
    def wire(self) -> PostgresWire:
        wire = PostgresWire()
        assert [sent.data for sent in wire.sent(STARTUP)] == [STARTUP]
        assert wire.answered(READY)
        return wire

    def commits(self, wire: PostgresWire, *messages: bytes) -> list[bool]:
        return [sent.commits for one in messages for sent in wire.sent(one)]

    def test_a_commit_is_one_by_name_or_by_writing_outside_of_a_transaction(self) -> None:
        wire = self.wire()
        steps = {
            "SELECT 1": False,
            "INSERT INTO t VALUES (1)": True,
            "BEGIN ISOLATION LEVEL SERIALIZABLE": False,
            "UPDATE t SET a = 1": False,
            "SELECT a FROM t FOR UPDATE": False,
            "ROLLBACK TO SAVEPOINT one": False,
            "DELETE FROM t": False,
            "commit": True,
            "WITH done AS (DELETE FROM t RETURNING 1) SELECT count(*) FROM done": True,
            "begin": False,
            "ROLLBACK": False,
            "BEGIN; INSERT INTO t VALUES (2); COMMIT": True,
        }
        assert {text: self.commits(wire, query(text))[0] for text in steps} == steps

    def test_a_statement_that_was_prepared_is_known_by_its_name(self) -> None:
        wire = self.wire()
        parse = message(b"P", b"end\0COMMIT\0\0\0")
        bind, execute = message(b"B", b"\0end\0\0\0\0\0\0\0"), message(b"E", b"\0\0\0\0\0")
        assert self.commits(wire, query("BEGIN"), parse + message(b"S")) == [False, False, False]
        assert self.commits(wire, bind + execute + message(b"S")) == [True, False, False]

    def test_a_message_is_known_when_it_is_whole(self) -> None:
        wire = self.wire()
        whole = query("COMMIT") + query("SELECT 1")
        found = [sent for place in range(len(whole)) for sent in wire.sent(whole[place : place + 1])]
        assert [(sent.data, sent.commits) for sent in found] == [(query("COMMIT"), True), (query("SELECT 1"), False)]

    def test_what_asks_for_encryption_is_refused_and_goes_no_further(self) -> None:
        wire = PostgresWire()
        (sent,) = wire.sent((8).to_bytes(4) + (80877103).to_bytes(4))
        assert (sent.data, sent.reply) == (b"", b"N")
        assert [sent.data for sent in wire.sent(STARTUP)] == [STARTUP]

    def test_all_is_answered_when_the_server_is_ready_as_often_as_it_was_asked(self) -> None:
        wire = self.wire()
        self.commits(wire, query("SELECT 1"), message(b"S"))
        assert not wire.answered(message(b"C", b"SELECT 1\0") + READY)
        assert not wire.answered(READY[:3])
        assert wire.answered(READY[3:])


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


class TestMysql:
    @pytest.mark.parametrize("implicit", [False, True])
    def test_a_commit_is_one_by_name_or_by_writing_outside_of_a_transaction(self, implicit: bool) -> None:
        wire = MysqlWire()
        assert not next(wire.sent(packet(1, b"\x03COMMIT: a handshake, not a command"))).commits
        steps = {
            **({"SET AUTOCOMMIT = 0": False} if implicit else {}),
            "INSERT INTO t VALUES (1)": not implicit,
            "START TRANSACTION": False,
            "REPLACE INTO t VALUES (1)": False,
            "INSERT INTO t VALUES (2); COMMIT": True,
        }
        found = {text: next(wire.sent(packet(0, b"\x03" + text.encode()))).commits for text in steps}
        assert found == steps

    def test_all_is_answered_with_the_last_result(self) -> None:
        wire = MysqlWire()
        more, last = b"\0\x01\xfc\x01\x02\x0a\0\0\0", b"\0\x01\0\x02\0\0\0"
        assert not wire.answered(packet(1, more))
        assert not wire.answered(packet(2, last)[:6])
        assert wire.answered(packet(2, last)[6:])

    def test_the_end_of_rows_and_a_fault_are_last_results_too(self) -> None:
        assert MysqlWire().answered(packet(5, b"\xfe\0\0\x02\0"))
        assert not MysqlWire().answered(packet(5, b"\xfe\0\0\x0a\0"))
        assert MysqlWire().answered(packet(1, b"\xff\x6a\x04#40001deadlock"))
        assert not MysqlWire().answered(packet(3, b"\x03abc"))
