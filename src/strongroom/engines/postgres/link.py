"""A connection as the engine uses it: trips to the server, each of any number of statements, all sent together.

It works on libpq directly (`psycopg.pq`), which stays in pipeline mode: what a trip carries goes out at once, and the
answers are waited for once. psycopg's cursors would do the same in two or three times the time, and would wait for
ever where the server does not answer.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.types.numeric import Float8BinaryLoader, Int8BinaryLoader
from psycopg.types.string import ByteaBinaryLoader, TextBinaryLoader

from strongroom.engines.postgres.calls import Call, Statement
from strongroom.engines.postgres.faults import Lost, fault_of
from strongroom.engines.sql import Gone
from strongroom.errors import Corrupt, StrongroomError, Unavailable

GRACE_MS: Final = 1_000
"""How much longer than the server waits for anything its answer is waited for."""

_OK: Final = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})
_SYNC: Final = ExecStatus.PIPELINE_SYNC
_ABORTED: Final = ExecStatus.PIPELINE_ABORTED


class Link:
    """One connection; one thread at a time uses it.

    Arguments:
        connection: of psycopg's, in no transaction. It is this object's from now on.
        prepares: whether statements are prepared at the server, once each.
        timeout_ms: how long an answer is waited for.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, prepares: bool, timeout_ms: int) -> None:
        self._connection = connection
        self._pg: Any = connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._prepares = prepares
        self._prepared: set[Statement] = set()
        self._setup: tuple[Call, ...] = ()
        self._timeout = (timeout_ms + GRACE_MS) / 1000
        self._rows = Transformer(_Decoding())
        self._poll = select.poll()
        self._poll.register(self._pg.socket, select.POLLIN)
        self._under_way = False
        """Whether something was sent whose answers were not all seen: the connection is of no more use then."""

    def agree(self, *, prepares: bool, setup: tuple[Call, ...]) -> None:
        """Say what was found out about the connection: `setup` is to be called in every transaction."""
        self._prepares = prepares
        self._setup = setup

    @property
    def is_set_up(self) -> bool:
        """Whether a single read is a serializable transaction by itself."""
        return not self._setup

    def beginning(self, begin: Call) -> tuple[Call, ...]:
        """The calls that begin a transaction: `begin`, and what is to be set in it."""
        return (begin, *self._setup)

    @property
    def broken(self) -> bool:
        """Whether the connection is of no more use."""
        return self._under_way

    @property
    def idle(self) -> bool:
        """Whether the connection is fit for anything: in no transaction, and nothing under way."""
        return self._is(TransactionStatus.IDLE)

    @property
    def in_transaction(self) -> bool:
        """Whether the connection stands in a transaction, failed or not, and can be told what is to come of it."""
        return self._is(TransactionStatus.INTRANS) or self._is(TransactionStatus.INERROR)

    def trip(self, *calls: Call) -> list[PGresult]:
        """Send `calls` together, and wait for their answers, in the same order.

        The first that fails keeps those behind it from being run, and its fault is raised. `Lost` where the
        connection breaks, `Unavailable` where the answer does not come in time.
        """
        self._under_way = True
        try:
            sent = self._send(calls)
            answers = self._receive()
        except psycopg.Error as fault:
            raise Lost("PostgreSQL: the connection broke") from fault
        failed = next((answer for answer in answers if answer.status not in _OK), None)
        if failed is not None:
            self._note_prepared(sent, answers)
            raise self._refusal(failed)
        if len(answers) != len(sent):
            raise Lost("PostgreSQL: the connection broke")
        self._under_way = False
        if len(sent) == len(calls):
            return answers
        self._note_prepared(sent, answers)
        return [answer for answer, prepared in zip(answers, sent, strict=True) if prepared is None]

    def _refusal(self, failed: PGresult) -> StrongroomError:
        # Not in `trip`, where a variable and the traceback of its value would hold each other, and this connection.
        said = fault_of(failed)
        self._under_way = isinstance(said, Lost)
        return said

    def rows(self, answer: PGresult) -> list[tuple[Any, ...]]:
        """The rows of an answer. `Corrupt` for a text that is none."""
        self._rows.set_pgresult(answer)
        try:
            return self._rows.load_rows(0, answer.ntuples, tuple)
        except UnicodeDecodeError as fault:
            raise Corrupt("PostgreSQL: a stored text is not UTF-8") from fault

    def forsake(self, why: str) -> psycopg.Connection[Any]:
        """In a forked child: the connection, which must be neither used nor closed here. Uses raise `Closed`."""
        self._pg = Gone(why)
        return self._connection

    def close(self) -> None:
        """Let go of the connection, whatever state it is in."""
        self._connection.close()

    def __del__(self) -> None:
        # One that Ctrl-C took from whoever was about to give it back. Not in a forked child: it is the parent's there.
        if not isinstance(self._pg, Gone):
            self._connection.close()

    def _is(self, status: TransactionStatus) -> bool:
        return not self._under_way and self._pg.transaction_status == status

    def _send(self, calls: Sequence[Call]) -> list[Statement | None]:
        """What was sent: for each answer that will come the statement that it says is prepared, or None."""
        pg = self._pg
        sent: list[Statement | None] = []
        for statement, values in calls:
            if not self._prepares:
                pg.send_query_params(statement.text, values, statement.oids, statement.formats, 1)
            else:
                if statement not in self._prepared and statement not in sent:
                    pg.send_prepare(statement.name, statement.text, statement.oids)
                    sent.append(statement)
                pg.send_query_prepared(statement.name, values, statement.formats, 1)
            sent.append(None)
        pg.pipeline_sync()
        return sent

    def _receive(self) -> list[PGresult]:
        pg = self._pg
        answers: list[PGresult] = []
        unsent = pg.flush()
        if unsent:
            self._send_rest()
        deadline = 0.0
        nothing = 0
        while True:
            while pg.is_busy():
                now = time.monotonic()
                deadline = deadline or now + self._timeout
                if now >= deadline:
                    raise Unavailable(f"PostgreSQL did not answer for {self._timeout:.1f} s")
                if self._poll.poll((deadline - now) * 1000):
                    pg.consume_input()
            answer = pg.get_result()
            if answer is None:
                nothing += 1
                if nothing > 1 and pg.status != ConnStatus.OK:
                    return answers
                continue
            nothing = 0
            if answer.status == _SYNC:
                return answers
            answers.append(answer)

    def _send_rest(self) -> None:
        """Send what did not go out at once, while taking in what the server has to say already."""
        both = select.poll()
        both.register(self._pg.socket, select.POLLIN | select.POLLOUT)
        deadline = time.monotonic() + self._timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(f"PostgreSQL took nothing in for {self._timeout:.1f} s")
            for _, event in both.poll(left * 1000):
                if event & ~select.POLLOUT:
                    self._pg.consume_input()
            if not self._pg.flush():
                return

    def _note_prepared(self, sent: Sequence[Statement | None], answers: Sequence[PGresult]) -> None:
        self._prepared.update(
            statement
            for statement, answer in zip(sent, answers, strict=False)
            if statement is not None and answer.status in _OK
        )


class _Decoding:
    """How answers are decoded: as the four stored forms, whatever the program has taught psycopg about other types."""

    connection = None
    adapters = AdaptersMap(types=psycopg.adapters.types)
    for _type in ("text", "name", "varchar", "bpchar"):
        adapters.register_loader(_type, TextBinaryLoader)
    adapters.register_loader("int8", Int8BinaryLoader)
    adapters.register_loader("float8", Float8BinaryLoader)
    adapters.register_loader("bytea", ByteaBinaryLoader)
    adapters.register_loader(0, ByteaBinaryLoader)  # anything else is bytes, which no such column accepts
