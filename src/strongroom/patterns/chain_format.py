"""The form of a chain's lines: what a chain must be able to read in a line that a domain defines.

A chain keeps lines of exact bytes. Which members a line has is its domain's business; the chain asks for three things
that link the lines together, and for a strict parser: two readers of one line must never see two different entries.
"""

from __future__ import annotations

import json
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from strongroom.errors import StrongroomError
from strongroom.patterns.chain_quick import QuickLook, Recognise

EXACT: Final = 2**53 - 1
"""The greatest integer that every reader of JSON takes for the same one."""


class MalformedLine(StrongroomError, ValueError):
    """A line that is no entry of its chain; the message says why, and shows nothing of it."""


class LineTooLong(MalformedLine):
    """A line of more bytes than the chain's lines may have."""


class Linked(Protocol):
    """What every entry says of its place."""

    @property
    def trail(self) -> str:
        """The chain that it belongs to: a text drawn at random with the first entry, and carried on."""

    @property
    def sequence(self) -> int:
        """Its place in the chain, from 1."""

    @property
    def previous(self) -> str:
        """The digest of the exact bytes of the line before, without a newline; of no bytes for the first."""


E = TypeVar("E", bound=Linked)


class ChainFormat(Protocol[E]):
    """How a domain writes the lines of its chain."""

    @property
    def max_bytes(self) -> int:
        """The most bytes of a line, which holds no newline."""

    @property
    def max_sequence(self) -> int:
        """The last place that an entry may have."""

    def parse(self, line: bytes) -> E:
        """The entry of a line. Raises `LineTooLong`, and `MalformedLine` for all else that is no entry."""

    def render(self, entry: E) -> bytes:
        """The line of an entry. Raises `MalformedLine` for one that no line can hold."""

    def topic(self, entry: E) -> str:
        """What the entry is about, such as the id of a run; empty if the format has no such thing."""

    def recogniser(self, trail: str) -> Recognise | None:
        """A quick look at lines of one chain, which need not be parsed then; None if there is no such thing."""
        return None


class JsonFormat(Generic[E]):
    """Lines that are one JSON object each.

    A line is written compactly, its members in the order of the type's fields. It is read strictly: one object,
    exactly these members, each of them once, integers written as integers; white space within the line and escapes
    are tolerated.

    Arguments:
        entry: a frozen `msgspec.Struct` with ``forbid_unknown_fields=True`` and no defaults. Constants are
            ``Literal["1"]``, further limits `msgspec.Meta`; end a pattern in ``\\Z``, as ``$`` lets a newline through.
        topic: the field that names what an entry is about; empty for none.
        max_bytes: the most bytes of a line.
        max_sequence: the last place that an entry may have.

    Raises TypeError for a type that would read lines less strictly.
    """

    def __init__(
        self, entry: type[E], *, topic: str = "", max_bytes: int = 1024, max_sequence: int = EXACT - 1
    ) -> None:
        info = msgspec.inspect.type_info(entry)
        if not isinstance(info, msgspec.inspect.StructType) or info.array_like or not info.forbid_unknown_fields:
            raise TypeError(f"{entry.__name__}: lines are read by a struct that forbids unknown fields")
        names = [field.name for field in info.fields]
        if not {"trail", "sequence", "previous"} <= set(names) or topic not in ("", *names):
            raise TypeError(f"{entry.__name__}: an entry has a trail, a sequence, a previous and its topic")
        if not all(field.required for field in info.fields):
            raise TypeError(f"{entry.__name__}: a member with a default could be left out")
        self.max_bytes = max_bytes
        self.max_sequence = max_sequence
        self._name = entry.__name__
        self._topic = topic
        self._decode: Any = msgspec.json.Decoder(entry).decode
        self._encode = msgspec.json.Encoder().encode
        self._quotes = _quotes(info)
        self._quick = QuickLook(info, topic, max_bytes)

    def parse(self, line: bytes) -> E:
        if len(line) > self.max_bytes:
            raise LineTooLong(f"a line of {len(line)} bytes, and {self.max_bytes} is the most")
        try:
            entry: E = self._decode(line)
        except (msgspec.MsgspecError, RecursionError) as problem:
            raise MalformedLine(self._explained(problem)) from None
        # The decoder takes the last of two members of one name. As none may be unknown and none missing, a line whose
        # quotes are as many as those of each member once has each once.
        if b"\\" in line or line.count(b'"') != self._quotes:
            self._check_members(line)
        if b"\n" in line or b"\r" in line:
            raise MalformedLine("a line with a newline within")
        return entry

    def render(self, entry: E) -> bytes:
        try:
            return self._encode(entry)
        except (TypeError, ValueError, msgspec.MsgspecError):
            raise MalformedLine(f"no JSON can hold this {self._name}") from None

    def topic(self, entry: E) -> str:
        return str(getattr(entry, self._topic)) if self._topic else ""

    def recogniser(self, trail: str) -> Recognise | None:
        return self._quick.at(trail)

    def _check_members(self, line: bytes) -> None:
        def once(members: list[tuple[str, Any]]) -> None:
            if len({name for name, _ in members}) != len(members):
                raise MalformedLine("a member that stands there twice")

        try:
            json.loads(line, object_pairs_hook=once)
        except (ValueError, RecursionError) as problem:
            if isinstance(problem, MalformedLine):
                raise
            raise MalformedLine(f"not one {self._name}") from None

    def _explained(self, problem: Exception) -> str:
        """Where the line is not as it must be; what the decoder says besides may show a value."""
        _, found, where = str(problem).partition(" - at ")
        return f"not one {self._name}: see {where}" if found else f"not one {self._name}"


def _quotes(info: msgspec.inspect.StructType) -> int:
    """How many quotation marks a line has without escapes; -1 where that is not always the same."""
    total = 0
    for field in info.fields:
        match field.type:
            case msgspec.inspect.StrType():
                total += 4
            case msgspec.inspect.IntType() | msgspec.inspect.BoolType():
                total += 2
            case msgspec.inspect.LiteralType(values) if all(isinstance(value, str) for value in values):
                total += 4
            case msgspec.inspect.LiteralType(values) if all(isinstance(value, int) for value in values):
                total += 2
            case _:
                return -1
    return total
