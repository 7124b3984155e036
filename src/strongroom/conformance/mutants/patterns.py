"""Logs, cursors, mappings and scopes with one safeguard broken."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.errors import Corrupt, NotFound
from strongroom.patterns import Log, ScopedTable, cursor, scoped
from strongroom.records import AnyTable

MEMORY = Ground.MEMORY


@mutant("L2", "L1", on=MEMORY)
def log_position_taken_outside_the_transaction(patch: Patches) -> None:
    """An append looks for the head first, and inserts behind it in a transaction of its own."""

    def append(self: Any, engine: Any, *stream: Any, make: Callable[[int], Any]) -> Any:
        entry = self._entry(stream, self.head(engine, *stream) + 1, make)
        engine.insert(self.table, entry)
        return entry

    patch.method(Log, "append", append)


@mutant("L1", on=MEMORY)
def log_positions_from_a_counter(patch: Patches) -> None:
    """Positions come from a counter that a rollback does not turn back."""
    counters: dict[Any, Any] = defaultdict(lambda: itertools.count(1))

    def append_in(self: Any, transaction: Any, *stream: Any, make: Callable[[int], Any]) -> Any:
        head = self.head(transaction, *stream)
        position = next(at for at in counters[head == 0, stream] if at > head)
        entry = self._entry(stream, position, make)
        transaction.insert(self.table, entry)
        return entry

    patch.method(Log, "append_in", append_in)


@mutant("L1", on=MEMORY)
def log_positions_shared_by_all_streams(patch: Patches) -> None:
    """The head of one log is the greatest position of any."""

    def head(self: Any, reader: Any, *stream: Any) -> int:
        self._check_stream(stream)
        return max((self._at(entry) for entry in reader.scan(self.table, limit=10_000)), default=0)

    patch.method(Log, "head", head)


@mutant("L3", on=MEMORY)
def log_head_kept_in_memory(patch: Patches) -> None:
    """A log's head is read once, and counted on from there whoever else appends."""
    heads: dict[Any, int] = {}
    append = Log.append
    head = Log.head

    def remembered(self: Any, reader: Any, *stream: Any) -> int:
        key = (id(getattr(reader, "_codecs", None)), stream)
        if key not in heads:
            heads[key] = head(self, reader, *stream)
        return heads[key]

    def counting(self: Any, engine: Any, *stream: Any, make: Callable[[int], Any]) -> Any:
        entry = append(self, engine, *stream, make=make)
        heads[id(engine._codecs), stream] = self._at(entry)
        return entry

    patch.method(Log, "head", remembered)
    patch.method(Log, "append", counting)


@mutant("L1", on=MEMORY)
def log_entry_under_another_key_accepted(patch: Patches) -> None:
    """An append does not look whether the entry that was made for a position has it."""
    patch.method(Log, "_entry", lambda self, stream, position, make: make(position))


@mutant("L2", on=MEMORY)
def log_read_across_a_hole(patch: Patches) -> None:
    """Whoever follows a log goes on behind a position that is missing, and never comes back for it."""

    def careless(self: Any, reader: Any, *stream: Any, after: int = 0, limit: int) -> Any:
        try:
            return read(self, reader, *stream, after=after, limit=limit)
        except Corrupt:
            return reader.scan(self.table, *stream, start=(after + 1,), limit=limit)

    read = Log.read
    patch.method(Log, "read", careless)


@mutant("L2", on=MEMORY)
def log_page_repeats_its_last_entry(patch: Patches) -> None:
    """A page of a log begins with the entry that the one before it ended with."""
    read = Log.read

    def overlapping(self: Any, reader: Any, *stream: Any, after: int = 0, limit: int) -> Any:
        return read(self, reader, *stream, after=max(0, after - 1) if type(after) is int else after, limit=limit)

    patch.method(Log, "read", overlapping)


@mutant("L2", on=MEMORY)
def log_page_cursor_runs_ahead(patch: Patches) -> None:
    """A page's cursor is moved on by its limit, however many entries there were."""
    page = Log.page
    read_cursor, make_cursor = cursor.read_cursor, cursor.make_cursor

    def ahead(self: Any, engine: Any, *stream: Any, cursor: str | None = None, limit: int) -> Any:
        found = page(self, engine, *stream, cursor=cursor, limit=limit)
        at: Any
        (at,) = read_cursor(found.cursor, engine.epoch, self.table, stream, fixed=self._stream)
        at += limit - len(found.entries) if found.entries else 0
        return type(found)(found.entries, make_cursor(engine.epoch, self.table, stream, (at,)))

    patch.method(Log, "page", ahead)


