"""Keys, kinds and their bytes with one safeguard broken (K1 to K5)."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import msgspec

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.records import keys, kinds
from strongroom.records.codec import RowCodec
from strongroom.records.kinds import Document, Integer, Json, OneOf, Real, Unfit
from strongroom.records.quick import QuickCheck
from strongroom.records.record import Column
from strongroom.records.table import Key, KeyColumn, Table

MEMORY = Ground.MEMORY


@mutant("K1", on=MEMORY)
def keys_ignore_the_case_of_letters(patch: Patches) -> None:
    """Two keys are one if they differ in the case of letters only."""
    encode = keys._encode_part

    def folded(value: Any, part: KeyColumn) -> bytes:
        return encode(value.lower() if isinstance(value, str) else value, part)

    patch.function(encode, folded)


@mutant("K1", on=MEMORY)
def keys_ignore_trailing_spaces(patch: Patches) -> None:
    """Two keys are one if they differ in spaces at their ends only."""
    encode = keys._encode_part

    def trimmed(value: Any, part: KeyColumn) -> bytes:
        return encode(value.rstrip(" ") if isinstance(value, str) else value, part)

    patch.function(encode, trimmed)


@mutant("K1", on=MEMORY)
def keys_are_cut_short(patch: Patches) -> None:
    """Of a long text only the beginning makes up the key, as in an index of a fixed width."""
    encode = keys._encode_part

    def cut(value: Any, part: KeyColumn) -> bytes:
        return encode(value[:100] if isinstance(value, str) else value, part)

    patch.function(encode, cut)


@mutant("K1", on=MEMORY)
def key_columns_run_together(patch: Patches) -> None:
    """Nothing marks where one text of a key ends and the next begins."""
    encode = keys._encode_part

    def unmarked(value: Any, part: KeyColumn) -> bytes:
        return encode(value, part)[: -1 if isinstance(value, str) and value else None]

    patch.function(encode, unmarked)


@mutant("K3", on=MEMORY)
def descending_ignored(patch: Patches) -> None:
    """Every key column is kept in ascending order, whatever it declares."""
    encode = keys._encode_part
    patch.function(encode, lambda value, part: encode(value, KeyColumn(part.column, part.index, False)))


@mutant("K3", on=MEMORY)
def integers_are_ordered_as_texts(patch: Patches) -> None:
    """In a key 10 stands before 9."""
    encode = keys._encode_part
    patch.function(encode, lambda value, part: encode(str(value) if type(value) is int else value, part))


@mutant("K3", on=MEMORY)
def reals_of_a_key_are_rounded(patch: Patches) -> None:
    """A key keeps its reals in single precision only."""
    encode = keys._encode_part

    def rounded(value: Any, part: KeyColumn) -> bytes:
        single = isinstance(value, float) and abs(value) < 1e38
        return encode(float(f"{value:.7g}") if single else value, part)

    patch.function(encode, rounded)


@mutant("K3", on=MEMORY)
def texts_are_ordered_by_utf_16(patch: Patches) -> None:
    """Keys are ordered as Java and JavaScript compare texts."""
    encode = keys._encode_part

    def units(value: Any, part: KeyColumn) -> bytes:
        if not isinstance(value, str):
            return encode(value, part)
        plain = value.encode("utf-16-be") + b"\0\0"
        return bytes(255 - byte for byte in plain) if part.descending else plain

    patch.function(encode, units)


@mutant("K2", on=MEMORY)
def limits_count_characters(patch: Patches) -> None:
    """A limit counts the characters of a text, not its bytes."""

    check = kinds._checked_text

    def counted(value: Any, max_bytes: int, empty: bool) -> str:
        more = len(value.encode("utf-8", "ignore")) - len(value) if isinstance(value, str) else 0
        return check(value, max_bytes + more, empty)

    patch.function(check, counted)


@mutant("K2", on=MEMORY)
def limits_off_by_one(patch: Patches) -> None:
    """A text may not be quite as long as its limit says."""
    check = kinds._checked_text
    patch.function(check, lambda value, max_bytes, empty: check(value, max_bytes - 1, empty))


@mutant("K2", on=MEMORY)
def long_texts_are_cut(patch: Patches) -> None:
    """A text over its limit is kept up to the limit."""
    check = kinds._checked_text

    def cut(value: Any, max_bytes: int, empty: bool) -> str:
        if isinstance(value, str) and "\0" not in value:
            value = value.encode("utf-8", "ignore")[:max_bytes].decode("utf-8", "ignore")
        return check(value, max_bytes, empty)

    patch.function(check, cut)


@mutant("K2", on=MEMORY)
def limits_are_not_checked_on_reads(patch: Patches) -> None:
    """The key of a read may be as long as it likes."""

    store_key = Table.store_key

    def lenient(self: Any, key: Sequence[Any], *, partial: bool = False) -> Key:
        stored = store_key(self, [part[:1] if isinstance(part, str) else part for part in key], partial=partial)
        return tuple(part if isinstance(part, str) else kept for part, kept in zip(key, stored, strict=True))

    patch.method(Table, "store_key", lenient)


@mutant("K4", on=MEMORY)
def nul_accepted(patch: Patches) -> None:
    """A text may hold NUL, behind which many a database and tool sees nothing."""

    def lenient(value: Any, max_bytes: int, empty: bool) -> str:
        if isinstance(value, str) and "\0" in value:
            check(value.replace("\0", "0"), max_bytes, empty)
            return str.__str__(value)
        return check(value, max_bytes, empty)

    check = kinds._checked_text
    patch.function(check, lenient)


@mutant("K4", on=MEMORY)
def lone_surrogates_replaced(patch: Patches) -> None:
    """Half a character is kept as a question mark."""

    def lenient(value: Any, max_bytes: int, empty: bool) -> str:
        if isinstance(value, str):
            value = value.encode("utf-8", "replace").decode()
        return check(value, max_bytes, empty)

    check = kinds._checked_text
    patch.function(check, lenient)


@mutant("K4", on=MEMORY)
def empty_text_accepted(patch: Patches) -> None:
    """A text may be empty whether that was declared or not."""
    check = kinds._checked_text
    patch.function(check, lambda value, max_bytes, _empty: check(value, max_bytes, True))


@mutant("K4", on=MEMORY)
def bool_taken_for_an_integer(patch: Patches) -> None:
    """True is kept as 1 where an integer is meant."""
    store = Integer.store
    patch.method(Integer, "store", lambda self, value: store(self, int(value) if type(value) is bool else value))


@mutant("K4", on=MEMORY)
def integers_of_64_bits_accepted(patch: Patches) -> None:
    """An integer column takes what no signed 64 bits hold, and keeps what is left of it."""
    store = Integer.store

    def wrapped(self: Integer, value: Any) -> Any:
        if type(value) is int and not -(2**63) < value < 2**63:
            value = (value + 2**63) % 2**64 - 2**63
            value = max(value, 1 - 2**63)
        return store(self, value)

    patch.method(Integer, "store", wrapped)


@mutant("K4", on=MEMORY)
def nan_accepted(patch: Patches) -> None:
    """A real may be no number at all."""
    store = Real.store

    def lenient(self: Real, value: Any) -> Any:
        return value if type(value) is float and math.isnan(value) else store(self, value)

    patch.method(Real, "store", lenient)


@mutant("K4", on=MEMORY)
def negative_zero_kept(patch: Patches) -> None:
    """-0.0 is kept as it is, and as a key beside 0.0."""
    store = Real.store

    def exact(self: Real, value: Any) -> Any:
        return value if type(value) is float and value == 0 else store(self, value)

    patch.method(Real, "store", exact)


@mutant("K4", on=MEMORY)
def zeros_pass_the_quick_check(patch: Patches) -> None:
    """The quick check of a row takes a negative zero for an ordinary real."""

    def stored(self: Any, fields: tuple[Any, ...]) -> Any:
        if any(type(fields[i]) is not float for i in self._reals):
            return None
        return [str.__str__(value) if i in self._enums else value for i, value in enumerate(fields)]

    patch.method(QuickCheck, "stored", stored)


@mutant("K4", on=MEMORY)
def sensitive_values_shown(patch: Patches) -> None:
    """The message about a text that does not fit shows it, whatever its column."""

    check = kinds._checked_text

    def telling(value: Any, max_bytes: int, empty: bool) -> str:
        try:
            return check(value, max_bytes, empty)
        except Unfit as problem:
            raise Unfit(f"{problem}: {value!r}") from None

    patch.function(check, telling)


@mutant("K4", on=MEMORY)
def record_of_another_table_accepted(patch: Patches) -> None:
    """Whether a record is of the table's type is not looked at, as long as its fields do."""
    encode = RowCodec.encode

    def lenient(self: Any, record: Any) -> Any:
        if type(record) is not self.table.record:
            record = self.table.record(*msgspec.structs.astuple(record)[: len(self.table.columns)])
        return encode(self, record)

    patch.method(RowCodec, "encode", lenient)


