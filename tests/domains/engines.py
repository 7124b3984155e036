"""Engines that put a store to the test: one that must not be asked, one that fails, one that a rival gets ahead on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from strongroom.engine import Claims, Durability, Engine, Rows, SchemaRows, Sharing, Strength, WritableRows
from strongroom.errors import StrongroomError

T = TypeVar("T")


class EngineAsked(AssertionError):
    """The engine was asked for something that was to be refused before."""


class FailingEngine(Engine):
    """Stands where an engine stands, and answers every call with `fault`."""

    claims = Claims(Strength.SINGLE_RECORD, Durability.NONE, Sharing.ENGINE, guards_immutable=False, reopens=False)

    def __init__(self, fault: AssertionError | StrongroomError) -> None:
        super().__init__("failing")
        self.fault = fault

    def _read(self, work: Callable[[Rows], T]) -> T:
        raise self.fault

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        raise self.fault

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        raise self.fault

    def _tables(self) -> set[str]:
        raise self.fault


class RefusingEngine(FailingEngine):
    """Fails the test at the first call that reaches it."""

    def __init__(self) -> None:
        super().__init__(EngineAsked("the engine was asked"))


class OvertakenEngine(Engine):
    """`inner`, where `rival` is called once: after whatever is read, and just before the first write."""

    def __init__(self, inner: Engine, rival: Callable[[], object]) -> None:
        self.inner = inner
        self.claims = inner.claims
        super().__init__(f"overtaken {inner.name}")
        self._codecs = inner._codecs
        self._rivals = [rival]

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        if self._rivals:
            self._rivals.pop()()
        return self.inner._write(work, abandoned)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()
