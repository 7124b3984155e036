"""The quick look at a chain's lines: what is true of nearly all of them, seen in many at once without decoding any.

It accepts only lines that the strict parser accepts too, and sees the same in them; what it does not accept is not
wrong, only not obvious.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from strongroom.patterns.digests import EMPTY_DIGEST


class Seen(NamedTuple):
    """What lines say, each thing in the lines' order."""

    sequences: Sequence[int]
    previous: Sequence[str]
    topics: Sequence[str]


Recognise = Callable[[Sequence[bytes]], Seen | None]
"""What lines say, if all of them are plainly entries of one chain; None where they must be parsed."""

_PLAIN_TEXT: Final = r'"([ !#-\[\]-~]*)"'
"""A text of ASCII that needs no escapes."""
_PLAIN_PATTERN: Final = re.compile(
    r"\\A((?:[A-Za-z0-9:_-]|\[(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_])+\]|[+*]|\{\d+\})+)\\Z"
)
"""A pattern that can't run over the end of a text, and allows nothing but ASCII."""


class QuickLook:
    """The quick look at lines of one type; `at` answers None where its members leave nothing obvious.

    Arguments:
        info: the type, none of whose members may be left out.
        topic: the field that names what an entry is about; empty for none.
        max_bytes: the most bytes of a line.
    """

    def __init__(self, info: msgspec.inspect.StructType, topic: str, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._fields = {field.name: place for place, field in enumerate(info.fields)}
        first, *others = [self._fields[name] for name in ("trail", "sequence", "previous")]
        self._applies = others == [first + 1, first + 2]
        if not self._applies:
            return
        before, rest = info.fields[:first], info.fields[first + 3 :]
        constants = [_constant(field) for field in before]
        sequence: Any = info.fields[first + 1].type
        members = [_member(field) for field in rest]
        self._applies = (
            None not in constants
            and None not in members
            and isinstance(sequence, msgspec.inspect.IntType)
            and sequence.multiple_of is None
            and (sequence.ge or 1) <= 1
            and (sequence.gt or 0) <= 0
            and _allows(info.fields[first + 2].type, EMPTY_DIGEST)
            and topic in ("", *(field.name for field in rest if _constant(field) is None))
        )
        if not self._applies:
            return
        most = [limit for limit in (sequence.le, sequence.lt and sequence.lt - 1) if limit is not None]
        self._most = min(most, default=2**63 - 1)
        names = [field.encode_name for field in info.fields[first : first + 3]]
        self._head = re.escape("{" + "".join(f"{constant}," for constant in constants) + f'"{names[0]}":"')
        link = re.escape(f'","{names[1]}":') + "([1-9][0-9]{0,15})" + re.escape(f',"{names[2]}":') + _PLAIN_TEXT
        self._rest = link + "".join("," + member for member in members if member) + r"\}"
        self._group = _group_of(rest, topic)

    def at(self, trail: str) -> Recognise | None:
        """The quick look at the lines of one chain; None where it has none."""
        if not self._applies or not (trail.isascii() and trail.isalnum()):
            return None
        expression = re.compile(f"^{self._head}{trail}{self._rest}$", re.MULTILINE)
        group, most, max_bytes = self._group, self._most, self._max_bytes

        def recognise(lines: Sequence[bytes]) -> Seen | None:
            text = b"\n".join(lines)
            if not text.isascii() or text.count(b"\n") >= len(lines) or max(map(len, lines)) > max_bytes:
                return None
            found = expression.findall(text.decode())
            if len(found) != len(lines):
                return None
            columns = [*zip(*found, strict=True)]
            sequences = [*map(int, columns[0])]
            if max(sequences) > most:
                return None
            return Seen(sequences, columns[1], columns[group + 1] if group else [""] * len(lines))

        return recognise


def _constant(field: msgspec.inspect.Field) -> str | None:
    """A member that has one value only, as it is written; None for another."""
    match field.type:
        case msgspec.inspect.LiteralType(values=(str(value),)) if value.isascii() and value.isalnum():
            return f'"{field.encode_name}":"{value}"'
    return None


def _member(field: msgspec.inspect.Field) -> str | None:
    """The expression of a member whose value is plain; None for one of which that can't be said."""
    constant = _constant(field)
    if constant is not None:
        return re.escape(constant)
    match field.type:
        case msgspec.inspect.StrType(min_length=None, max_length=None, pattern=None):
            value = _PLAIN_TEXT
        case msgspec.inspect.StrType(min_length=None, max_length=None, pattern=str(pattern)):
            plain = _PLAIN_PATTERN.fullmatch(pattern)
            if plain is None:
                return None
            value = f'"({plain[1]})"'
        case _:
            return None
    return re.escape(f'"{field.encode_name}":') + value


def _group_of(fields: Sequence[msgspec.inspect.Field], topic: str) -> int:
    """The number of the group that a topic's value is in; 0 for none."""
    group = 0
    for field in fields:
        group += _constant(field) is None
        if field.name == topic:
            return group
    return 0


def _allows(kind: Any, text: str) -> bool:
    if not isinstance(kind, msgspec.inspect.StrType) or kind.min_length or kind.max_length:
        return False
    return kind.pattern is None or re.search(kind.pattern, text) is not None
