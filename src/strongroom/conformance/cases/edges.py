"""What the mutants showed to be missing: cases, of many clauses, that only some broken engine needs."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    LOG,
    MARKS,
    MEMBERS,
    PAIRS,
    SAMPLES,
    SCHEMA,
    THINGS,
    Entry,
    Mark,
    Member,
    Pair,
    Sample,
    Thing,
)
from strongroom.conformance.threads import PATIENCE, Started, errors_of
from strongroom.engine import Backoff, Engine, Reader, Sharing, Strength, Transaction, retry
from strongroom.engine.catalog import FACTS, SEAL_KEY, Fact
from strongroom.errors import (
    AlreadyExists,
    Conflict,
    Corrupt,
    CursorExpired,
    InvalidArgument,
    StoreHeld,
    Unavailable,
    VersionMismatch,
)
from strongroom.patterns import make_cursor, read_cursor
from strongroom.records import SEAL

BLOB: Final = bytes(range(256)) * 250
"""As much as one row of `SAMPLES` can well hold."""

ROUTINE: Final = 8 * 2**20
"""Bytes of a log for which an engine may well do nothing, whatever its limit."""


@case("W1")
def of_single_inserts_that_pile_up_one_for_each_key_succeeds(kit: Kit) -> None:
    holds, go = threading.Event(), threading.Event()

    def hold(_transaction: Transaction) -> None:
        holds.set()
        go.wait(PATIENCE)

    kit.engine.insert(MARKS, Mark("2", "first"))
    first = Started(lambda: kit.engine.write(hold))
    checks.true(holds.wait(PATIENCE), "the first transaction begins")
    # A crowd, as a group commit carries it: five keys, three who want each, one of the keys taken before.
    crowd = [Started(partial(kit.engine.insert, MARKS, Mark(str(n % 5), str(n)))) for n in range(15)]
    for one in crowd:
        one.wait(0.005)
    go.set()
    first.end().value()
    ended = [one.end("an insert in a crowd") for one in crowd]
    for error in errors_of(ended):
        checks.true(isinstance(error, AlreadyExists), f"a second insert got {error!r}")
    winners = {str(n) for n, one in enumerate(ended) if one.error is None}
    stored = {mark.name: mark.value for mark in kit.engine.scan(MARKS, limit=9)}
    checks.equal(stored.pop("2"), "first", "the row that was there before")
    checks.equal(set(stored.values()), winners, "the rows that are there, and those who were told that theirs is")


@case("W3")
def a_guard_meets_the_row_that_it_equals_however_its_document_was_made(kit: Kit) -> None:
    for way, port in kit.ways():
        port.put(SAMPLES, Sample("s", document={"b": 1, "a": 2, "c": None}))
        again = Sample("s", document={"c": None, "a": 2, "b": 1})
        checks.equal(kit.engine.get(SAMPLES, "s"), again, "the row")
        checks.same(port.delete(SAMPLES, "s", expect=again), True, f"the answer to an equal guard in {way}")


@case("R4", Ability.TAMPER)
def a_text_moved_from_one_column_into_the_next_is_found(kit: Kit) -> None:
    for value, secret in (("x", "yz"), ("", "xyz"), ("xyz", "")):
        name = f"a{value}"
        kit.engine.insert(MARKS, Mark(name, "xy", "z"))
        kit.harness.tamper(MARKS, (name,), "value", value)
        kit.harness.tamper(MARKS, (name,), "secret", secret)
        what = f"its texts 'xy' and 'z' became {value!r} and {secret!r}"
        checks.raises(Corrupt, f"get after {what}", kit.engine.get, MARKS, name)


@case("R5")
def a_cursor_with_one_wrong_character_is_refused(kit: Kit) -> None:
    epoch = kit.engine.epoch
    cursor = make_cursor(epoch, THINGS, [], ("abcdefgh",))
    for place, char in enumerate(cursor):
        wrong = cursor[:place] + ("A" if char != "A" else "B") + cursor[place + 1 :]
        try:
            found = read_cursor(wrong, epoch, THINGS, [], fixed=0)
        except (InvalidArgument, CursorExpired):
            continue
        # The last character may have bits to spare: then it is another spelling of the same.
        checks.equal(found, ("abcdefgh",), f"what the cursor is taken for with a wrong character at {place}")


@case("R4", Ability.TAMPER)
def a_whole_row_copied_under_another_key_is_found(kit: Kit) -> None:
    kit.keep(MARKS, [Mark("a", "from a"), Mark("b", "from b")])
    row = kit.harness.peek(MARKS, ("a",)) or {}
    copied = [kit.harness.tamper(MARKS, ("b",), column, row[column]) for column in ("value", "secret", SEAL, "name")]
    if not copied[-1]:  # the database keeps no row whose key is another's: it went as far as it could
        checks.equal((kit.harness.peek(MARKS, ("b",)) or {})["value"], "from a", "the row as it is stored")
    checks.raises(Corrupt, "get of the other key", kit.engine.get, MARKS, "b", naming=["marks", "'b'"])
    checks.raises(Corrupt, "a scan", kit.engine.scan, MARKS, limit=5)
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "from a"), "the row that was copied")


@case("R2", strength=Strength.MULTI_RECORD)
def many_keys_are_read_in_one_moment(kit: Kit) -> None:
    other, stop = kit.another(), threading.Event()
    torn: list[Any] = []

    def put_both(number: int) -> None:
        def change(transaction: Transaction) -> None:
            for second in ("first", "last"):
                transaction.put(PAIRS, Pair("p", second, number))

        kit.engine.write(change)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            put_both(number)

    put_both(0)
    writer = Started(write)
    keys = [("p", "first"), *(("p", f"none {number}") for number in range(1000)), ("p", "last")]
    try:
        for _ in range(20):
            found = other.get_many(PAIRS, keys)
            torn += [] if found[0] and found[-1] and found[0].number == found[-1].number else [(found[0], found[-1])]
    finally:
        stop.set()
        writer.end("the writer").value()
    checks.equal(torn[:1], [], "two rows that are always written together, read by one get_many")


@case("L2")
def a_page_that_was_not_full_is_gone_on_from_where_it_ended(kit: Kit) -> None:
    cursor: str | None = None
    seen: list[int] = []
    for batch in (2, 0, 1, 5, 3):
        for _ in range(batch):
            LOG.append(kit.engine, "s", make=lambda position: Entry("s", position))
        page = LOG.page(kit.engine, "s", cursor=cursor, limit=4)
        seen += [entry.position for entry in page.entries]
        cursor = page.cursor
    page = LOG.page(kit.engine, "s", cursor=cursor, limit=4)
    checks.equal(seen + [entry.position for entry in page.entries], list(range(1, 12)), "the positions that were seen")


@case("R5")
def the_end_of_a_range_is_looked_for_anew_when_its_last_rows_are_gone(kit: Kit) -> None:
    members = [Member("t", str(number)) for number in range(10)]
    kit.keep(MEMBERS, members)
    kit.keep(MEMBERS, [Member("u", "behind")])
    other = kit.another()
    while members:
        for engine in (kit.engine, other):
            found = engine.scan(MEMBERS, "t", limit=3, reverse=True)
            checks.equal(found, members[:-4:-1], f"the last rows of {len(members)}")
        for member in members[-2:]:
            other.delete(MEMBERS, "t", member.name)
        members = members[:-2]
    checks.equal(kit.engine.scan(MEMBERS, "t", limit=3, reverse=True), [], "the last rows of none")


@case("R5")
def a_long_listing_is_whole(kit: Kit) -> None:
    """More rows than a database may give with one answer."""
    pairs = [Pair(f"{number:04}", "", number) for number in range(1100)]
    kit.keep(PAIRS, pairs)
    checks.equal(kit.engine.scan(PAIRS, limit=2000), pairs, "a scan")
    checks.equal(kit.engine.scan(PAIRS, limit=2000, reverse=True), pairs[::-1], "a scan in reverse")
    checks.equal(kit.engine.scan(PAIRS, limit=2, reverse=True), pairs[:-3:-1], "the end")
    checks.equal(kit.engine.count(PAIRS, limit=2000), len(pairs), "the count")


@case("R5")
def a_listing_of_large_rows_is_whole(kit: Kit) -> None:
    """More bytes than a database may give with one answer; the rows of each transaction may take several statements."""
    samples = [Sample(f"{number:02}", number, blob=BLOB) for number in range(36)]
    for start in range(0, len(samples), 12):
        some = samples[start : start + 12]
        if kit.claims.strength >= Strength.MULTI_RECORD:
            kit.engine.write(partial(_insert_all, some))
        else:
            for sample in some:
                kit.engine.insert(SAMPLES, sample)
    checks.equal(kit.engine.scan(SAMPLES, limit=100), samples, "a scan")
    checks.equal(kit.engine.scan(SAMPLES, limit=20, reverse=True), samples[: -20 - 1 : -1], "a page from the end")
    checks.equal(kit.engine.count(SAMPLES, limit=100), len(samples), "the count")


def _insert_all(samples: list[Sample], transaction: Transaction) -> None:
    for sample in samples:
        transaction.insert(SAMPLES, sample)


@case("T6", Ability.LOST_CONNECTION, sharing=Sharing.NETWORK, strength=Strength.MULTI_RECORD)
def a_change_that_waits_for_another_when_its_connection_breaks_is_told_truly(kit: Kit) -> None:
    """Where the other's connection breaks as well the server may go on with the change, and nobody hears of it."""
    kit.fresh()
    other = kit.open()
    for name in map(str, range(12)):
        looked, cut = threading.Event(), threading.Event()

        def hold(transaction: Transaction, name: str = name, looked: Any = looked, cut: Any = cut) -> None:
            transaction.get(MARKS, name)
            transaction.put(PAIRS, Pair("held", ""))
            looked.set()
            cut.wait(PATIENCE)

        holding = Started(partial(other.write, hold))
        looked.wait(PATIENCE)
        changing = Started(partial(kit.engine.insert, MARKS, Mark(name)))
        changing.wait(0.05)
        kit.harness.cut()
        cut.set()
        told = [holding.end().error, changing.end().error]
        checks.equal([e for e in told if e is not None and not isinstance(e, Unavailable)], [], "faults")
        checks.equal(kit.engine.get(MARKS, name) is not None, told[1] is None, f"whether it is kept, told {told[1]!r}")


