"""A test engine whose commits can fail, lose their answer, or lose to rivals, when it is told so.

Whoever builds on an engine can find out with it whether their own code survives that (T4, T6); the kit's cases about
lost answers run on it, as they do on every engine whose harness can lose them.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from strongroom.conformance.harness import Ability, Harness
from strongroom.conformance.wrapping import WrappedHarness
from strongroom.engine import Backoff, Engine, Rows, SchemaRows, WritableRows, retry
from strongroom.errors import CommitUnknown, StrongroomError, Unavailable

T = TypeVar("T")

FAULTS: Final = frozenset({Ability.FAILED_COMMIT, Ability.LOST_ANSWER, Ability.LOST_COMMIT, Ability.CONFLICTS})

_RIVALS: Final = Backoff(attempts=8, first_ms=0.1, cap_ms=1)


class _Refused(StrongroomError):
    """The commit is refused, and everything rolled back."""


class UnreliableEngine(Engine):
    """`inner`, whose commits suffer `fault` while it is set. Closing it closes `inner`.

    `FAILED_COMMIT`: nothing is kept, and the caller gets `Unavailable`. `LOST_ANSWER`: all is kept, and the caller
    gets `CommitUnknown`. `LOST_COMMIT`: nothing is kept, and the caller gets `CommitUnknown`. `CONFLICTS`: rivals win
    each of a few tries, and the caller gets `Conflict`. `resolve` answers for the tokens that this object gave out.
    """

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.claims = inner.claims
        super().__init__(f"unreliable {inner.name}")
        self._codecs = inner._codecs
        self._kept: dict[str, bool] = {}
        self.fault: Ability | None = None

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept."""
        if token in self._kept:
            return self._kept[token]
        return self.inner.resolve(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        self._check_open()
        return self.inner.describe()

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        fault = self.fault
        if fault is Ability.FAILED_COMMIT:
            try:
                return self._refused(work, abandoned)
            except _Refused as cause:
                raise Unavailable("the commit failed; nothing was kept") from cause
        if fault is Ability.CONFLICTS:
            return retry(lambda: self._refused(work, abandoned), on=_Refused, backoff=_RIVALS)
        if fault is Ability.LOST_COMMIT:
            try:
                return self._refused(work, abandoned)
            except _Refused as cause:
                raise self._unknown(kept=False) from cause
        result = self.inner._write(work, abandoned)
        if fault is Ability.LOST_ANSWER and not abandoned():
            raise self._unknown(kept=True)
        return result

    def _refused(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        """Run `work` and refuse its commit; what was abandoned asks for none."""

        def refused(rows: WritableRows) -> T:
            result = work(rows)
            if not abandoned():
                raise _Refused("refused")
            return result

        return self.inner._write(refused, abandoned)

    def _unknown(self, *, kept: bool) -> CommitUnknown:
        token = secrets.token_hex(8)
        self._kept[token] = kept
        return CommitUnknown("the connection broke before the commit was answered", token=token)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()

    def _close(self) -> None:
        self.inner.close()


class UnreliableHarness(WrappedHarness):
    """`inner`, through an `UnreliableEngine`: the harness can then inflict all that it suffers."""

    def __init__(self, inner: Harness, wrap: Callable[[Engine], UnreliableEngine] = UnreliableEngine) -> None:
        self._engines: list[UnreliableEngine] = []

        def remember(engine: Engine) -> Engine:
            self._engines.append(wrap(engine))
            return self._engines[-1]

        super().__init__(inner, remember, name=f"unreliable {inner.name}")

    def fresh(self) -> None:
        self._engines.clear()
        super().fresh()

    @property
    def abilities(self) -> frozenset[Ability]:
        return super().abilities | FAULTS

    def inflict(self, fault: Ability) -> AbstractContextManager[None]:
        return self._suffering(fault) if fault in FAULTS else super().inflict(fault)

    @contextlib.contextmanager
    def _suffering(self, fault: Ability) -> Iterator[None]:
        engines = list(self._engines)
        for engine in engines:
            engine.fault = fault
        try:
            yield
        finally:
            for engine in engines:
                engine.fault = None
