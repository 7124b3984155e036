"""Statements, and calls of them: what a trip to the server carries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final

from strongroom.engines.postgres.values import ArrayType, Type

HOLE: Final = "?"
"""Stands in a text where a value is bound; no name of ours has one."""

_numbers = itertools.count(1)


class Statement:
    """A text with typed holes. Each connection prepares it once, unless a proxy stands before the server."""

    __slots__ = ("_encoders", "formats", "name", "oids", "text")

    def __init__(self, text: str, types: Sequence[Type | ArrayType] = ()) -> None:
        if types:
            first, *rest = text.split(HOLE)
            assert len(rest) == len(types), text
            text = first + "".join(f"${i}{part}" for i, part in enumerate(rest, 1))
        self.text = text.encode()
        self.name = b"strongroom_%d" % next(_numbers)
        self.oids = [kind.oid for kind in types]
        self.formats = [1] * len(types)
        self._encoders = [kind.encode for kind in types]

    def __call__(self, values: Iterable[Any] = ()) -> Call:
        """A call with these values, one to each hole."""
        return self, [
            None if value is None else encode(value) for value, encode in zip(values, self._encoders, strict=True)
        ]


Call = tuple[Statement, list[bytes | None]]
"""A statement, and what is bound to its holes."""

BEGIN_WRITE: Final = Statement("BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE")()
BEGIN_READ: Final = Statement("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY")()
BEGIN_LOOSE: Final = Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")()
"""Sees at each statement what others have committed by then: for those who wait for others."""
COMMIT: Final = Statement("COMMIT")()
ROLLBACK: Final = Statement("ROLLBACK")()

ASK_TIME: Final = Statement("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")()