@case("T4")
def rivals_do_not_all_wait_equally_long(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    pauses: list[float] = []
    stale = partial(kit.engine.update, THINGS, Thing("a", 9), expect=8)
    for _ in range(2):
        backoff = Backoff(attempts=9, first_ms=8, cap_ms=8)
        checks.raises(Conflict, "a stale loop", retry, stale, on=VersionMismatch, backoff=backoff, sleep=pauses.append)
    checks.equal(len(pauses), 16, "pauses")
    checks.true(len(set(pauses)) > 8, f"rivals that pause for {sorted(set(pauses))} s meet again and again")


@case("M1")
def a_store_that_another_key_seals_is_refused(kit: Kit) -> None:
    engine = kit.engine
    before = engine.get(FACTS, SEAL_KEY)
    checks.true(before is not None, "a store knows which key seals it")
    engine.put(FACTS, Fact(SEAL_KEY, "0123456789abcdef"))
    other = kit.open(None) if engine.claims.sharing >= Sharing.PROCESS else engine
    checks.raises(InvalidArgument, "a store under another key", other.prepare, SCHEMA, naming=["sealed"])
    checks.raises(InvalidArgument, "the key of the store", other.check_seal_key, naming=["sealed"])


@case("C1")
def what_one_thread_is_inside_of_hinders_no_other(kit: Kit) -> None:
    engine = kit.engine
    inside, go = threading.Event(), threading.Event()

    def hold(_function_s: Any) -> None:
        inside.set()
        go.wait(PATIENCE)

    for outer in (engine.write, engine.read):
        inside.clear()
        go.clear()
        first = Started(partial(outer, hold))
        try:
            checks.true(inside.wait(PATIENCE), "the function begins")
            # They may have to wait for it, but are no part of it.
            others: list[Started[Any]] = [
                Started(partial(engine.get, MARKS, "a")),
                Started(partial(engine.put, PAIRS, Pair("p", outer.__name__))),
                Started(lambda: engine.read(lambda reader: reader.get(MARKS, "a"))),
                Started(lambda: engine.write(lambda transaction: transaction.get(MARKS, "a"))),
            ]
            for other in others:
                other.wait(0.02)
        finally:
            go.set()
        first.end("the function").value()
        for other in others:
            other.end("a call beside it").value()


@case("D4", Ability.EXCLUSIVE, exclusive=True, sharing=Sharing.PROCESS)
def a_holder_that_is_closing_holds_to_the_last(kit: Kit) -> None:
    inside, go = threading.Event(), threading.Event()

    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("in flight"))
        inside.set()
        go.wait(PATIENCE)

    holder = kit.harness.open_exclusive()
    with contextlib.ExitStack() as stack:
        stack.callback(holder.close)
        stack.callback(go.set)
        holder.prepare(SCHEMA)
        writer = Started(lambda: holder.write(change))
        checks.true(inside.wait(PATIENCE), "the write begins")
        closer = Started(holder.close)
        closer.wait(0.05)
        checks.raises(StoreHeld, "a second holder, the first one closing", kit.harness.open_exclusive)
        go.set()
        writer.end("the writer").value()
        closer.end("close").value()
    with kit.harness.open_exclusive() as after:
        checks.equal(after.get(MARKS, "in flight"), Mark("in flight"), "the row that close waited for")


