"""Chains: logs of exact lines in which every line links to the digest of the one before it (L4).

What a line says is its domain's business (`ChainFormat`); the chain gives it its place, its link and its trail. A line
is linked to as it is stored, byte for byte, never as it would be written today. The head is nothing but the last row,
read in the transaction that appends, so that concurrent appenders never make two lines follow one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from strongroom.engine import Backoff, Engine, Reader, Strength, Transaction, Writer, retry
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument
from strongroom.patterns.chain_check import MOST, ChainCheck, ChainFinding, ChainReport, Checkpoint, Unread
from strongroom.patterns.chain_format import ChainFormat, Linked, MalformedLine
from strongroom.patterns.chain_topics import ChainTopics, Entries
from strongroom.patterns.digests import EMPTY_DIGEST, digest
from strongroom.patterns.walks import pages_with_faults
from strongroom.records import NEVER, AnyTable, Blob, Identifier, Integer, Record, Table

R = TypeVar("R", bound=Record)
E = TypeVar("E", bound=Linked)

PAGE: Final = 1000
"""How many lines a check reads at once, unless asked for others: they are what it takes of memory."""

_RIVALS: Final = Backoff(attempts=64, first_ms=0.5, cap_ms=20)


class ChainHeadBroken(Corrupt):
    """Nothing can be appended: the last line is no entry of the chain, or there are no more places. Nothing written."""


class EntryUnreadable(InvalidArgument):
    """The new entry's line would not be read back as that entry: it is too long, say. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Link:
    """What the next entry of a chain must say of its place."""

    trail: str
    sequence: int
    previous: str


@dataclass(frozen=True, slots=True)
class Appended(Generic[E]):
    """A new entry, its exact line, and the checkpoint of it."""

    entry: E
    line: bytes
    checkpoint: Checkpoint


class StoredLine(NamedTuple):
    """A line of a chain, without a newline, and its place."""

    sequence: int
    line: bytes


