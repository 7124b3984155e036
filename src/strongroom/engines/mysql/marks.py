"""Marks: how it is known of every transaction whether it was kept (T6).

Each transaction that commits leaves a row with a token of its own in one table. Where the answer to a commit is lost, a
*fence* with the same token is put there: if that succeeds, the transaction was not kept, and can't be any more, for its
own mark would then be a duplicate; if there is a mark already, it was kept; and while it is still under way the server
lets the fence wait for it.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final

import pymysql

from strongroom.engine import MARK_KEPT_MS, TOKEN_ANSWERED_MS, Backoff
from strongroom.engines.mysql.faults import DUPLICATE, number_of, translate
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.statements import MYSQL, literal
from strongroom.engines.sql import ServerClock
from strongroom.errors import Conflict, InvalidArgument, Unavailable

TABLE: Final = "strongroom_marks"

_AT_ONCE: Final = 256
"""How many marks that nobody will ask for are removed together."""

_TOKEN: Final = re.compile(r"([0-9a-f]{12})[0-9a-f]{16}")

_PATIENCE_S: Final = 1
"""How long one attempt waits for a transaction that is still under way."""

_PAUSES: Final = Backoff(first_ms=10, cap_ms=500)


class Marks:
    """The marks of one store, as one engine object leaves, removes and asks for them.

    Arguments:
        database: the MySQL database that is the store.
        clock: the server's.
    """

    def __init__(self, database: str, clock: ServerClock) -> None:
        self.name = f"{MYSQL.name(database)}.{MYSQL.name(TABLE)}"
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_of: list[str] = []

    @property
    def create(self) -> str:
        """Makes the table, if it is not there."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self.name} (token VARBINARY(28) NOT NULL PRIMARY KEY, "
            "kind VARBINARY(6) NOT NULL, made_at BIGINT NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
        )

    def new_token(self) -> str:
        """A new token: when it was made, and 64 random bits."""
        return f"{self._clock.about():012x}{secrets.token_hex(8)}"

    def mark(self, token: str, *, if_changed: bool = False) -> str:
        """Leaves the mark; `if_changed`: only where the statement before it changed a row.

        A server that can't send the answer to that statement, as its client is gone, goes on with the next one, and
        says -1 for the rows that were changed. Whether to leave a mark can't be known then, and nothing may be kept
        without one: the statement fails, as the kind may not be NULL, and the transaction with it.
        """
        if if_changed:
            kind = "IF(ROW_COUNT() > 0, 'commit', NULL)"
            values = f"{literal(token)}, {kind}, {_made_at(token)}"
            return f"INSERT INTO {self.name} SELECT {values} FROM DUAL WHERE ROW_COUNT() <> 0"
        return f"INSERT INTO {self.name} VALUES ({literal(token)}, 'commit', {_made_at(token)})"

    def heard_of(self, token: str) -> None:
        """Nobody will ask for this token any more."""
        with self._lock:
            self._heard_of.append(token)

    def sweep(self, *, all_of_them: bool = False) -> str:
        """Removes marks that nobody will ask for, if there are enough to be worth a trip; empty where there are not."""
        with self._lock:
            if len(self._heard_of) < (1 if all_of_them else _AT_ONCE):
                return ""
            tokens, self._heard_of = self._heard_of, []
        return f"DELETE FROM {self.name} WHERE token IN ({', '.join(map(literal, tokens))})"

    def remove_old(self) -> str:
        """Removes marks of transactions that nobody can ask for any more: those whose tokens begin with an old time."""
        oldest = f"{max(0, self._clock.about() - MARK_KEPT_MS):012x}"
        return f"DELETE FROM {self.name} WHERE token < _binary{literal(oldest)}"

    def check(self, token: str) -> None:
        """Raises `InvalidArgument` for what is no token, or one too old for its mark to be there still."""
        if not _TOKEN.fullmatch(token):
            raise InvalidArgument("MySQL: the token is not one of this engine's")
        if _made_at(token) < self._clock.about() - TOKEN_ANSWERED_MS:
            raise InvalidArgument("MySQL: the token is older than six days, and its mark may be gone")

    def resolve(self, token: str, take: Callable[[], Link], drop: Callable[[Link], None], timeout_ms: int) -> bool:
        """Whether the transaction was kept, for certain; `take` and `drop` get a connection, and let go of it for good.

        Raises `Unavailable` where it can't be known within `timeout_ms`.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        attempt = 0
        while True:
            try:
                link = take()
                try:
                    return self._fenced(link, token)
                finally:
                    drop(link)
            except (Unavailable, Conflict) as fault:
                pause = _PAUSES.pause(attempt)
                attempt += 1
                if time.monotonic() + pause >= deadline:
                    raise Unavailable(
                        f"MySQL: it can't be known just now what came of the transaction: {fault}"
                    ) from fault
                time.sleep(pause)

    def _fenced(self, link: Link, token: str) -> bool:
        # A node that is cut off keeps the transaction waiting, and this with it, until it knows: another may know more.
        patience = f"SET SESSION innodb_lock_wait_timeout = {_PATIENCE_S}"
        fence = f"INSERT INTO {self.name} VALUES ({literal(token)}, 'fence', {_made_at(token)})"
        try:
            link.trip([patience, fence])
        except pymysql.MySQLError as fault:
            if number_of(fault) != DUPLICATE:
                raise translate(fault) from fault
        else:
            return False
        rows = link.ask(f"SELECT kind FROM {self.name} WHERE token = {literal(token)}")
        if not rows:
            raise Unavailable("MySQL: a mark has vanished while it was asked for")
        return rows[0][0] == "commit"


def _made_at(token: str) -> int:
    return int(token[:12], 16)
