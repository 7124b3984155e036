"""Field kinds: what a column of a record may hold, and how each value is checked on its way in and out (K2, K4, K5).

A kind is put beside the type in an annotation: ``Annotated[str, Identifier(255)]``. Every limit on text counts
UTF-8 bytes. A kind turns a Python value into one of the five stored forms (text, integer, real, bytes, nothing)
that every engine can keep, and refuses everything else by raising `Unfit`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

MAX_INTEGER: Final = 2**63 - 1
"""Integers lie in -MAX_INTEGER..MAX_INTEGER, so that every one of them can be negated (63 bits and a sign)."""

Stored = str | int | float | bytes | None
"""What an engine keeps in one column."""

Storage = Literal["text", "integer", "real", "bytes"]


class Unfit(Exception):
    """A value that its column can't hold; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The base of all kinds. A `sensitive` column's value never appears in a message or a dump."""

    sensitive: bool = field(default=False, kw_only=True)

    @property
    def storage(self) -> Storage:
        raise NotImplementedError

    @property
    def plain(self) -> bool:
        """Whether a stored value is the field's value, without a step between."""
        return True

    def store(self, value: Any) -> Stored:
        """The stored form of `value`; `Unfit` if the column can't hold it."""
        raise NotImplementedError

    def load(self, stored: Stored) -> Any:
        """The value of a stored form, checked as strictly as a write; `Unfit` says what was expected."""
        if type(self.store(stored)) is not type(stored):
            raise Unfit(f"a stored {self.storage}")
        return stored


def _checked_text(given: Any, max_bytes: int, empty: bool) -> str:
    value: str = given
    if type(given) is not str:
        if not isinstance(given, str):
            raise Unfit(f"text, not {type(given).__name__}")
        value = str.__str__(given)  # a member of an enumeration, say: its text is what counts
    if not value:
        if empty:
            return value
        raise Unfit("text that is not empty")
    if "\0" in value:
        raise Unfit("text without NUL")
    if not (value.isascii() and len(value) <= max_bytes):
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise Unfit("text without lone surrogates") from None
        if size > max_bytes:
            raise Unfit(f"at most {max_bytes} bytes of UTF-8, not {size}")
    return value


@dataclass(frozen=True, slots=True)
class Identifier(Kind):
    """Text that names something: byte-exact, at most `max_bytes` bytes, and empty only where declared."""

    max_bytes: int
    empty: bool = field(default=False, kw_only=True)

    @property
    def storage(self) -> Storage:
        return "text"

    def store(self, value: Any) -> Stored:
        return _checked_text(value, self.max_bytes, self.empty)


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Free text of at most `max_bytes` bytes; may be empty."""

    max_bytes: int = 65_535

    @property
    def storage(self) -> Storage:
        return "text"

    def store(self, value: Any) -> Stored:
        return _checked_text(value, self.max_bytes, True)


@dataclass(frozen=True, slots=True)
class OneOf(Kind):
    """One of an enumeration's texts; derived from a column whose type is a ``StrEnum``."""

    enum: Any = None

    @property
    def storage(self) -> Storage:
        return "text"

    @property
    def max_bytes(self) -> int:
        return max(len(member.value.encode()) for member in self.enum)

    def store(self, value: Any) -> Stored:
        try:
            return str(self.enum(value).value)
        except ValueError:
            raise Unfit("one of " + ", ".join(member.value or "''" for member in self.enum)) from None

    def load(self, stored: Stored) -> Any:
        # `super()` looks for the class that stood here before `slots` made another one of it.
        return self.enum(Kind.load(self, stored))


@dataclass(frozen=True, slots=True)
class Integer(Kind):
    """An integer from `minimum` to `maximum`, both included."""

    minimum: int = -MAX_INTEGER
    maximum: int = MAX_INTEGER

    @property
    def storage(self) -> Storage:
        return "integer"

    def store(self, value: Any) -> Stored:
        if type(value) is not int:
            raise Unfit(f"an integer, not {type(value).__name__}")
        if not self.minimum <= value <= self.maximum:
            raise Unfit(f"an integer from {self.minimum} to {self.maximum}")
        return value