class Chain(Generic[R, E]):
    """A chain kept in the table `lines`, one for each stream.

    Arguments:
        lines: a table that never changes. Its key is the stream's name (zero or more columns) and then the sequence,
            an integer from 1; beside the key it has one column, the line's bytes.
        format: the lines' form.
        topics: where every topic may have one entry only, a table that never changes: its key is the stream's name
            and then the topic, and beside it the one column is the entry's sequence. It needs multi-record
            transactions.
        mint: draws the trail of a new chain.

    Raises TypeError for tables that can't keep a chain.
    """

    def __init__(
        self,
        lines: Table[R],
        format: ChainFormat[E],
        *,
        topics: AnyTable | None = None,
        mint: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.lines = lines
        self.format = format
        self.topics = topics
        self._mint = mint
        self._stream = len(lines.key) - 1
        self._sequence = lines.key_names[-1]
        self._line = _only_other_column(lines, Integer, Blob)
        if lines.key[-1].descending:
            raise TypeError(f"{lines.name}: the lines of a chain ascend")
        self._place = ""
        if topics is not None:
            self._place = _only_other_column(topics, Identifier, Integer)
            if len(topics.key) != len(lines.key):
                raise TypeError(f"{topics.name}: its key is the name of a stream of {lines.name}, and the topic")

    def append(self, engine: Engine, *stream: Any, make: Callable[[Link], E]) -> Appended[E]:
        """Append the entry that `make` builds for its place, and return it once it is durable.

        `make` may be called again for a later place. Raises as `append_in` and `Engine.write`; `Conflict`
        (retryable) when rivals took every place that was tried; `Unsupported` for a chain with topics on a
        single-record engine.
        """
        if self.topics is not None:
            engine.require(Strength.MULTI_RECORD, f"the chain {self.lines.name}, with topics,")
        if engine.claims.strength >= Strength.MULTI_RECORD:
            return engine.write(lambda transaction: self.append_in(transaction, *stream, make=make))
        return retry(lambda: self._append(engine, stream, make), on=AlreadyExists, backoff=_RIVALS)

    def append_in(self, transaction: Transaction, *stream: Any, make: Callable[[Link], E]) -> Appended[E]:
        """Append inside a transaction; the entry is in the chain if and only if the transaction commits.

        Raises, nothing written: `ChainHeadBroken` where the last line does not parse, names another place than its
        row, or has the last place; `EntryUnreadable` for an entry whose line would not be read back; `AlreadyExists`
        where its topic has an entry; `InvalidArgument` for an entry that does not carry the link it was made for.
        """
        return self._append(transaction, stream, make)

    def head(self, reader: Reader, *stream: Any) -> Checkpoint | None:
        """The checkpoint of the last line, to be kept elsewhere; None for an empty chain. Raises `ChainHeadBroken`."""
        last = self._last(reader, stream)
        if last is None:
            return None
        return Checkpoint(self._head_entry(stream, last).trail, last.sequence, digest(last.line))

    def read(self, reader: Reader, *stream: Any, after: int = 0, limit: int) -> list[StoredLine]:
        """The lines behind the place `after`, in order, at most `limit` of them, to the byte.

        Raises `Corrupt` where a line is missing, `InvalidArgument` for a negative `after`, and as `scan`.
        """
        self._check_stream(stream)
        if type(after) is not int or after < 0:
            raise InvalidArgument(f"{self.lines.name}: places begin at 1; read after 0 for all")
        found = self._stored(reader.scan(self.lines, *stream, start=(after + 1,), limit=limit))
        for expected, one in enumerate(found, after + 1):
            if one.sequence != expected:
                raise Corrupt(
                    f"{self.lines.show((*stream, expected))} is missing: the chain goes on at {one.sequence}",
                    table=self.lines.name,
                    key=(*stream, expected),
                )
        return found

    def find(self, reader: Reader, *stream: Any, topic: str) -> StoredLine | None:
        """The line about `topic`; None if there is none.

        Raises `Corrupt` where the list of topics leads to no line, or to one about something else;
        `InvalidArgument` for a chain without topics.
        """
        self._check_stream(stream)
        if self.topics is None:
            raise InvalidArgument(f"{self.lines.name}: a chain that has no topics")
        listed = reader.get(self.topics, *stream, topic)
        if listed is None:
            return None
        place: int = getattr(listed, self._place)
        row = reader.get(self.lines, *stream, place)
        if row is None or self._topic_of(getattr(row, self._line)) != topic:
            key = (*stream, topic)
            raise Corrupt(f"{self.topics.show(key)} leads to no entry about it", table=self.topics.name, key=key)
        return StoredLine(place, getattr(row, self._line))

    def verify(
        self,
        reader: Reader,
        *stream: Any,
        checkpoints: Iterable[Checkpoint] = (),
        entries: Sequence[bytes] = (),
        most: int = MOST,
        page: int = PAGE,
    ) -> ChainReport:
        """Check every line, and that every topic is named once, in constant memory; name each fault and go on (L4).

        Rows that can't be read are findings too. On an engine, appends go on meanwhile, and what comes behind is
        checked as far as it is there.

        Arguments:
            checkpoints: what is known of the chain from elsewhere.
            entries: lines that somebody holds, which the chain must have at their places.
            most: how many findings to list; all are counted.
            page: how many lines to read at once, 1 to 10,000.
        """
        self._check_stream(stream)
        check = ChainCheck(self.format, checkpoints=checkpoints, entries=entries, once=False, most=most)
        topics = self._topics_of(stream)
        met = None if topics is None else topics.meet
        for rows in pages_with_faults(reader, self.lines, *stream, page=page):
            if isinstance(rows, Corrupt):
                at = rows.key[-1] if rows.key else check.expected
                check.feed([Unread(ChainFinding.ROW_CORRUPT, str(rows))], [at if isinstance(at, int) else 0])
            else:
                places = [getattr(row, self._sequence) for row in rows]
                check.feed([getattr(row, self._line) for row in rows], places, met)
        last = check.expected - 1
        if topics is not None and not topics.agree(reader, last, page):
            topics.name(reader, check, last, page)
        return check.end()

    # How it is done.

    def _append(self, port: Writer, stream: tuple[Any, ...], make: Callable[[Link], E]) -> Appended[E]:
        last = self._last(port, stream)
        if last is None:
            link = Link(self._mint(), 1, EMPTY_DIGEST)
        else:
            head = self._head_entry(stream, last)
            if last.sequence >= self.format.max_sequence:
                raise self._broken(stream, last, "it has the last place of all")
            link = Link(head.trail, last.sequence + 1, digest(last.line))
        entry = make(link)
        if (entry.trail, entry.sequence, entry.previous) != (link.trail, link.sequence, link.previous):
            raise InvalidArgument(f"{self.lines.name}: the entry made for place {link.sequence} has another link")
        line = self._rendered(entry)
        if self.topics is not None:
            topic = self.format.topic(entry)
            port.insert(self.topics, self._row(self.topics, (*stream, topic), self._place, link.sequence))
        port.insert(self.lines, self._row(self.lines, (*stream, link.sequence), self._line, line))
        return Appended(entry, line, Checkpoint(link.trail, link.sequence, digest(line)))

    def _rendered(self, entry: E) -> bytes:
        try:
            line = self.format.render(entry)
            if self.format.parse(line) == entry:
                return line
            why = "it would be read back as another"
        except MalformedLine as problem:
            why = str(problem)
        raise EntryUnreadable(f"{self.lines.name}: the entry's line can't be kept: {why}")

    def _last(self, reader: Reader, stream: tuple[Any, ...]) -> StoredLine | None:
        self._check_stream(stream)
        found = self._stored(reader.scan(self.lines, *stream, limit=1, reverse=True))
        return found[0] if found else None

    def _head_entry(self, stream: tuple[Any, ...], last: StoredLine) -> E:
        try:
            entry = self.format.parse(last.line)
        except MalformedLine as problem:
            raise self._broken(stream, last, str(problem)) from problem
        if entry.sequence != last.sequence:
            raise self._broken(stream, last, f"it says that it is {entry.sequence}")
        return entry

    def _broken(self, stream: tuple[Any, ...], last: StoredLine, why: str) -> ChainHeadBroken:
        key = (*stream, last.sequence)
        return ChainHeadBroken(
            f"{self.lines.show(key)}: nothing can follow this line: {why}",
            table=self.lines.name,
            key=key,
            column=self._line,
        )

    def _topic_of(self, line: bytes) -> str:
        """What a line is about; empty for one that is no entry."""
        try:
            return self.format.topic(self.format.parse(line))
        except MalformedLine:
            return ""

    def _topics_of(self, stream: tuple[Any, ...]) -> ChainTopics | None:
        if self.topics is None:
            return None
        return ChainTopics(Entries(self.lines, self._line, self.topics, self._place, stream, self._topic_of))

    def _stored(self, rows: Sequence[R]) -> list[StoredLine]:
        sequence, line = self._sequence, self._line
        return [StoredLine(getattr(row, sequence), getattr(row, line)) for row in rows]

    def _row(self, table: AnyTable, key: tuple[Any, ...], column: str, value: Any) -> Any:
        return table.record(**dict(zip(table.key_names, key, strict=True)), **{column: value})

    def _check_stream(self, stream: tuple[Any, ...]) -> None:
        if len(stream) != self._stream:
            raise InvalidArgument(f"{self.lines.name}: a stream's name has {self._stream} values, not {len(stream)}")


def _only_other_column(table: AnyTable, last: type[Integer | Identifier], kind: type[Integer | Blob]) -> str:
    """The one column beside the key, of this kind; TypeError for another table than that, or another end of its key."""
    others = [column for column in table.columns if column.name not in table.key_names]
    if table.changes != NEVER:
        raise TypeError(f"{table.name}: what a chain keeps never changes")
    if len(others) != 1 or not isinstance(others[0].kind, kind) or others[0].nullable:
        raise TypeError(f"{table.name}: beside its key a chain's table has one {kind.__name__} column")
    if not isinstance(table.key[-1].column.kind, last):
        raise TypeError(f"{table.name}: the key of a chain's table ends in one {last.__name__} column")
    return others[0].name