def _log_limit(engine: Engine) -> int:
    described = engine.describe()
    limit = described.get("wal_limit_bytes")
    if not isinstance(limit, int) or "wal_bytes" not in described:
        raise checks.Failed("the description should tell of the log that the engine keeps, and of its bound")
    return limit


class _LongReader:
    """A snapshot of `THINGS` that is looked at twice, and left open in between."""

    def __init__(self, engine: Engine) -> None:
        self._begun, self._done = threading.Event(), threading.Event()
        self._engine = engine
        self._reader = Started(lambda: engine.read(self._look))
        checks.true(self._begun.wait(PATIENCE), "the reader begins")

    def _look(self, reader: Reader) -> tuple[Any, Any]:
        first = reader.scan(THINGS, limit=5)
        self._begun.set()
        self._done.wait(PATIENCE * 5)
        return first, reader.scan(THINGS, limit=5)

    def let_go(self) -> None:
        """Let it take its second look: the same as the first, or a fault that says that it can't be had any more."""
        self._done.set()
        ended = self._reader.end("a long reader")
        if ended.error is None:
            first, second = ended.value()
            checks.equal(second, first, "the second look of a snapshot that was open for long")
        elif not isinstance(ended.error, Conflict):
            raise checks.Failed(f"a long reader got {ended.error!r}")


