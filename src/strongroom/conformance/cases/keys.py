"""K1, K2 and K4: which keys are one key, how long a text may be, and what is refused at the edge."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import math
import random
import string
from collections.abc import Callable
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    ACCOUNTS,
    ENTRIES,
    PAIRS,
    READINGS,
    SAMPLES,
    THINGS,
    WIDES,
    Entry,
    Pair,
    Reading,
    Sample,
    Thing,
    Wide,
)
from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.records import MAX_INTEGER

ALIKE: Final = (
    *("a", "A", "a ", " a", "aa", "a\u0301", "\u00e1", "\U0001f3a9", "\U0001f4a5"),
    *("ss", "ß", "ẞ", "SS", "fi", "ﬁ", "i", "I", "İ", "ı", "K", "\u212a"),
    *("1", "01", "1.0", "+1", "1e0", "%", "_", "a%", "a_", "\\", "'", '"', "a\x01", "a\x7f", "a\u00a0", "a\u200b"),
    *("null", "NULL", "None", "true", "e", "é", "e\u0301", "\ufeffa", "\u3042", "\u30a2", "\uff71", "\ufffd"),
)
"""Texts that collations, trimmings, case foldings, normal forms, patterns or number affinities take for one another."""


@case("K1")
def keys_that_look_alike_are_different_keys(kit: Kit) -> None:
    kit.keep(THINGS, [Thing(name, number) for number, name in enumerate(ALIKE)])
    for number, name in enumerate(ALIKE):
        checks.equal(kit.engine.get(THINGS, name), Thing(name, number), f"the row under {name!r}")
    checks.equal(kit.engine.count(THINGS, limit=1000), len(ALIKE), "rows")


@case("K1")
def keys_that_look_alike_are_different_in_a_second_column_too(kit: Kit) -> None:
    kit.keep(PAIRS, [Pair("one", name, number) for number, name in enumerate(ALIKE)])
    for number, name in enumerate(ALIKE):
        checks.equal(kit.engine.get(PAIRS, "one", name), Pair("one", name, number), f"the row under {name!r}")


@case("K1")
def a_change_reaches_only_the_key_that_it_names(kit: Kit) -> None:
    for name in ("a", "A", "a ", "aa"):
        kit.engine.insert(THINGS, Thing(name, 1, name))
        kit.engine.put(PAIRS, Pair(name, "", 1))
    kit.engine.update(THINGS, Thing("A", 2, "changed"), expect=1)
    checks.true(kit.engine.delete(PAIRS, "A", ""), "the row under 'A' was there to be deleted")
    checks.equal(
        kit.engine.get_many(THINGS, [("a",), ("A",), ("a ",), ("aa",)]),
        [Thing("a", 1, "a"), Thing("A", 2, "changed"), Thing("a ", 1, "a "), Thing("aa", 1, "aa")],
        "the rows after an update of 'A'",
    )
    checks.equal(
        kit.engine.scan(PAIRS, limit=10),
        [Pair("a", "", 1), Pair("a ", "", 1), Pair("aa", "", 1)],
        "the rows after the deletion of 'A'",
    )


@case("K1")
def a_prefix_is_whole_values_and_not_the_beginnings_of_texts(kit: Kit) -> None:
    firsts = ("", "a", "A", "a ", "ab", "a\x01", "a/b", "a%")
    kit.keep(PAIRS, [Pair(first, second, len(first)) for first in firsts for second in ("", "x")])
    for first in ("", "a", "A", "a "):
        checks.equal(
            kit.engine.scan(PAIRS, first, limit=10),
            [Pair(first, "", len(first)), Pair(first, "x", len(first))],
            f"a scan of {first!r}",
        )
        checks.equal(kit.engine.count(PAIRS, first, limit=10), 2, f"a count of {first!r}")


@case("K1")
def where_one_key_column_ends_another_begins(kit: Kit) -> None:
    pairs = [Pair("a", "bc"), Pair("ab", "c"), Pair("abc", ""), Pair("", "abc"), Pair("a\x01", "b"), Pair("a", "\x01b")]
    kit.keep(PAIRS, pairs)
    for pair in pairs:
        checks.equal(kit.engine.get(PAIRS, pair.first, pair.second), pair, "a row of a key in two parts")
    checks.equal(kit.engine.count(PAIRS, limit=100), len(pairs), "rows")


@case("K2")
def a_text_may_have_exactly_as_many_bytes_as_its_limit(kit: Kit) -> None:
    for text in ("x" * 12, "é" * 6, "\u20ac" * 4, "\U0001f3a9" * 3):
        for way, port in kit.ways():
            port.put(SAMPLES, Sample("s", word=text))
            found = kit.engine.get(SAMPLES, "s")
            checks.equal(found and found.word, text, f"{len(text)} characters in 12 bytes, written in {way}")
    for text in ("x" * 13, "é" * 6 + "x", "\u20ac" * 4 + "x", "\U0001f3a9" * 3 + "x", "é" * 12):
        for way, port in kit.ways():
            record = Sample("s", word=text)
            what = f"{len(text)} characters in {len(text.encode())} bytes, written in {way}"
            checks.raises(InvalidArgument, what, port.put, SAMPLES, record, naming=["samples.word"])
    found = kit.engine.get(SAMPLES, "s")
    checks.equal(found and found.word, "\U0001f3a9" * 3, "the row after all that was refused")


@case("K2")
def a_key_may_have_exactly_as_many_bytes_as_its_limit(kit: Kit) -> None:
    longest = ["x" * 255, "x" * 254 + "y", "é" * 127 + "z", "\U0001f3a9" * 63 + "abc"]
    for number, name in enumerate(longest):
        kit.engine.insert(THINGS, Thing(name, number))
    for number, name in enumerate(longest):
        checks.equal(kit.engine.get(THINGS, name), Thing(name, number), f"the row of a key of {len(name)} characters")
    checks.equal([t.name for t in kit.engine.scan(THINGS, limit=10)], sorted(longest, key=str.encode), "their order")


@case("K2")
def the_widest_key_is_kept_whole_and_in_its_order(kit: Kit) -> None:
    mixed = random.Random(1)

    def text(size: int) -> str:
        # Of a kind that no database can compress.
        return "".join(mixed.choices(string.ascii_letters + string.digits, k=size - 2)) + "é"

    build, unit, queue, task = text(1024), text(1024), text(255), text(255)
    kinds = sorted((text(28) for _ in range(5)), key=str.encode)
    keys = [(build, unit, queue, task, kind) for kind in kinds]
    for number in (3, 0, 4, 1, 2):
        kit.engine.put(WIDES, Wide(*keys[number], number))
    for number, key in enumerate(keys):
        checks.equal(kit.engine.get(WIDES, *key), Wide(*key, number), "the row under a wide key")
    for prefix in ((), (build,), (build, unit, queue, task)):
        found = [wide.number for wide in kit.engine.scan(WIDES, *prefix, limit=9)]
        checks.equal(found, [0, 1, 2, 3, 4], f"the rows in order, {len(prefix)} of their key's columns given")
    after = kit.engine.scan(WIDES, after=keys[1], limit=9)
    checks.equal([wide.number for wide in after], [2, 3, 4], "the rows behind a wide key")
    checks.true(kit.engine.delete(WIDES, *keys[2]), "the row under a wide key was there to be deleted")
    checks.equal(kit.engine.get_many(WIDES, keys[1:4:2]), [Wide(*keys[1], 1), Wide(*keys[3], 3)], "its neighbours")


@case("K2")
def a_key_over_its_limit_is_refused_in_reads_as_in_writes(kit: Kit) -> None:
    engine, long = kit.engine, "é" * 127 + "xx"
    calls: dict[str, Callable[[], object]] = {
        "insert": lambda: engine.insert(THINGS, Thing(long)),
        "update": lambda: engine.update(THINGS, Thing(long), expect=1),
        "get": lambda: engine.get(THINGS, long),
        "get_many": lambda: engine.get_many(THINGS, [("a",), (long,)]),
        "count": lambda: engine.count(THINGS, long, limit=1),
        "prefix": lambda: engine.scan(THINGS, long, limit=1),
        "start": lambda: engine.scan(THINGS, start=(long,), limit=1),
        "stop": lambda: engine.scan(THINGS, stop=(long,), limit=1),
        "after": lambda: engine.scan(THINGS, after=(long,), limit=1),
        "delete": lambda: engine.delete(PAIRS, "x" * 65, ""),
    }
    for operation, call in calls.items():
        table = "pairs.first" if operation == "delete" else "things.name"
        checks.raises(InvalidArgument, operation, call, naming=[table], hiding=[long])


@case("K2")
def nothing_is_cut_short_however_long_it_may_be(kit: Kit) -> None:
    for size in (1, 255, 256, 4096, 65_534, 65_535):
        sample = Sample("s", text="é" * (size // 2) + "x" * (size % 2), blob=bytes(i % 251 for i in range(size)))
        kit.engine.put(SAMPLES, sample)
        found = kit.engine.get(SAMPLES, "s")
        checks.true(found == sample, f"a text and a blob of {size} bytes came back changed")
    for excess in (
        Sample("s", text="x" * 65_536),
        Sample("s", blob=bytes(65_536)),
        Sample("s", json='"' + "x" * 65_535),
    ):
        checks.raises(InvalidArgument, "65,536 bytes in 65,535", kit.engine.put, SAMPLES, excess)


UNFIT: Final[tuple[tuple[str, Any], ...]] = (
    *(("whole", value) for value in (True, 1.0, "1", None, 2**63, -(2**63), MAX_INTEGER + 1)),
    *(("small", value) for value in (11, -11, False)),
    *(("real", value) for value in (math.nan, math.inf, -math.inf, True, "1", None, 2**53 + 1, 10**400)),
    *(("flag", value) for value in (1, 0, "true", None)),
    *(("state", value) for value in ("Open", "open ", "shut", 1, None)),
    *(("text", value) for value in ("a\0b", "\0", "\ud800", "a\udfff", b"bytes", 1, None)),
    *(("word", value) for value in ("", "\0", "\udc00", None)),
    *(("blob", value) for value in ("text", bytearray(b"a"), None)),
    *(("json", value) for value in ("", "{", "{}x", "'a'", "\ud800", '{"a":1,}', None, {"a": 1})),
    *(("document", value) for value in ({"a": 1.5}, {1: 1}, [1], {"a": object()}, {"a": "\0"}, {"a": "\ud800"}, None)),
    *(("secret", value) for value in ("hunter2\0", "hunter2\ud800", "hunter2" * 20)),
    *(("maybe_whole", value) for value in (True, 2**63, "1")),
    *(("maybe_real", value) for value in (math.nan, "1")),
    *(("maybe_text", value) for value in ("\0", 1)),
    *(("name", value) for value in ("", "a\0", "\ud83c", 1, None)),
)


@case("K4")
def a_value_that_its_column_cannot_hold_is_refused_by_name(kit: Kit) -> None:
    kit.engine.put(SAMPLES, Sample("s", text="kept"))
    for column, value in UNFIT:
        bad = Sample("s").replace(**{column: value})
        for way, port in kit.ways():
            fault = checks.raises(
                InvalidArgument,
                f"{value!r} in {column}, written in {way}",
                port.put,
                SAMPLES,
                bad,
                naming=[f"samples.{column}"],
                hiding=["hunter2"],
            )
            checks.true(isinstance(fault, ValueError), "InvalidArgument is also a ValueError")
    checks.equal(kit.engine.scan(SAMPLES, limit=10), [Sample("s", text="kept")], "the rows after all that was refused")


@case("K4")
def a_key_that_its_columns_cannot_hold_is_refused_by_name(kit: Kit) -> None:
    engine = kit.engine
    for value in ("", "a\0", "\ud800", b"a", 1, None, True):
        checks.raises(InvalidArgument, repr(value), engine.get, THINGS, value, naming=["things.name"])
        start = f"start={value!r}"
        checks.raises(InvalidArgument, start, engine.scan, THINGS, start=(value,), limit=1, naming=["things.name"])
    for number in (True, 1.0, "1", 2**63, None):
        key = ("s", 0.5, "n", number)
        checks.raises(InvalidArgument, repr(key), engine.get, READINGS, *key, naming=["readings.number"])
    for degree in (math.nan, math.inf, "0", True):
        bound, named = (degree,), ["readings.degree"]
        checks.raises(InvalidArgument, repr(bound), engine.scan, READINGS, "s", start=bound, limit=1, naming=named)
    for position in (0, -1, 2**63):
        entry = Entry("s", position)
        checks.raises(InvalidArgument, repr(entry), engine.insert, ENTRIES, entry, naming=["entries.position"])


@case("K4")
def a_key_with_too_few_or_too_many_values_is_refused(kit: Kit) -> None:
    engine = kit.engine
    for key in ((), ("a",), ("a", "b", "c")):
        checks.raises(InvalidArgument, f"get of {key}", engine.get, PAIRS, *key, naming=["pairs"])
        checks.raises(InvalidArgument, f"get_many of {key}", engine.get_many, PAIRS, [key])
        checks.raises(InvalidArgument, f"delete of {key}", engine.delete, PAIRS, *key)
    checks.raises(InvalidArgument, "a prefix of three", engine.scan, PAIRS, "a", "b", "c", limit=1, naming=["pairs"])
    checks.raises(InvalidArgument, "a count of three", engine.count, PAIRS, "a", "b", "c", limit=1)


@case("K4")
def a_record_of_another_table_is_refused(kit: Kit) -> None:
    wrong: Any = Pair("a", "b")
    for way, port in kit.ways():
        checks.raises(InvalidArgument, f"a Pair into things in {way}", port.insert, THINGS, wrong, naming=["things"])
        checks.raises(InvalidArgument, f"a Pair over an account in {way}", port.update, ACCOUNTS, wrong, expect=1)


@case("K4")
def negative_zero_is_kept_as_zero(kit: Kit) -> None:
    engine = kit.engine
    engine.put(SAMPLES, Sample("s", real=-0.0, maybe_real=-0.0))
    found = engine.get(SAMPLES, "s")
    checks.true(found is not None and math.copysign(1, found.real) == 1.0, "-0.0 came back as -0.0")
    checks.true(found and math.copysign(1, found.maybe_real or 0.0) == 1.0, "a nullable -0.0 came back as -0.0")
    engine.insert(READINGS, Reading("s", -0.0, "n", 1))
    checks.equal(
        engine.get(READINGS, "s", 0.0, "n", 1), Reading("s", 0.0, "n", 1), "the key 0.0 after an insert of -0.0"
    )
    checks.raises(AlreadyExists, "0.0 beside -0.0", engine.insert, READINGS, Reading("s", 0.0, "n", 1))
    checks.equal(len(engine.scan(READINGS, "s", -0.0, limit=5)), 1, "rows under the prefix -0.0")


@case("K4")
def an_empty_text_is_a_key_only_where_it_is_declared(kit: Kit) -> None:
    kit.engine.put(PAIRS, Pair("", "", 7))
    checks.equal(kit.engine.get(PAIRS, "", ""), Pair("", "", 7), "the row of two empty texts")
    checks.equal(kit.engine.scan(PAIRS, "", limit=2), [Pair("", "", 7)], "a scan of the empty prefix value")
    checks.raises(InvalidArgument, "an empty name", kit.engine.insert, THINGS, Thing(""), naming=["things.name"])
