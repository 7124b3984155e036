"""L1, L2 and L3: the positions of a log, whoever follows it, and what is left of it after a restart."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import threading
from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import ENTRIES, LOG, MARKS, Entry, Mark
from strongroom.conformance.threads import PATIENCE, Started, errors_of, together
from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument

WRITERS: Final = 8


def append(engine: Engine, stream: str, text: str) -> Entry:
    """Append one entry, in a transaction of its own where the engine has more than single records."""
    return LOG.append(engine, stream, make=lambda position: Entry(stream, position, text))


def _positions(kit: Kit, stream: str) -> list[int]:
    return [entry.position for entry in LOG.read(kit.engine, stream, limit=10_000)]


@case("L1")
def positions_run_from_one_without_a_gap(kit: Kit) -> None:
    checks.equal(LOG.head(kit.engine, "s"), 0, "the head of an empty log")
    for number in range(1, 8):
        entry = append(kit.engine, "s", str(number))
        checks.equal(entry, Entry("s", number, str(number)), "the entry given back")
        checks.equal(LOG.head(kit.engine, "s"), number, "the head")
        append(kit.engine, "other", "")
    checks.equal(_positions(kit, "s"), list(range(1, 8)), "positions")
    checks.equal(LOG.read(kit.engine, "s", after=5, limit=9)[0], Entry("s", 6, "6"), "the entry behind position 5")
    checks.equal(LOG.read(kit.engine, "s", after=7, limit=9), [], "the entries behind the last")
    for after in (-1, True, 1.0, None):
        checks.raises(InvalidArgument, f"after={after!r}", LOG.read, kit.engine, "s", after=after, limit=1)


@case("L1", strength=Strength.MULTI_RECORD)
def an_append_that_was_rolled_back_leaves_no_gap(kit: Kit) -> None:
    def fail(transaction: Transaction) -> None:
        LOG.append_in(transaction, "s", make=lambda position: Entry("s", position, "failed"))
        raise ValueError("failed")

    def give_up(transaction: Transaction) -> None:
        LOG.append_in(transaction, "s", make=lambda position: Entry("s", position, "abandoned"))
        transaction.abandon(None)

    for number in range(1, 5):
        checks.raises(ValueError, "an append that fails", kit.engine.write, fail)
        kit.engine.write(give_up)
        checks.equal(append(kit.engine, "s", "kept").position, number, "the next position")
    checks.equal({entry.text for entry in LOG.read(kit.engine, "s", limit=9)}, {"kept"}, "what was kept")


@case("L1", strength=Strength.MULTI_RECORD, across=True)
def an_entry_is_kept_together_with_what_it_tells_of_or_not_at_all(kit: Kit) -> None:
    def act(transaction: Transaction) -> None:
        LOG.append_in(transaction, "s", make=lambda position: Entry("s", position, "made a mark"))
        transaction.insert(MARKS, Mark("only once"))

    kit.engine.write(act)
    checks.raises(AlreadyExists, "the same act once more", kit.engine.write, act)
    checks.equal(_positions(kit, "s"), [1], "positions")
    checks.equal(kit.engine.count(MARKS, limit=5), 1, "marks")


@case("L1", strength=Strength.MULTI_RECORD, across=True)
def one_transaction_may_append_many_entries_to_many_logs(kit: Kit) -> None:
    append(kit.engine, "a", "before")

    def act(transaction: Transaction) -> None:
        for number in range(4):
            for stream in ("a", "b"):
                LOG.append_in(transaction, stream, make=partial(_numbered, stream, str(number)))

    kit.engine.write(act)
    checks.equal(_positions(kit, "a"), [1, 2, 3, 4, 5], "positions in a")
    checks.equal([entry.text for entry in LOG.read(kit.engine, "b", limit=9)], ["0", "1", "2", "3"], "entries of b")


def _numbered(stream: str, text: str, position: int) -> Entry:
    return Entry(stream, position, text)


@case("L1")
def an_entry_under_another_key_is_refused(kit: Kit) -> None:
    checks.raises(InvalidArgument, "another position", LOG.append, kit.engine, "s", make=lambda p: Entry("s", p + 1))
    checks.raises(InvalidArgument, "another stream", LOG.append, kit.engine, "s", make=lambda p: Entry("t", p))
    checks.equal(kit.engine.scan(ENTRIES, limit=5), [], "the rows")


@case("L1")
def many_writers_fill_a_log_without_a_gap(kit: Kit) -> None:
    each = 12
    engines = [kit.engine, kit.another()]

    def write(writer: int) -> list[int]:
        return [append(engines[writer % 2], "s", f"{writer}.{number}").position for number in range(each)]

    ended = together([partial(write, writer) for writer in range(WRITERS)], "a writer")
    checks.equal(errors_of(ended), [], "faults")
    entries = LOG.read(kit.engine, "s", limit=1000)
    checks.equal([entry.position for entry in entries], list(range(1, WRITERS * each + 1)), "positions")
    checks.equal(len({entry.text for entry in entries}), WRITERS * each, "entries that differ")
    for writer, one in enumerate(ended):
        own = [entry for entry in entries if entry.text.startswith(f"{writer}.")]
        checks.equal([entry.position for entry in own], one.value(), f"the positions that writer {writer} was told")
        checks.equal([entry.text for entry in own], [f"{writer}.{n}" for n in range(each)], "one writer's own order")


@case("L2")
def whoever_follows_a_log_by_cursor_misses_nothing(kit: Kit) -> None:
    each = 15
    reader, writers = kit.another(), [kit.engine, kit.another()]
    done = threading.Event()
    seen: list[Entry] = []

    def follow() -> None:
        cursor: str | None = None
        last = False
        while True:
            page = LOG.page(reader, "s", cursor=cursor, limit=7)
            seen.extend(page.entries)
            cursor = page.cursor
            if not page.entries:
                if last:
                    return
                last = done.wait(0.001)

    def write(writer: int) -> None:
        for number in range(each):
            append(writers[writer % 2], "s", f"{writer}.{number}")

    follower = Started(follow)
    try:
        ended = together([partial(write, writer) for writer in range(WRITERS)], "a writer")
    finally:
        done.set()
    follower.end("the follower").value()
    checks.equal(errors_of(ended), [], "faults")
    checks.equal([entry.position for entry in seen], list(range(1, WRITERS * each + 1)), "the positions it saw")
    checks.equal(seen, LOG.read(kit.engine, "s", limit=1000), "the entries it saw")


@case("L2", strength=Strength.MULTI_RECORD)
def a_reader_never_passes_an_append_that_is_not_committed_yet(kit: Kit) -> None:
    """An append that was begun first and commits last must not be skipped by who read in between."""
    other = kit.another()
    begun, go = threading.Event(), threading.Event()

    def slow(transaction: Transaction) -> None:
        LOG.append_in(transaction, "s", make=lambda position: Entry("s", position, "slow"))
        begun.set()
        go.wait(0.2)

    first = Started(lambda: kit.engine.write(slow))
    checks.true(begun.wait(PATIENCE), "the slow append begins")
    second = Started(lambda: append(other, "s", "quick"))
    second.wait(0.1)
    page = Started(lambda: LOG.page(other, "s", limit=10))
    page.wait(0.2)
    go.set()
    first.end("the slow append").value()
    second.end("the quick append").value()
    early = page.end("the reader").value()
    seen = early.entries + LOG.page(other, "s", cursor=early.cursor, limit=10).entries
    checks.equal([entry.position for entry in seen], [1, 2], "the positions that the reader saw")
    checks.equal({entry.text for entry in seen}, {"slow", "quick"}, "the entries that the reader saw")


@case("L2")
def a_hole_in_a_log_is_a_fault_and_never_passed_over(kit: Kit) -> None:
    kit.keep(ENTRIES, [Entry("s", position) for position in (1, 2, 4, 5)])
    checks.equal(LOG.read(kit.engine, "s", limit=2), [Entry("s", 1), Entry("s", 2)], "the entries before the hole")
    for call in (partial(LOG.read, after=0), partial(LOG.read, after=2), partial(LOG.page)):
        fault = checks.raises(Corrupt, "across the hole", call, kit.engine, "s", limit=10, naming=["entries", "3"])
        checks.equal((fault.table, fault.key), ("entries", ("s", 3)), "what the fault names")
    checks.equal(LOG.read(kit.engine, "s", after=4, limit=9), [Entry("s", 5)], "the entries behind the hole")


@case("L2", Ability.TAMPER)
def an_entry_that_was_taken_away_is_missed(kit: Kit) -> None:
    for number in range(1, 6):
        append(kit.engine, "s", str(number))
    kit.harness.remove(ENTRIES, ("s", 2))
    checks.raises(Corrupt, "a read", LOG.read, kit.engine, "s", limit=10, naming=["entries", "2"])
    kit.engine.insert(ENTRIES, Entry("t", 2))
    checks.raises(Corrupt, "a log without its first entry", LOG.read, kit.engine, "t", limit=10)


@case("L3", reopens=True)
def a_log_goes_on_after_a_restart_where_it_was(kit: Kit) -> None:
    for number in range(1, 6):
        append(kit.engine, "s", str(number))
    cursor = LOG.page(kit.engine, "s", limit=3).cursor
    for turn in range(1, 4):
        engine = kit.reopen()
        checks.equal(LOG.head(engine, "s"), 4 + turn, "the head after reopening")
        checks.equal(append(engine, "s", f"after {turn}").position, 5 + turn, "the next position")
        page = LOG.page(engine, "s", cursor=cursor, limit=100)
        checks.equal(
            [entry.position for entry in page.entries], list(range(4, 6 + turn)), "the entries behind the cursor"
        )


@case("L3")
def the_head_is_what_the_rows_say(kit: Kit) -> None:
    append(kit.engine, "s", "1")
    # Entries that came in by another way, as a copy or a restore brings them.
    kit.keep(ENTRIES, [Entry("s", 2), Entry("s", 3), Entry("t", 1)])
    other = kit.another()
    for engine in (kit.engine, other):
        checks.equal((LOG.head(engine, "s"), LOG.head(engine, "t")), (3, 1), "the heads")
    checks.equal(append(other, "s", "4").position, 4, "the next position")
    checks.equal(append(kit.engine, "s", "5").position, 5, "the one after it")