@case("D5", bounded_log=True, slow=True)
def a_reader_that_is_given_up_is_told_so(kit: Kit) -> None:
    engine, limit = kit.engine, _log_limit(kit.engine)
    engine.insert(THINGS, Thing("a", 1))
    reader = _LongReader(engine)
    try:
        engine.update(THINGS, Thing("a", 2), expect=1)
        for number in range((2 * limit + ROUTINE) // len(BLOB)):
            engine.put(SAMPLES, Sample(f"s{number % 50}", whole=number, blob=BLOB))
    finally:
        reader.let_go()
    checks.equal(engine.read(lambda r: r.get(THINGS, "a")), Thing("a", 2), "the row, as the next reader sees it")


@case("D5", bounded_log=True, sharing=Sharing.PROCESS, slow=True)
def a_reader_elsewhere_can_not_make_the_log_grow_without_end(kit: Kit) -> None:
    engine, other, limit = kit.engine, kit.another(), _log_limit(kit.engine)
    engine.insert(THINGS, Thing("a", 1))
    reader = _LongReader(other)
    refused = False
    try:
        for number in range((8 * limit + ROUTINE) // len(BLOB)):
            try:
                engine.put(SAMPLES, Sample(f"s{number % 50}", whole=number, blob=BLOB))
            except Unavailable as fault:
                checks.true("reader" in str(fault), f"the message should say who is in the way: {fault}")
                refused = True
                break
        kept = int(str(engine.describe()["wal_bytes"]))
    finally:
        reader.let_go()
    checks.true(kept <= 6 * limit, f"the log grew to {kept} bytes beside a reader elsewhere; its limit is {limit}")
    engine.put(SAMPLES, Sample("after", blob=BLOB))
    if refused:
        kept = int(str(engine.describe()["wal_bytes"]))
        checks.true(kept <= limit, f"the log has {kept} bytes when the reader is gone; its limit is {limit}")
