"""The check of a chain: every line against the one before it, against what somebody holds, each fault named (L4).

It reads lines one after the other, keeps none of them, and goes on behind whatever is wrong. Against someone who can
write the whole store, a chain proves only what a checkpoint kept elsewhere pins down: without one, a cut tail and a
chain that was written anew look sound.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import BinaryIO, Final, Generic, TypeVar, cast

from strongroom.errors import InvalidArgument
from strongroom.patterns.chain_format import ChainFormat, LineTooLong, Linked, MalformedLine
from strongroom.patterns.chain_quick import Recognise, Seen
from strongroom.patterns.digests import EMPTY_DIGEST, is_digest

E = TypeVar("E", bound=Linked)

Met = Callable[[Sequence[int], Sequence[str]], None]
"""Called with entries' places, and what they are about."""

MOST: Final = 100
"""How many findings a report lists, unless asked for others; all are counted."""


BATCH: Final = 256
"""Lines that are looked at together, where nothing is wrong with them."""
BLOCK: Final = 65_536
"""Bytes of a file that are read at once."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One place of one chain, and the digest of the exact line that stands there.

    Raises `InvalidArgument` for a trail that is empty, a sequence below 1, and a digest of another form.
    """

    trail: str
    sequence: int
    digest: str

    def __post_init__(self) -> None:
        if not self.trail or type(self.sequence) is not int or self.sequence < 1 or not is_digest(self.digest):
            raise InvalidArgument("a checkpoint is a trail, a sequence from 1 and a digest")


class ChainFinding(StrEnum):
    """What can be wrong with a chain."""

    ENTRY_MALFORMED = "entry-malformed"
    """The line is no entry of this form."""
    LINE_TOO_LONG = "line-too-long"
    INCOMPLETE_LAST_LINE = "incomplete-last-line"
    """A file's last line has no newline: it was cut."""
    SEQUENCE_MISMATCH = "sequence-mismatch"
    """The entry is not the one that comes next: lines are missing, repeated or in another order."""
    PREVIOUS_MISMATCH = "previous-mismatch"
    """The entry does not link to the exact bytes before it."""
    TRAIL_MISMATCH = "trail-mismatch"
    """The entry belongs to another chain than the first one."""
    TOPIC_NAMED_TWICE = "topic-named-twice"
    """An earlier entry is about the same."""
    TOPIC_MISMATCH = "topic-mismatch"
    """The store's list of topics does not lead to the entry, or leads to one that is about something else."""
    ROW_CORRUPT = "row-corrupt"
    """The store's row is not what was written; what its line was is not known."""
    ENTRY_MISMATCH = "entry-mismatch"
    """A line that somebody holds is not the one that stands there."""
    ENTRY_BEYOND_CHAIN = "entry-beyond-chain"
    """A line that somebody holds has a place behind the last."""
    CHECKPOINT_BEYOND_CHAIN = "checkpoint-beyond-chain"
    """The chain ends before a checkpoint that was made of it: its tail was cut."""
    CHECKPOINT_NOT_AN_ENTRY = "checkpoint-not-an-entry"
    """There is no entry where a checkpoint was made."""
    CHECKPOINT_TRAIL_MISMATCH = "checkpoint-trail-mismatch"
    CHECKPOINT_RECORD_MISMATCH = "checkpoint-record-mismatch"
    """Another line stands where a checkpoint was made: the chain was written anew."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: its kind, the place that it concerns (0: no place is known), and what was found there."""

    kind: ChainFinding
    sequence: int
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.sequence}: {self.kind}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What came of a check."""

    findings: tuple[Finding, ...]
    """The first of them, in the order in which they were found."""
    total: int
    """How many there are."""
    lines: int
    """How many lines were read."""
    head: Checkpoint | None
    """A checkpoint of the last line; None where there is none, or it is no entry."""
    supplied: int
    """How many checkpoints the chain was held against."""
    matched: int
    """How many of them it has."""
    through: int
    """The last place that a checkpoint matched; 0 for none."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return self.total == 0

    def witnessed(self, sequence: int) -> bool:
        """Whether the entry there is proved by a checkpoint at it or behind it."""
        return self.valid and 1 <= sequence <= self.through


@dataclass(frozen=True, slots=True)
class Unread:
    """What stands for a line that could not be read: the fault, and its bytes' digest where that is known."""

    kind: ChainFinding
    detail: str
    digest: str | None = None


