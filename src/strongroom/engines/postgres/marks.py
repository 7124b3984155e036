"""Marks: how a commit whose answer was lost is found out (T6).

Every transaction that changes something inserts a row with a token of its own into the table of marks. To find out
what became of one, its token is inserted once more, as a *fence*. If that succeeds, the transaction was not kept, and
never can be: where it still arrives, its mark meets the fence. If the mark is there, it was kept. While it is still
under way, the fence waits for it.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable
from typing import Final

from strongroom.engine import MARK_KEPT_MS, TOKEN_ANSWERED_MS, Backoff
from strongroom.engines.postgres.calls import BEGIN_LOOSE, COMMIT, Call, Statement
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.statements import MARKS, quoted
from strongroom.engines.postgres.values import TEXT, ArrayType
from strongroom.errors import CommitUnknown, Conflict, InvalidArgument, StrongroomError, Unavailable

_UNFLUSHED: Final = Statement("SELECT set_config('synchronous_commit', 'off', true)")()
_TOKEN: Final = re.compile(r"[0-9a-f]{24}")
_SWEEP: Final = 256
"""How many marks that were heard of are removed together."""
_AGAIN: Final = Backoff(first_ms=5.0, cap_ms=500.0)


class Marks:
    """The marks of one store, in the schema `schema`.

    Arguments:
        connect: a new connection, which is closed here.
        timeout_ms: how long to try to find out.
    """

    def __init__(self, schema: str, connect: Callable[[], Link], timeout_ms: int) -> None:
        name = f"{quoted(schema)}.{quoted(MARKS)}"
        self._connect = connect
        self._timeout = timeout_ms / 1000
        self._insert = Statement(f"INSERT INTO {name} (token) VALUES (?)", [TEXT])
        self._fence = Statement(f"INSERT INTO {name} (token, fence) VALUES (?, true) ON CONFLICT DO NOTHING", [TEXT])
        self._ask = Statement(f"SELECT fence::text FROM {name} WHERE token = ?", [TEXT])
        self._remove = Statement(f"DELETE FROM {name} WHERE token = ANY (?)", [ArrayType(TEXT)])
        self.create: Final = Statement(
            f'CREATE TABLE IF NOT EXISTS {name} (token text COLLATE "C" PRIMARY KEY, '
            "fence boolean NOT NULL DEFAULT false, made_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        self.remove_old: Final = Statement(
            f"DELETE FROM {name} WHERE made_at < clock_timestamp() - interval '{MARK_KEPT_MS} milliseconds'"
        )
        self._heard_of: list[str] = []

    @staticmethod
    def new_token() -> str:
        """A token that no other transaction has; it begins with the second in which it was made."""
        return f"{int(time.time()) & 0xFFFFFFFF:08x}{secrets.token_hex(8)}"

    def mark(self, token: str) -> Call:
        """The call that marks a transaction."""
        return self._insert([token])

    def resolve(self, token: str) -> bool:
        """Whether the transaction marked `token` was kept, for certain, however often it is asked.

        Raises `InvalidArgument` for a token that was not given out here, or too long ago; `Unavailable`.
        """
        if not _TOKEN.fullmatch(token):
            raise InvalidArgument("PostgreSQL: the token is not one of this engine's")
        if (time.time() - int(token[:8], 16)) * 1000 > TOKEN_ANSWERED_MS:
            raise InvalidArgument("PostgreSQL: the token is older than six days, and its mark may be gone")
        return self._outcome(token, time.monotonic() + self._timeout)

    def find_out(self, token: str, cause: BaseException) -> bool:
        """Whether a transaction that was just sent was kept; `CommitUnknown` where the server stays away.

        Ctrl-C does not end it: whoever is in the same group must be told what holds for him.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._outcome(token, deadline)
            except KeyboardInterrupt:
                continue
            except StrongroomError as fault:
                fault.__context__ = cause
                raise CommitUnknown(
                    "PostgreSQL: the connection broke before the answer to a commit, and it could not be found out "
                    "what came of it; resolve(token) will tell",
                    token=token,
                ) from fault

    def heard_of(self, token: str, link: Link) -> None:
        """Say that the commit marked `token` was answered; from time to time such marks are removed over `link`.

        Not `token` itself yet: Ctrl-C may strike in here, and have it asked for.
        """
        if len(self._heard_of) >= _SWEEP:
            self.sweep(link)
        self._heard_of.append(token)

    def sweep(self, link: Link) -> None:
        """Remove the marks that were heard of. What goes wrong here harms nobody: they go when they are old."""
        tokens, self._heard_of = self._heard_of, []
        if tokens:
            calls = [*link.beginning(BEGIN_LOOSE), _UNFLUSHED, self._remove([tokens]), COMMIT]
            with contextlib.suppress(StrongroomError):
                link.trip(*calls)

    def _outcome(self, token: str, deadline: float) -> bool:
        attempt = 0
        while True:
            try:
                link = self._connect()
                try:
                    *_, asked, _ = link.trip(
                        *link.beginning(BEGIN_LOOSE), self._fence([token]), self._ask([token]), COMMIT
                    )
                    ((fence,),) = link.rows(asked)
                finally:
                    link.close()
            except Conflict as fault:
                raise Unavailable("PostgreSQL: the transaction is still under way, or its session hangs") from fault
            except Unavailable:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(min(_AGAIN.pause(attempt), max(0.0, deadline - time.monotonic())))
                attempt = min(attempt + 1, _AGAIN.attempts)
            else:
                return bool(fence == "false")
