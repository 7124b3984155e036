"""Harnesses around test engines that stand in front of another engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from strongroom.conformance.harness import Ability, Harness
from strongroom.engine import Engine
from strongroom.records import AnyTable, Stored


class WrappedHarness(Harness):
    """`inner`, whose every engine object goes through `wrap` first.

    All that `inner` is able to do goes through as well, but for other processes: those would open what is inside.
    """

    def __init__(self, inner: Harness, wrap: Callable[[Engine], Engine], *, name: str = "") -> None:
        self.inner = inner
        self.name = name or f"wrapped {inner.name}"
        self._wrap = wrap

    def open(self) -> Engine:
        return self._wrap(self.inner.open())

    def open_hasty(self) -> Engine:
        return self._wrap(self.inner.open_hasty())

    def fresh(self) -> None:
        self.inner.wanted = self.wanted
        self.inner.fresh()

    def close(self) -> None:
        self.inner.close()

    @property
    def abilities(self) -> frozenset[Ability]:
        return self.inner.abilities - {Ability.PROCESSES}

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self.inner.tamper(table, key, column, value)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        return self.inner.peek(table, key)

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        self.inner.remove(table, key)

    def raw_update_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self.inner.raw_update_refused(table, key, column, value)

    def raw_replace_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self.inner.raw_replace_refused(table, key, column, value)

    def raw_delete_refused(self, table: AnyTable, key: Sequence[Any]) -> bool:
        return self.inner.raw_delete_refused(table, key)

    def open_exclusive(self) -> Engine:
        return self._wrap(self.inner.open_exclusive())

    def image(self) -> bytes:
        return self.inner.image()

    def flushes(self) -> int:
        return self.inner.flushes()

    def inflict(self, fault: Ability) -> AbstractContextManager[None]:
        return self.inner.inflict(fault)

    def cut(self) -> None:
        self.inner.cut()
