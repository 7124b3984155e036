"""Functions in transactions, retries, and the lives of engines, with one safeguard broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Backoff, Clock, Engine, asynchronous, base, retry
from strongroom.engine.asynchronous import Runner
from strongroom.engine.operations import OpenTransaction
from strongroom.errors import (
    CommitUnknown,
    StrongroomError,
    Unavailable,
    VersionMismatch,
)

MEMORY = Ground.MEMORY


@mutant("T5", on=MEMORY)
def abandon_forgotten(patch: Patches) -> None:
    """A transaction that is abandoned does not remember it."""
    patch.method(OpenTransaction, "abandon", lambda self, result: result)


@mutant("T3", on=MEMORY)
def exception_of_a_function_wrapped(patch: Patches) -> None:
    """What a write function raises comes out inside a fault of Strongroom's."""
    write = Engine.write

    def wrapping(self: Engine, change: Any) -> Any:
        try:
            return write(self, change)
        except StrongroomError:
            raise
        except Exception as raised:
            raise StrongroomError(f"the write function failed: {raised}") from raised

    patch.method(Engine, "write", wrapping)


@mutant("T3", on=MEMORY)
def exception_of_a_function_copied(patch: Patches) -> None:
    """What a write function raises comes out as another object of the same type."""
    write = Engine.write

    def copying(self: Engine, change: Any) -> Any:
        try:
            return write(self, change)
        except Exception as raised:
            raise type(raised)(*raised.args) from raised.__cause__

    patch.method(Engine, "write", copying)


@mutant("T1", on=MEMORY)
def nested_call_allowed_to_deadlock(patch: Patches) -> None:
    """A call from inside a function waits for the transaction that it is in."""
    patch.method(Engine, "_check_outside", lambda self, kind: self._check_open())


@mutant("T1", on=MEMORY)
def transaction_usable_after_its_end(patch: Patches) -> None:
    """A transaction that was kept beyond its function still reads and writes."""
    patch.method(OpenTransaction, "end", lambda self: None)


@mutant("T1", on=MEMORY)
def clock_goes_back(patch: Patches) -> None:
    """The clock follows the machine's, which is set back by a second now and then."""
    told: list[int] = []

    def following(self: Any) -> int:
        told.append(1)
        now: int = self._source() // 1_000_000
        return now - 1000 * (len(told) % 7 == 0)

    patch.method(Clock, "now", following)


