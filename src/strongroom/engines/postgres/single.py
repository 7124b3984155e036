"""Single calls, each one trip to the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strongroom.engine import Committer, Engine, Guard, QueuedCalls, Work
from strongroom.engines.postgres.calls import ASK_TIME, Call
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.session import WriteLane
from strongroom.records import AnyTable, Key, Row


class PostgresCalls(AskedRows, QueuedCalls):
    """The single calls of one engine; `ask` answers the rows of one that only reads."""

    def __init__(
        self, engine: Engine, committer: Committer[Work], lane: WriteLane, ask: Callable[[Call], list[tuple[Any, ...]]]
    ) -> None:
        super().__init__(engine, committer)
        self._statements = lane.statements
        self._lane = lane
        self._answer = ask

    def clock(self) -> int:
        self._engine._check_outside("call")
        return self._lane.clock.now(lambda: int(self._ask(ASK_TIME)[0][0]))

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        self._engine._check_outside("call")
        return self._answer(call)

    def _insert_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._lane.write_alone(lambda token: self._statements[table].marked_insert((*row, token)))

    def _put_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._lane.write_alone(lambda token: self._statements[table].marked_put((*row, token)))

    def _replace_alone(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        replace = self._statements[table].replace
        return self._lane.write_alone(lambda token: replace(key, row, guard.name, guard.value, token))

    def _remove_alone(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        name, value = (None, None) if guard is None else (guard.name, guard.value)
        return self._lane.write_alone(lambda token: self._statements[table].remove(key, name, value, token))
