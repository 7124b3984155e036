"""Single writes for engines that run groups: each joins the group that is forming, or goes the quick way by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from strongroom.engine.base import Engine, SingleCalls
from strongroom.engine.committer import Committer
from strongroom.engine.groups import Work, retried
from strongroom.engine.port import Guard, WritableRows
from strongroom.records import AnyTable, Key, Row


class QueuedCalls(SingleCalls):
    """Single calls of `engine`, whose writes go through `committer`.

    An engine author gives the four ways to write alone: a transaction of one change. Each may raise `Rivals` and
    `Stale` where nothing was kept, and is made again then; it raises what else goes wrong. The reads, and the clock,
    are whole transactions unless they are given too.
    """

    def __init__(self, engine: Engine, committer: Committer[Work]) -> None:
        super().__init__(engine)
        self._committer = committer

    # What an author gives.

    @abstractmethod
    def _insert_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        """As `WritableRows.insert`, in a transaction of its own."""

    @abstractmethod
    def _replace_alone(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        """As `WritableRows.replace`, in a transaction of its own."""

    @abstractmethod
    def _put_alone(self, table: AnyTable, key: Key, row: Row) -> object:
        """As `WritableRows.put`, in a transaction of its own; what it answers does not matter."""

    @abstractmethod
    def _remove_alone(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        """As `WritableRows.remove`, in a transaction of its own."""

    # What is made of it.

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        # Nothing is looked at beforehand: the row is taken for new.
        return self._queue(
            lambda rows: rows.insert(table, key, row),
            lambda: self._insert_alone(table, key, row),
        )

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._queue(
            lambda rows: rows.replace(table, key, row, guard),
            lambda: self._replace_alone(table, key, row, guard),
            (table, key),
        )

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._queue(
            lambda rows: rows.put(table, key, row),
            lambda: self._put_alone(table, key, row),
        )

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._queue(
            lambda rows: rows.remove(table, key, guard),
            lambda: self._remove_alone(table, key, guard),
            (table, key),
        )

    def _queue(
        self,
        change: Callable[[WritableRows], object],
        alone: Callable[[], object],
        touches: tuple[AnyTable, Key] | None = None,
    ) -> bool:
        self._engine._check_outside("call")
        return bool(self._committer.submit(Work(change, None, touches, lambda: retried(alone))))
