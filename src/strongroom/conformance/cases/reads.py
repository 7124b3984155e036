"""R3 and R5: what is not there, and what a scan's bounds, cursors, limits and direction mean."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.cases.order import reading_key
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    LOG,
    MARKS,
    MEMBERS,
    NOWHERE,
    PAIRS,
    READINGS,
    THINGS,
    Entry,
    Mark,
    Member,
    Pair,
    Reading,
    Thing,
)
from strongroom.engine import Reader, Strength
from strongroom.engine.catalog import EPOCH, FACTS, Fact
from strongroom.errors import CursorExpired, InvalidArgument, StrongroomError
from strongroom.patterns import make_cursor, read_cursor
from strongroom.records import MAX_LIMIT


@case("R3")
def what_is_not_there_is_nothing_and_no_fault(kit: Kit) -> None:
    kit.engine.put(PAIRS, Pair("a", "b"))
    engine = kit.engine
    checks.equal(engine.get(PAIRS, "a", "c"), None, "get of an absent key")
    checks.equal(engine.get(MARKS, "a"), None, "get in an empty table")
    checks.equal(engine.scan(PAIRS, "b", limit=5), [], "a scan of an empty prefix")
    checks.equal(engine.scan(MARKS, limit=5), [], "a scan of an empty table")
    checks.equal(engine.scan(MARKS, limit=5, reverse=True), [], "a scan of an empty table in reverse")
    checks.equal(engine.count(PAIRS, "b", limit=5), 0, "a count of an empty prefix")
    checks.equal(engine.count(MARKS, limit=5), 0, "a count of an empty table")
    checks.equal(engine.get_many(PAIRS, []), [], "get_many of no keys")


@case("R3")
def many_keys_are_answered_in_the_order_they_were_asked_in(kit: Kit) -> None:
    kit.keep(MARKS, [Mark(name, name * 2) for name in "abcde"])
    names = ["c", "none", "a", "c", "", "e", "A"]
    keys = [(name,) for name in names if name]
    expected = [Mark(name, name * 2) if name in "abcde" else None for name in names if name]
    checks.equal(kit.engine.get_many(MARKS, keys), expected, "get_many")
    checks.equal(kit.engine.get_many(MARKS, [list(key) for key in keys]), expected, "get_many of lists")
    many = [(f"m{number}",) for number in range(1500)]
    checks.equal(
        kit.engine.get_many(MARKS, [*many, ("a",)]), [None] * 1500 + [Mark("a", "aa")], "get_many of 1,501 keys"
    )


def _range_of(
    rows: Sequence[Reading],
    prefix: Sequence[Any],
    start: Sequence[Any] | None,
    stop: Sequence[Any] | None,
    after: Sequence[Any] | None,
    reverse: bool,
) -> list[Reading]:
    """The rows that a scan is to find, by definition: `rows` are in key order, which `reading_key` says."""

    def keys(values: Sequence[Any], at: int) -> list[Any]:
        turned = (lambda text: text.encode(), lambda real: -real, lambda text: text.encode(), lambda number: -number)
        return [turned[at + place](value) for place, value in enumerate(values)]

    fixed = len(prefix)
    found = []
    for row in rows:
        key = list(reading_key(row))
        rest = key[fixed:]
        inside = key[:fixed] == keys(prefix, 0)
        inside &= start is None or rest[: len(start)] >= keys(start, fixed)
        inside &= stop is None or rest[: len(stop)] < keys(stop, fixed)
        if after is not None:
            inside &= rest < keys(after, fixed) if reverse else rest > keys(after, fixed)
        if inside:
            found.append(row)
    return found[::-1] if reverse else found


STATIONS: Final = ("a", "b")
DEGREES: Final = (1.0, 0.5, -2.0)
NAMES: Final = ("", "x")
NUMBERS: Final = (3, -1)


def _all_readings() -> list[Reading]:
    return [Reading(*key) for key in product(STATIONS, DEGREES, NAMES, NUMBERS)]


def _bounds(prefix: Sequence[Any]) -> Iterator[Sequence[Any] | None]:
    """Bounds behind a prefix: none, present ones, absent ones between, before and behind them; leading values too."""
    values: tuple[Sequence[Any], ...] = (
        ("", "a", "b", "c"),
        (2.0, 1.0, 0.75, -2.0, -3.0),
        ("", "w", "y"),
        (4, 3, 0, -9),
    )
    values = (values[0][1:], *values[1:])
    rest = values[len(prefix) :]
    yield None
    for length in range(1, len(rest) + 1):
        # One value varies for each length, or there would be too many.
        for value in rest[length - 1]:
            yield (*[column[1] if len(column) > 1 else column[0] for column in rest[: length - 1]], value)


@case("R5")
def every_scan_finds_what_its_bounds_say(kit: Kit) -> None:
    rows = _all_readings()
    kit.keep(READINGS, rows)

    def compare(reader: Reader) -> None:
        for prefix in ((), ("a",), ("c",), ("b", -2.0, "x"), ("a", 0.25), ("a", 1.0, "", 3)):
            fits = [None] if len(prefix) == 4 else list(_bounds(prefix))
            for start, stop, reverse in product(fits, fits[::2], (False, True)):
                expected = _range_of(rows, prefix, start, stop, None, reverse)
                found = reader.scan(READINGS, *prefix, start=start, stop=stop, limit=100, reverse=reverse)
                checks.equal(found, expected, f"scan{prefix} start={start} stop={stop} reverse={reverse}")

    # One snapshot where the engine can, so that it costs no round trip of its own for every scan.
    kit.engine.read(compare) if kit.claims.strength >= Strength.MULTI_RECORD else compare(kit.engine)


@case("R5")
def every_cursor_goes_on_behind_itself(kit: Kit) -> None:
    rows = _all_readings()
    kit.keep(READINGS, rows)

    def compare(reader: Reader) -> None:
        for prefix in ((), ("b",), ("a", 0.5), ("b", -2.0, "x")):
            fixed = len(prefix)
            here = [list(key[fixed:]) for key in product(STATIONS, DEGREES, NAMES, NUMBERS)]
            absent = [["b", 0.75, "w", 0][fixed:], ["", 9.0, "", 9][fixed:] if fixed else ["a", 9.0, "", 9]]
            bounds = list(_bounds(prefix))[::3]
            for after, bound, reverse in product([*here[::3], *absent], bounds, (False, True)):
                for start, stop in ((None, None), (bound, None), (None, bound)):
                    expected = _range_of(rows, prefix, start, stop, after, reverse)
                    found = reader.scan(
                        READINGS, *prefix, start=start, stop=stop, after=after, limit=100, reverse=reverse
                    )
                    what = f"scan{prefix} start={start} stop={stop} after={after} reverse={reverse}"
                    checks.equal(found, expected, what)

    kit.engine.read(compare) if kit.claims.strength >= Strength.MULTI_RECORD else compare(kit.engine)


@case("R5")
def a_scan_gives_no_more_rows_than_its_limit(kit: Kit) -> None:
    rows = _all_readings()
    kit.keep(READINGS, rows)
    for limit in (1, 2, len(rows) - 1, len(rows), len(rows) + 1, MAX_LIMIT):
        checks.equal(kit.engine.scan(READINGS, limit=limit), rows[:limit], f"a scan of {limit}")
        backwards = kit.engine.scan(READINGS, limit=limit, reverse=True)
        checks.equal(backwards, rows[::-1][:limit], f"a scan of {limit} in reverse")
        bounded = kit.engine.scan(READINGS, start=("a", 0.5), limit=limit)
        checks.equal(bounded, rows[4:][:limit], f"a scan of {limit} from a start")
        inside = kit.engine.scan(READINGS, "b", limit=limit)
        checks.equal(inside, rows[12:][:limit], f"a scan of {limit} in a prefix")


@case("R5")
def a_count_goes_no_further_than_its_limit(kit: Kit) -> None:
    kit.keep(READINGS, _all_readings())
    for prefix, held in (
        ((), 24),
        (("a",), 12),
        (("b", 0.5), 4),
        (("b", 0.5, ""), 2),
        (("a", 1.0, "x", -1), 1),
        (("c",), 0),
    ):
        for limit in (1, 2, 3, 11, 12, 13, 24, 25, MAX_LIMIT):
            found = kit.engine.count(READINGS, *prefix, limit=limit)
            checks.equal(found, min(held, limit), f"count{prefix} limit={limit}")


@case("R5")
def a_limit_that_is_no_count_of_rows_is_refused(kit: Kit) -> None:
    for limit in (0, -1, MAX_LIMIT + 1, True, 1.0, "1", None, 2**64):
        for call in (kit.engine.scan, kit.engine.count):
            checks.raises(InvalidArgument, f"limit={limit!r}", call, MARKS, limit=limit, naming=["marks"])
    checks.raises(InvalidArgument, "10,001 keys", kit.engine.get_many, MARKS, [("a",)] * (MAX_LIMIT + 1))


@case("R5")
def pages_put_together_are_the_whole_listing(kit: Kit) -> None:
    rows = _all_readings()
    kit.keep(READINGS, rows)
    for size in (1, 2, 5, 23, 24, 25):
        for prefix, reverse in (((), False), ((), True), (("b",), False), (("a",), True)):
            expected = _range_of(rows, prefix, None, None, None, reverse)
            found: list[Reading] = []
            after: Sequence[Any] | None = None
            for _ in range(len(expected) + 2):
                page = kit.engine.scan(READINGS, *prefix, after=after, limit=size, reverse=reverse)
                found += page
                if len(page) < size:
                    break
                last = page[-1]
                after = (last.station, last.degree, last.name, last.number)[len(prefix) :]
            checks.equal(found, expected, f"pages of {size}, prefix {prefix}, reverse={reverse}")


@case("R5")
def a_cursor_goes_on_when_its_row_is_gone(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", name) for name in "abcdef"])
    page = kit.engine.scan(MEMBERS, "t", limit=3)
    for name in ("b", "c", "d"):
        kit.engine.delete(MEMBERS, "t", name)
    kit.engine.insert(MEMBERS, Member("t", "bb"))
    after = (page[-1].name,)
    checks.equal([m.name for m in kit.engine.scan(MEMBERS, "t", after=after, limit=9)], ["e", "f"], "the next page")
    backwards = kit.engine.scan(MEMBERS, "t", after=after, limit=9, reverse=True)
    checks.equal([m.name for m in backwards], ["bb", "a"], "the next page in reverse")


@case("R5")
def a_half_cursor_is_refused(kit: Kit) -> None:
    full: tuple[Any, ...] = ("a", 1.0, "", 3)
    for after in ((), full[:1], full[:2], full[:3], (*full, 1)):
        checks.raises(InvalidArgument, f"after={after}", kit.engine.scan, READINGS, after=after, limit=1)
    for after in (full, full[2:], ()):
        checks.raises(InvalidArgument, f"after={after}", kit.engine.scan, READINGS, "a", after=after, limit=1)
    checks.raises(InvalidArgument, "a cursor behind a full key", kit.engine.scan, MARKS, "a", after=(), limit=1)
    for name in ("start", "stop"):
        for bound in ((), (*full, 1), "a", b"a"):
            arguments: dict[str, Any] = {name: bound, "limit": 1}
            checks.raises(InvalidArgument, f"{name}={bound!r}", kit.engine.scan, READINGS, **arguments)


@case("R5")
def a_cursor_that_cannot_be_right_is_refused(kit: Kit) -> None:
    epoch = kit.engine.epoch
    good = make_cursor(epoch, READINGS, ["a"], (1.0, "", 3))
    checks.equal(read_cursor(good, epoch, READINGS, ["a"], fixed=1), (1.0, "", 3), "a cursor read back")
    texts = ["", "x", "!", good[:-1], good + "A", good[1:], good.swapcase(), good[::-1], "é" * 20, "A" * 400]
    for text in texts:
        checks.raises(InvalidArgument, f"the cursor {text!r}", read_cursor, text, epoch, READINGS, ["a"], fixed=1)
    checks.raises(InvalidArgument, "of another listing", read_cursor, good, epoch, READINGS, ["b"], fixed=1)
    checks.raises(InvalidArgument, "of another table", read_cursor, good, epoch, PAIRS, ["a"], fixed=1)
    checks.raises(InvalidArgument, "of half a key", read_cursor, good, epoch, READINGS, ["a"], fixed=2)


@case("R5")
def a_log_cursor_belongs_to_its_stream(kit: Kit) -> None:
    for stream in ("s", "S"):
        for _ in range(3):
            LOG.append(kit.engine, stream, make=lambda position, stream=stream: Entry(stream, position))  # type: ignore[misc]
    page = LOG.page(kit.engine, "s", limit=2)
    checks.equal([e.position for e in page.entries], [1, 2], "the first page")
    page = LOG.page(kit.engine, "s", cursor=page.cursor, limit=2)
    checks.equal([e.position for e in page.entries], [3], "the second page")
    again = LOG.page(kit.engine, "s", cursor=page.cursor, limit=2)
    checks.equal((again.entries, again.cursor), ([], page.cursor), "the page behind the last")
    checks.raises(InvalidArgument, "another stream's cursor", LOG.page, kit.engine, "S", cursor=page.cursor, limit=2)
    checks.raises(InvalidArgument, "a cut cursor", LOG.page, kit.engine, "s", cursor=page.cursor[:-2], limit=2)


@case("R5")
def a_cursor_from_before_a_restore_has_expired(kit: Kit) -> None:
    LOG.append(kit.engine, "s", make=lambda position: Entry("s", position))
    page = LOG.page(kit.engine, "s", limit=1)
    # A restore gives the store a new epoch; nothing else of it is needed here.
    kit.engine.put(FACTS, Fact(EPOCH, "0123456789abcdef"))
    restored = kit.reopen() if kit.claims.reopens else kit.another()
    if restored.epoch != "0123456789abcdef":
        raise checks.Unprovable("the engine object under test knew the epoch before, and can't be opened again")
    checks.raises(CursorExpired, "an old cursor", LOG.page, restored, "s", cursor=page.cursor, limit=1)
    checks.equal(len(LOG.page(restored, "s", limit=1).entries), 1, "entries on a page without a cursor")


@case("R3")
def an_epoch_is_the_store_s_and_stays(kit: Kit) -> None:
    epoch = kit.engine.epoch
    checks.true(len(epoch) == 16 and set(epoch) <= set("0123456789abcdef"), f"{epoch!r} is not 16 hex digits")
    checks.equal(kit.another().epoch, epoch, "the epoch as another engine object reads it")
    if kit.claims.reopens:
        checks.equal(kit.reopen().epoch, epoch, "the epoch after reopening")


@case("R3")
def a_table_that_was_never_made_is_a_clear_fault(kit: Kit) -> None:
    for call, args in ((kit.engine.get, ("a",)), (kit.engine.insert, (Mark("a"),))):
        checks.raises(
            StrongroomError, f"{call.__name__} in a table that no schema has", call, NOWHERE, *args, naming=["nowhere"]
        )
    kit.engine.insert(THINGS, Thing("a"))
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a"), "a row afterwards")
