"""K3: the order of keys."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import random
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import EVENTS, PAIRS, READINGS, THINGS, Event, Pair, Reading, Thing
from strongroom.records import MAX_INTEGER

NAMES: Final = (
    *("0", "10", "9", "A", "B", "Z", "a", "a\x01", "a ", "a-b", "a.b", "a/b", "aa", "b", "z", "~", "\x7f"),
    *("é", "e\u0301", "\u07ff", "\u0800", "\u3042", "\ud7ff", "\ue000", "\uff5a", "\uffff", "\U0001f3a9", "\U0010ffff"),
)
"""Their byte order is neither that of any collation nor that of UTF-16, where U+1F3A9 stands before U+FF5A."""


def _shuffled(values: Any) -> list[Any]:
    mixed = list(values)
    random.Random(7).shuffle(mixed)
    return mixed


@case("K3")
def texts_are_ordered_by_their_bytes(kit: Kit) -> None:
    kit.keep(THINGS, [Thing(name) for name in _shuffled(NAMES)])
    expected = sorted(NAMES, key=str.encode)
    checks.equal([t.name for t in kit.engine.scan(THINGS, limit=100)], expected, "a scan")
    backwards = kit.engine.scan(THINGS, limit=100, reverse=True)
    checks.equal([t.name for t in backwards], expected[::-1], "a scan in reverse")


@case("K3")
def columns_are_compared_one_after_the_other_and_the_empty_text_is_first(kit: Kit) -> None:
    pairs = [
        Pair(first, second) for first in ("", "a", "a\x01", "aa", "é", "b") for second in ("", "9", "10", "z", "ä")
    ]
    kit.keep(PAIRS, _shuffled(pairs))
    pairs.sort(key=lambda pair: (pair.first.encode(), pair.second.encode()))
    checks.equal(kit.engine.scan(PAIRS, limit=100), pairs, "a scan")
    checks.equal(kit.engine.scan(PAIRS, limit=100, reverse=True), pairs[::-1], "a scan in reverse")


def reading_key(reading: Reading) -> tuple[bytes, float, bytes, int]:
    """What readings are ordered by: station, greatest degree, name, greatest number."""
    return reading.station.encode(), -reading.degree, reading.name.encode(), -reading.number


@case("K3")
def each_column_keeps_the_direction_that_it_declares(kit: Kit) -> None:
    readings = [
        Reading(station, degree, name, number)
        for station in ("a", "b")
        for degree in (-1.5, 0.0, 0.25, 1.0)
        for name in ("", "x", "y")
        for number in (-1, 0, 2)
    ]
    # The other column rises as the rows come in, and falls with the key.
    kit.keep(READINGS, [reading.replace(weight=weight) for weight, reading in enumerate(_shuffled(readings))])
    readings.sort(key=reading_key)
    found = [r.replace(weight=0) for r in kit.engine.scan(READINGS, limit=1000)]
    checks.equal(found, readings, "a scan")
    found = [r.replace(weight=0) for r in kit.engine.scan(READINGS, "b", limit=1000, reverse=True)]
    checks.equal(found, [r for r in reversed(readings) if r.station == "b"], "a scan of one station in reverse")


@case("K3")
def integers_are_ordered_as_numbers_down_to_the_least(kit: Kit) -> None:
    numbers = [0, 1, -1, 9, 10, 255, 256, -256, 2**31, -(2**31) - 1, 2**53 + 1, 2**53, MAX_INTEGER, -MAX_INTEGER]
    kit.keep(READINGS, [Reading("s", 0.0, "n", number) for number in numbers])
    found = [r.number for r in kit.engine.scan(READINGS, "s", 0.0, "n", limit=100)]
    checks.equal(found, sorted(numbers, reverse=True), "numbers, greatest first")


@case("K3")
def reals_are_ordered_as_numbers_down_to_the_last_bit(kit: Kit) -> None:
    degrees = [0.0, 5e-324, -5e-324, 0.1, 0.1 + 0.2, 0.3, 1.0, -1.0, 1e300, -1e300, 1e16, 1e16 + 2, 9.0, 10.0, -0.5]
    kit.keep(READINGS, [Reading("s", degree, "n", 1) for degree in degrees])
    found = [r.degree for r in kit.engine.scan(READINGS, "s", limit=100)]
    checks.equal(found, sorted(degrees, reverse=True), "degrees, greatest first")


@case("K3")
def the_order_stays_when_rows_come_and_go(kit: Kit) -> None:
    mixed = random.Random(11)
    held: dict[tuple[Any, ...], Reading] = {}
    for _ in range(80):
        reading = Reading(mixed.choice("ab"), mixed.choice((0.5, 1.0)), mixed.choice(("", "x")), mixed.randrange(8))
        key = (reading.station, reading.degree, reading.name, reading.number)
        if key in held:
            checks.true(kit.engine.delete(READINGS, *key), "a row that is held can be deleted")
            del held[key]
        else:
            kit.engine.insert(READINGS, reading)
            held[key] = reading
    checks.equal(kit.engine.scan(READINGS, limit=1000), sorted(held.values(), key=reading_key), "what is left")


@case("K3")
def within_a_scope_each_column_keeps_its_direction_too(kit: Kit) -> None:
    tenants, times = ("a", "a\x01", "aa", "é"), (0, 1, 255, 256, 2**40, MAX_INTEGER)
    events = [Event(tenant, at, name) for tenant in tenants for at in times for name in ("", "x", "é")]
    kit.keep(EVENTS, _shuffled(events))
    events.sort(key=lambda event: (event.tenant.encode(), -event.at, event.name.encode()))
    checks.equal(kit.engine.scan(EVENTS, limit=100), events, "a scan over all scopes")
    for tenant in tenants:
        own = [event for event in events if event.tenant == tenant]
        checks.equal(kit.engine.scan(EVENTS, tenant, limit=100), own, "a scan of one scope")
        checks.equal(kit.engine.scan(EVENTS, tenant, limit=100, reverse=True), own[::-1], "a scan in reverse")
        checks.equal(kit.engine.scan(EVENTS, tenant, 256, limit=100), own[6:9], "a scan of one moment")
        checks.equal(kit.engine.scan(EVENTS, tenant, start=(256,), stop=(0,), limit=100), own[6:15], "a scan of a time")
        for place, event in enumerate(own):
            after = (event.at, event.name)
            found = kit.engine.scan(EVENTS, tenant, after=after, limit=2)
            checks.equal(found, own[place + 1 : place + 3], "the page behind a row")
            found = kit.engine.scan(EVENTS, tenant, after=after, limit=2, reverse=True)
            checks.equal(found, own[max(0, place - 2) : place][::-1], "the page behind a row, in reverse")
