"""K5: values come back exactly as they went in."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import struct
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import READINGS, SAMPLES, Reading, Sample, State
from strongroom.records import MAX_INTEGER

WHOLES: Final = (
    *(0, 1, -1, 127, 128, 255, 256, 32_767, 32_768, 2**31 - 1, 2**31, 2**32, 2**53 - 1, 2**53 + 1),
    *(1_764_439_200_123, MAX_INTEGER, MAX_INTEGER - 1, -MAX_INTEGER),
)

REALS: Final = (
    *(0.0, 1.0, -1.0, 0.1, 0.1 + 0.2, 1 / 3, -2.5, 1e15, 1e16, 1e17, 123456789.123456789, 2.0**53, 2.0**63),
    *(
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        -1.7976931348623157e308,
        1e-7,
        9007199254740993.0,
    ),
)

TEXTS: Final = (
    *(
        "",
        " ",
        "  a  ",
        "a ",
        "\t",
        "\n",
        "\r\n",
        "a\r\nb",
        "\x01\x02\x7f",
        "\x1b[31m",
        "0",
        "007",
        "1.0",
        "1e5",
        "0x41",
    ),
    *("null", "NULL", "true", "NaN", "'; DROP TABLE samples; --", '"', "\\", "\\n", "%s", "{}", "?1", "$1", ":name"),
    *("é", "e\u0301", "\u00a0", "\u200b", "\u2028", "\ufeff", "\ufffe", "\uffff", "\ue000", "\U0001f3a9", "\U0010ffff"),
    *("עברית", "日本語", "\u202eright to left", "a" * 5000, "\U0001f469\u200d\U0001f469\u200d\U0001f467"),
)

JSONS: Final = (
    *("{}", "[]", "null", '""', "0", "-0", "1.0", "1.00", "1e2", "1E+2", " {} ", '{ "b" : 1, "a" : 2 }'),
    *('{"a":1,"a":2}', '{"b":1,"a":2}', '"\\u00e9"', '"é"', '"\\/"', "[1,\n2]", "12345678901234567890123", "0.1e-400"),
)
"""Texts that a database's own JSON type would reorder, merge, trim, round or respell."""


def _kept(kit: Kit, samples: list[Sample]) -> None:
    """Each sample comes back in every kind of read, however it was written."""
    kit.keep(SAMPLES, samples[:-1])
    kit.engine.put(SAMPLES, samples[-1])
    for sample in samples:
        checks.equal(kit.engine.get(SAMPLES, sample.name), sample, "get")
    ordered = sorted(samples, key=lambda sample: sample.name.encode())
    checks.equal(kit.engine.scan(SAMPLES, limit=1000), ordered, "a scan")
    checks.equal(kit.engine.get_many(SAMPLES, [(s.name,) for s in samples]), samples, "get_many")
    checks.equal(kit.engine.read(lambda reader: reader.scan(SAMPLES, limit=1000)), ordered, "a snapshot's scan")


@case("K5")
def integers_come_back_exactly(kit: Kit) -> None:
    _kept(kit, [Sample(f"s{i}", whole=n, maybe_whole=-n) for i, n in enumerate(WHOLES)])


@case("K5")
def floats_come_back_to_the_last_bit(kit: Kit) -> None:
    kit.keep(SAMPLES, [Sample(f"s{number}", real=real, maybe_real=real) for number, real in enumerate(REALS)])
    for number, real in enumerate(REALS):
        found = kit.engine.get(SAMPLES, f"s{number}")
        for kept in (found and found.real, found and found.maybe_real):
            checks.true(type(kept) is float, f"{real!r} came back as {kept!r}")
            checks.equal(struct.pack(">d", kept), struct.pack(">d", real), f"the bits of {real!r}")


@case("K5")
def a_whole_number_in_a_real_column_comes_back_as_a_float(kit: Kit) -> None:
    kit.engine.put(SAMPLES, Sample("s", real=3, maybe_real=2**60))
    found = kit.engine.get(SAMPLES, "s")
    checks.equal(found and (repr(found.real), repr(found.maybe_real)), ("3.0", repr(2.0**60)), "3 and 2**60")
    kit.engine.insert(READINGS, Reading("s", 2, "n", 1))
    reading = kit.engine.get(READINGS, "s", 2.0, "n", 1)
    checks.equal(reading and repr(reading.degree), "2.0", "a key of 2")


@case("K5")
def texts_come_back_exactly(kit: Kit) -> None:
    _kept(kit, [Sample(f"s{i}", text=t, maybe_text=t[:20], secret=t[:20]) for i, t in enumerate(TEXTS)])


@case("K5")
def every_byte_comes_back(kit: Kit) -> None:
    blobs = [
        b"",
        b"\0",
        b"\0\0",
        b"a\0b",
        bytes(range(256)),
        bytes(reversed(range(256))),
        b"\xff" * 100,
        b"0x41",
        b"\x80",
    ]
    _kept(kit, [Sample(f"s{i}", blob=blob, maybe_blob=blob[:100]) for i, blob in enumerate(blobs)])


@case("K5")
def a_json_text_keeps_its_exact_bytes(kit: Kit) -> None:
    _kept(kit, [Sample(f"s{i}", json=text) for i, text in enumerate(JSONS)])


@case("K5")
def a_document_comes_back_equal_whatever_is_in_it(kit: Kit) -> None:
    documents: list[dict[str, Any]] = [
        {},
        {"": ""},
        {"a": None},
        {"a": "null"},
        {"b": 1, "a": 2},
        {"a": 2**63 - 1, "b": -(2**63)},
        {"é": "e\u0301", "\U0001f3a9": "\u2028</script>", " ": '\\ " / \b\f\n\r\t'},
        {f"key {i}": i for i in range(300)},
    ]
    _kept(kit, [Sample(f"s{i}", document=document) for i, document in enumerate(documents)])


@case("K5")
def nothing_and_the_emptiest_value_are_told_apart(kit: Kit) -> None:
    empty = Sample(
        "empty", maybe_whole=0, maybe_real=0.0, maybe_flag=False, maybe_text="", maybe_blob=b"", maybe_document={}
    )
    _kept(kit, [empty, Sample("nothing")])
    found = kit.engine.get(SAMPLES, "empty")
    checks.same(found and found.maybe_flag, False, "a nullable False")
    checks.true(found and type(found.maybe_whole) is int, "a nullable 0 is an int")


@case("K5")
def flags_and_enumerations_come_back_as_what_they_were(kit: Kit) -> None:
    samples = [Sample(f"s{i}", state=state, flag=i % 2 == 0, maybe_flag=i % 2 == 1) for i, state in enumerate(State)]
    _kept(kit, samples)
    for sample in samples:
        found = kit.engine.get(SAMPLES, sample.name)
        checks.same(found and found.state, sample.state, f"the state {sample.state.name}")
        checks.same(found and found.flag, sample.flag, "a flag")


@case("K5", reopens=True)
def values_come_back_exactly_after_the_store_was_opened_again(kit: Kit) -> None:
    samples = [Sample(f"s{i}", text=t, json=JSONS[i % len(JSONS)], blob=bytes([i])) for i, t in enumerate(TEXTS)]
    samples += [Sample(f"n{i}", whole=n, real=REALS[i]) for i, n in enumerate(WHOLES)]
    kit.keep(SAMPLES, samples)
    engine = kit.reopen()
    ordered = sorted(samples, key=lambda sample: sample.name.encode())
    checks.equal(engine.scan(SAMPLES, limit=1000), ordered, "the rows after reopening")