def Millis(*, positive: bool = False) -> Integer:  # noqa: N802 - reads as a kind
    """A time or duration in milliseconds (times: since the Unix epoch), never negative; `positive` refuses 0 too."""
    return Integer(1 if positive else 0, MAX_INTEGER)


@dataclass(frozen=True, slots=True)
class Real(Kind):
    """A finite float from `minimum` to `maximum`; NaN and infinities are refused, -0.0 is kept as 0.0."""

    minimum: float = -math.inf
    maximum: float = math.inf

    @property
    def storage(self) -> Storage:
        return "real"

    def store(self, value: Any) -> Stored:
        if type(value) is not float and type(value) is not int:
            raise Unfit(f"a number, not {type(value).__name__}")
        try:
            number = float(value)
        except OverflowError:
            raise Unfit("a finite number") from None
        if not math.isfinite(number):
            raise Unfit("a finite number")
        if number != value:
            raise Unfit("a number that a float holds exactly")
        if not self.minimum <= number <= self.maximum:
            raise Unfit(f"a number from {self.minimum:g} to {self.maximum:g}")
        return number + 0.0


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """A bool, kept as 0 or 1."""

    @property
    def storage(self) -> Storage:
        return "integer"

    @property
    def plain(self) -> bool:
        return False

    def store(self, value: Any) -> Stored:
        if type(value) is not bool:
            raise Unfit(f"a bool, not {type(value).__name__}")
        return int(value)

    def load(self, stored: Stored) -> Any:
        if type(stored) is not int or stored not in (0, 1):
            raise Unfit("0 or 1")
        return bool(stored)


@dataclass(frozen=True, slots=True)
class Blob(Kind):
    """Bytes, at most `max_bytes` of them; may be empty."""

    max_bytes: int = 65_535

    @property
    def storage(self) -> Storage:
        return "bytes"

    def store(self, value: Any) -> Stored:
        if type(value) is not bytes:
            raise Unfit(f"bytes, not {type(value).__name__}")
        if len(value) > self.max_bytes:
            raise Unfit(f"at most {self.max_bytes} bytes, not {len(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Json(Kind):
    """The text of one JSON value, kept to the byte; never given to a database's own JSON type (K5)."""

    max_bytes: int = 65_535

    @property
    def storage(self) -> Storage:
        return "text"

    def store(self, value: Any) -> Stored:
        text = _checked_text(value, self.max_bytes, False)
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            raise Unfit("the text of one JSON value") from None
        return text


_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL in JSON text: an escape that is not itself behind an escaped backslash."""


@dataclass(frozen=True, slots=True)
class Document(Kind):
    """A typed value (mapping, list, nested struct) kept as canonical JSON text of at most `max_bytes` bytes."""

    max_bytes: int = 65_535
    type: Any = field(default=None, kw_only=True)

    @property
    def storage(self) -> Storage:
        return "text"

    @property
    def plain(self) -> bool:
        return False

    def store(self, value: Any) -> Stored:
        try:
            encoded = msgspec.json.encode(value, order="sorted")
            same = msgspec.json.decode(encoded, type=self.type) == value
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
            # What the encoder says of it may hold the value.
            raise Unfit(f"a {getattr(self.type, '__name__', self.type)} that JSON can hold") from None
        if not same:
            raise Unfit(f"a {self.type} that JSON gives back unchanged")
        if len(encoded) > self.max_bytes:
            raise Unfit(f"at most {self.max_bytes} bytes of JSON, not {len(encoded)}")
        if _ESCAPED_NUL.search(encoded):
            raise Unfit("text without NUL")
        return encoded.decode()

    def load(self, stored: Stored) -> Any:
        if type(stored) is not str:
            raise Unfit("JSON text")
        try:
            value = msgspec.json.decode(stored, type=self.type)
        except (msgspec.MsgspecError, RecursionError):
            raise Unfit(f"JSON text of a {self.type}") from None
        if self.store(value) != stored:
            raise Unfit("canonical JSON text")
        return value


@dataclass(frozen=True, slots=True)
class Since:
    """Marks a column that was added in a later schema step (M1). Older rows read as the field's default (M4)."""

    step: int