class ChainCheck(Generic[E]):
    """A check under way: `feed` it lines in order, and then `end` it.

    Arguments:
        format: the lines' form.
        checkpoints: what is known of the chain from elsewhere.
        entries: lines that somebody holds, which the chain must have at their places.
        once: whether to remember every topic, so as to find one that is named twice; this takes memory for each.
        most: how many findings to list.
    """

    def __init__(
        self,
        format: ChainFormat[E],
        *,
        checkpoints: Iterable[Checkpoint] = (),
        entries: Iterable[bytes] = (),
        once: bool = True,
        most: int = MOST,
    ) -> None:
        self._format = format
        self._most = most
        self._findings: list[Finding] = []
        self._total = 0
        self._lines = 0
        self._expected = 1
        self._previous: str | None = EMPTY_DIGEST
        self._trail: str | None = None
        self._recognise: Recognise | None = None
        self._head: Checkpoint | None = None
        self._topics: set[str] | None = set() if once else None
        self._supplied = self._matched = self._through = 0
        self._pinned: defaultdict[int, list[Checkpoint]] = defaultdict(list)
        self._held: defaultdict[int, list[bytes]] = defaultdict(list)
        for checkpoint in checkpoints:
            self._pinned[checkpoint.sequence].append(checkpoint)
            self._supplied += 1
        for line in entries:
            try:
                self._held[format.parse(line).sequence].append(line)
            except MalformedLine as problem:
                self.add(ChainFinding.ENTRY_MALFORMED, 0, f"a line that is held: {problem}")
        self._wanted = {*self._pinned, *self._held}

    @property
    def expected(self) -> int:
        """The place of the line that comes next."""
        return self._expected

    def add(self, kind: ChainFinding, sequence: int, detail: str = "") -> None:
        """Count a fault, and list it while there is room."""
        self._total += 1
        if len(self._findings) < self._most:
            self._findings.append(Finding(kind, sequence, detail))

    def feed(
        self, lines: Iterable[bytes | Unread], places: Iterable[int] | None = None, met: Met | None = None
    ) -> None:
        """Check lines that come next; `places` are theirs in a store, and `met` is told of every entry's topic.

        `met` defaults to a look whether the topic was met before, where the check is to find that out.
        """
        meet = met or (self._meet if self._topics is not None else None)
        given, where = iter(lines), None if places is None else iter(places)
        # The first line goes alone: it says which chain the others are of.
        while some := list(islice(given, BATCH if self._lines else 1)):
            at = range(self._expected, self._expected + len(some)) if where is None else [*islice(where, len(some))]
            if not self._pass(some, at, meet):
                for line, place in zip(some, at, strict=True):
                    self._look(line, self._expected if where is None else place, where is not None, meet)

    def _pass(self, lines: list[bytes | Unread], places: Sequence[int], meet: Met | None) -> bool:
        """Take in lines in which nothing is wrong and of which nothing is held; whether they are such lines."""
        if self._recognise is None or self._previous is None or {*map(type, lines)} != {bytes}:
            return False
        whole = cast("list[bytes]", lines)
        seen = self._recognise(whole)
        if seen is None or not self._wanted.isdisjoint(places):
            return False
        sha256 = hashlib.sha256
        digests = ["sha256:" + sha256(line).hexdigest() for line in whole]
        if not self._is_next(seen, places, [self._previous, *digests[:-1]]):
            return False
        if meet is not None:
            meet(places, seen.topics)
        self._lines += len(lines)
        self._expected, self._previous = places[-1] + 1, digests[-1]
        assert self._trail is not None
        self._head = Checkpoint(self._trail, places[-1], digests[-1])
        return True

    def _is_next(self, seen: Seen, places: Sequence[int], previous: Sequence[str]) -> bool:
        """Whether entries stand where they say, and follow one another and what came before."""
        here = [*range(self._expected, self._expected + len(places))]
        return [*seen.sequences] == here == [*places] and [*seen.previous] == [*previous]

    def _look(self, line: bytes | Unread, at: int, stored: bool, meet: Met | None) -> None:
        """Look at one line, and say all that is wrong with it; a `stored` one's place is certain, whatever it says."""
        if at != self._expected:
            self._miss(self._expected, at)
        self._lines += 1
        trail = None
        if isinstance(line, Unread):
            self.add(line.kind, at, line.detail)
            previous = line.digest
        else:
            previous = "sha256:" + hashlib.sha256(line).hexdigest()
            try:
                entry = self._format.parse(line)
            except MalformedLine as problem:
                long = isinstance(problem, LineTooLong)
                self.add(ChainFinding.LINE_TOO_LONG if long else ChainFinding.ENTRY_MALFORMED, at, str(problem))
            else:
                if entry.sequence != at:
                    self.add(ChainFinding.SEQUENCE_MISMATCH, at, f"says that it is {entry.sequence}")
                    if not stored and entry.sequence > 0:
                        at = entry.sequence
                if self._previous is not None and entry.previous != self._previous:
                    self.add(ChainFinding.PREVIOUS_MISMATCH, at)
                trail = entry.trail
                if self._trail is None:
                    self._trail, self._recognise = trail, self._format.recogniser(trail)
                elif trail != self._trail:
                    self.add(ChainFinding.TRAIL_MISMATCH, at)
                topic = self._format.topic(entry)
                if meet is not None and topic:
                    meet([at], [topic])
        if at in self._wanted:
            self._compare(at, line, trail, previous)
        self._expected, self._previous = at + 1, previous
        self._head = Checkpoint(trail, at, previous) if trail and previous is not None else None

    def end(self) -> ChainReport:
        """What came of it, now that the chain has no more lines."""
        last = self._expected - 1
        for sequence, lines in sorted(self._held.items()):
            kind = ChainFinding.ENTRY_BEYOND_CHAIN if sequence > last else ChainFinding.ENTRY_MISMATCH
            for _ in lines:
                self.add(kind, sequence)
        for sequence, checkpoints in sorted(self._pinned.items()):
            gone = sequence > last
            kind = ChainFinding.CHECKPOINT_BEYOND_CHAIN if gone else ChainFinding.CHECKPOINT_NOT_AN_ENTRY
            for _ in checkpoints:
                self.add(kind, sequence, f"the chain ends at {last}" if gone else "")
        self._held.clear()
        self._pinned.clear()
        return ChainReport(
            tuple(self._findings), self._total, self._lines, self._head, self._supplied, self._matched, self._through
        )

    def _miss(self, expected: int, at: int) -> None:
        missing = f"{expected}" if at == expected + 1 else f"{expected} to {at - 1}"
        self.add(ChainFinding.SEQUENCE_MISMATCH, expected, f"{missing} missing" if at > expected else "")

    def _meet(self, places: Sequence[int], topics: Sequence[str]) -> None:
        assert self._topics is not None
        before = len(self._topics)
        if self._topics.isdisjoint(topics):
            self._topics.update(topics)
            if len(self._topics) == before + len(topics):
                return
            self._topics.difference_update(topics)
        for at, topic in zip(places, topics, strict=True):
            if topic and topic in self._topics:
                self.add(ChainFinding.TOPIC_NAMED_TWICE, at)
            self._topics.add(topic)

    def _compare(self, at: int, line: bytes | Unread, trail: str | None, found: str | None) -> None:
        """Hold the line at a place against what somebody knows of it."""
        for held in self._held.pop(at, ()):
            if held != line:
                self.add(ChainFinding.ENTRY_MISMATCH, at)
        for checkpoint in self._pinned.pop(at, ()):
            if trail is None:
                self.add(ChainFinding.CHECKPOINT_NOT_AN_ENTRY, at)
            elif trail != checkpoint.trail:
                self.add(ChainFinding.CHECKPOINT_TRAIL_MISMATCH, at)
            elif found != checkpoint.digest:
                self.add(ChainFinding.CHECKPOINT_RECORD_MISMATCH, at)
            else:
                self._matched += 1
                self._through = max(self._through, at)