@mutant("K5", on=MEMORY)
def json_written_anew(patch: Patches) -> None:
    """A JSON text is kept as the database would write it, not as it came."""
    store = Json.store

    def anew(self: Json, value: Any) -> Any:
        text = str(store(self, value))
        return json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True)

    patch.method(Json, "store", anew)


@mutant("K5", on=MEMORY)
def empty_document_kept_as_nothing(patch: Patches) -> None:
    """An empty document in a nullable column comes back as nothing."""
    store = Column.store
    patch.method(Column, "store", lambda self, value: None if self.nullable and value == {} else store(self, value))


@mutant("K5", on=MEMORY)
def texts_normalized(patch: Patches) -> None:
    """A text is brought into the composed normal form before it is kept."""

    def composed(value: Any, max_bytes: int, empty: bool) -> str:
        return unicodedata.normalize("NFC", check(value, max_bytes, empty))

    check = kinds._checked_text
    patch.function(check, composed)


@mutant("K5", on=MEMORY)
def enumeration_ignores_the_case_of_letters(patch: Patches) -> None:
    """A value of an enumeration is looked up by its text in small letters."""

    def folded(self: OneOf, value: Any) -> Any:
        text = str(store(self, value))
        return next(member.value for member in self.enum if member.value.lower() == text.lower())

    store = OneOf.store
    patch.method(OneOf, "store", folded)


@mutant("W3", "W2", on=MEMORY)
def document_kept_in_the_order_it_came_in(patch: Patches) -> None:
    """Two equal documents are kept as different texts, and a guard made of the one does not meet the other."""

    def as_it_came(self: Any, value: Any) -> Any:
        store(self, value)
        return msgspec.json.encode(value).decode()

    store = Document.store
    patch.method(Document, "store", as_it_came)