@mutant("T1", on=MEMORY)
def clock_tells_seconds(patch: Patches) -> None:
    """The clock's time is in seconds."""
    now = Clock.now
    patch.method(Clock, "now", lambda self: now(self) // 1000)


@mutant("T4", on=Ground.UNRELIABLE)
def retries_unbounded(patch: Patches) -> None:
    """A conflict is tried again for as long as there are rivals."""

    def endless(call: Callable[[], Any], *, on: Any = VersionMismatch, **_bounds: Any) -> Any:
        while True:
            try:
                return call()
            except on:
                continue

    patch.function(retry, endless)


@mutant("T4", on=Ground.SINGLE_RECORD)
def conflicts_not_retried(patch: Patches) -> None:
    """The first conflict is given to the caller as it is."""
    patch.function(retry, lambda call, **_bounds: call())


@mutant("T4", on=MEMORY)
def last_conflict_given_out_as_it_is(patch: Patches) -> None:
    """When every try is used up, the caller gets the last fault and no Conflict."""
    again = retry

    def raw(call: Callable[[], Any], **bounds: Any) -> Any:
        try:
            return again(call, **bounds)
        except StrongroomError as fault:
            raise fault.__cause__ or fault from None

    patch.function(again, raw)


@mutant("T4", on=MEMORY)
def pauses_without_a_cap(patch: Patches) -> None:
    """The pause between two tries doubles without an end."""
    patch.method(Backoff, "pause", lambda self, attempt: self.first_ms * 2**attempt / 1000)


@mutant("T4", on=MEMORY)
def pauses_without_jitter(patch: Patches) -> None:
    """Rivals wait equally long, and meet again."""
    patch.method(Backoff, "pause", lambda self, attempt: min(self.cap_ms, self.first_ms * 2**attempt) / 1000)


@mutant("T6", on=Ground.UNRELIABLE)
def unknown_commit_reported_as_a_success(patch: Patches) -> None:
    """A commit whose answer was lost passes for kept."""
    write = Engine.write

    def hopeful(self: Engine, change: Any) -> Any:
        try:
            return write(self, change)
        except CommitUnknown:
            return None

    patch.method(Engine, "write", hopeful)


@mutant("T6", on=Ground.UNRELIABLE)
def unknown_commit_reported_as_a_failure(patch: Patches) -> None:
    """A commit whose answer was lost passes for not kept."""
    write = Engine.write

    def gloomy(self: Engine, change: Any) -> Any:
        try:
            return write(self, change)
        except CommitUnknown as fault:
            raise Unavailable("the commit failed") from fault

    patch.method(Engine, "write", gloomy)


@mutant("T6", on=Ground.UNRELIABLE)
def unknown_commit_tried_again(patch: Patches) -> None:
    """A commit whose answer was lost is made once more: a write that did land is refused as a second one."""
    write = Engine.write

    def blind(self: Engine, change: Any) -> Any:
        try:
            return write(self, change)
        except CommitUnknown:
            return write(self, change)

    patch.method(Engine, "write", blind)


@mutant("T7", on=Ground.SINGLE_RECORD)
def weak_engine_taken_for_a_strong_one(patch: Patches) -> None:
    """A store that needs many rows in a transaction opens on an engine that has one."""
    patch.method(Engine, "require", lambda self, strength, user: None)


@mutant("E3", on=MEMORY)
def use_after_close(patch: Patches) -> None:
    """An engine that was closed goes on."""
    patch.method(Engine, "_check_open", lambda self: None)


@mutant("C1", on=MEMORY)
def threads_taken_for_one_another(patch: Patches) -> None:
    """An engine remembers that it is inside of a function, but not in which thread: the others are refused."""
    make = Engine.__init__

    def shared(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self._inside = SimpleNamespace(kind=None)

    patch.method(Engine, "__init__", shared)


@mutant("C2", on=MEMORY)
def fork_guard_missing(patch: Patches) -> None:
    """A forked child uses the engine of its parent."""
    make = Engine.__init__

    def unnoticed(self: Engine, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        base._engines.discard(self)

    patch.method(Engine, "__init__", unnoticed)


@mutant("C3", on=MEMORY)
def close_leaves_its_threads(patch: Patches) -> None:
    """Closing an engine leaves its threads for asyncio callers waiting for work."""

    def close(self: Any) -> None:
        with self._lock:
            self._closed = True

    patch.method(Runner, "close", close)


@mutant("C3", on=MEMORY)
def second_close_is_a_fault(patch: Patches) -> None:
    """Whoever closes a closed engine is told that it is closed."""
    close = Engine.close

    def strict(self: Engine) -> None:
        self._check_open()
        close(self)

    patch.method(Engine, "close", strict)


@mutant("C4", on=MEMORY)
def cancelled_caller_does_not_wait(patch: Patches) -> None:
    """A caller that is cancelled goes away while its call is still under way, and never hears what came of it."""
    end_of = asynchronous._end_of

    async def at_once(_call: Any) -> None:
        await asyncio.sleep(0)

    patch.function(end_of, at_once)


@mutant("C4", on=MEMORY)
def withdrawn_call_made_all_the_same(patch: Patches) -> None:
    """A call whose caller was cancelled before it began is made when its turn comes."""
    patch.method(asynchronous._Call, "claim", lambda self: self._claimed.acquire(blocking=False) or True)