def check_lines(
    lines: Iterable[bytes],
    format: ChainFormat[E],
    *,
    checkpoints: Iterable[Checkpoint] = (),
    entries: Sequence[bytes] = (),
    once: bool = True,
    most: int = MOST,
) -> ChainReport:
    """Check lines, given without newlines; the arguments are those of `ChainCheck` (L4)."""
    check = ChainCheck(format, checkpoints=checkpoints, entries=entries, once=once, most=most)
    check.feed(lines)
    return check.end()


def check_file(
    file: BinaryIO,
    format: ChainFormat[E],
    *,
    checkpoints: Iterable[Checkpoint] = (),
    entries: Sequence[bytes] = (),
    once: bool = True,
    most: int = MOST,
) -> ChainReport:
    """Check a file of lines that each end in a newline; the arguments are those of `ChainCheck` (L4).

    No more than a block of the file is held at once, however long its lines are. A last line without a newline is a
    finding, and no entry.
    """
    check = ChainCheck(format, checkpoints=checkpoints, entries=entries, once=once, most=most)
    lines = _LinesOf(file, format.max_bytes)
    check.feed(lines)
    if lines.incomplete:
        check.add(ChainFinding.INCOMPLETE_LAST_LINE, check.expected)
    return check.end()


class _LinesOf:
    """The lines of a file without their newlines; afterwards, whether what comes last has none."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self.incomplete = False
        self._file = file
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[bytes | Unread]:
        rest = b""
        while block := self._file.read(BLOCK):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            while len(rest) > self._max_bytes:
                long, behind = self._skip(rest)
                if long is not None:
                    yield long
                *lines, rest = behind.split(b"\n")
                yield from lines
        self.incomplete = self.incomplete or rest != b""

    def _skip(self, start: bytes) -> tuple[Unread | None, bytes]:
        """What stands for a line that is too long, and what was read behind it; None where it has no end."""
        whole = hashlib.sha256(start)
        length = len(start)
        while block := self._file.read(BLOCK):
            line, newline, rest = block.partition(b"\n")
            whole.update(line)
            length += len(line)
            if newline:
                detail = f"a line of {length} bytes, and {self._max_bytes} is the most"
                return Unread(ChainFinding.LINE_TOO_LONG, detail, f"sha256:{whole.hexdigest()}"), rest
        self.incomplete = True
        return None, b""