def _reading(patch: Patches, change: Callable[[Any, str, AnyTable, Any], tuple[Any, str, AnyTable, Any]]) -> None:
    """Have a cursor's contents changed, to what is expected of them, before they are compared."""
    read = cursor._read
    read_cursor = cursor.read_cursor

    def lenient(text: str, epoch: str, table: AnyTable, listing: Sequence[Any], *, fixed: int) -> Any:
        body = read(text)
        if body is not None:
            body, epoch, table, listing = change(body, epoch, table, listing)
        return read_cursor(text, epoch, table, listing, fixed=fixed)

    patch.function(read_cursor, lenient)


@mutant("R5", on=MEMORY)
def cursor_of_another_listing_accepted(patch: Patches) -> None:
    """A cursor goes on wherever it is given in."""
    _reading(patch, lambda body, epoch, table, _listing: (body, epoch, table, body.listing))


@mutant("R5", on=MEMORY)
def cursor_epoch_not_checked(patch: Patches) -> None:
    """A cursor from before a restore goes on somewhere."""
    _reading(patch, lambda body, _epoch, table, listing: (body, body.epoch, table, listing))


@mutant("R5", on=MEMORY)
def cursor_check_digits_not_checked(patch: Patches) -> None:
    """A cursor that was mistyped on its way goes on somewhere."""
    patch.function(cursor._check, lambda body: bytes(8))


@mutant("S2", on=MEMORY)
def scope_check_dropped(patch: Patches) -> None:
    """A store takes records of any scope."""
    patch.method(ScopedTable, "check_scope", lambda self, record: None)


@mutant("S2", on=MEMORY)
def scope_ignores_the_case_of_letters(patch: Patches) -> None:
    """A record's scope passes for the store's if they differ in the case of letters only."""
    check = ScopedTable.check_scope

    def folded(self: Any, record: Any) -> None:
        name = self.table.key_names[0]
        if str(getattr(record, name)).lower() != str(self._scope[0]).lower():
            check(self, record)

    patch.method(ScopedTable, "check_scope", folded)


@mutant("S1", on=MEMORY)
def scope_ignored_by_scans(patch: Patches) -> None:
    """A listing shows the rows of every scope."""

    def scan(self: Any, *prefix: Any, start: Any = None, stop: Any = None, after: Any = None, **rest: Any) -> Any:
        if prefix or start or stop or after:
            return whole(self, *prefix, start=start, stop=stop, after=after, **rest)
        return self._port.scan(self.table, **rest)

    whole = ScopedTable.scan
    patch.method(ScopedTable, "scan", scan)


@mutant("S1", on=MEMORY)
def scope_ignored_by_counts(patch: Patches) -> None:
    """A count counts the rows of every scope."""
    patch.method(ScopedTable, "count", lambda self, *prefix, limit: self._port.count(self.table, limit=limit))


@mutant("S1", on=MEMORY)
def scope_lost_inside_a_transaction(patch: Patches) -> None:
    """Inside a transaction a store takes what it is given."""

    class Unbound(ScopedTable[Any]):
        def check_scope(self, record: Any) -> None:
            return None

    patch.method(
        ScopedTable, "within", lambda self, transaction: Unbound(transaction, self.table, self._scope, self._faults)
    )


@mutant("S3", on=MEMORY)
def empty_scope_accepted(patch: Patches) -> None:
    """A store may be bound to the scope of no name, or to half a scope."""
    patch.function(scoped.check_scope, lambda table, scope: None)


@mutant("S3", on=MEMORY)
def scope_must_be_registered(patch: Patches) -> None:
    """A scope is known only when it has a row."""

    def scan(self: Any, *prefix: Any, **rest: Any) -> Any:
        found = whole(self, *prefix, **rest)
        if not found:
            raise NotFound(f"there is no scope {self._scope}")
        return found

    whole = ScopedTable.scan
    patch.method(ScopedTable, "scan", scan)


@mutant("S2", on=MEMORY)
def domain_s_faults_mixed_up(patch: Patches) -> None:
    """A store raises the engine's faults, not its domain's own."""
    make = ScopedTable.__init__

    def plain(self: Any, port: Any, table: AnyTable, scope: Sequence[Any], _faults: Any = None) -> None:
        make(self, port, table, scope)

    patch.method(ScopedTable, "__init__", plain)
