"""Chains with one safeguard broken: their links, what may follow what, and the check."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.errors import Corrupt
from strongroom.patterns import Chain, ChainCheck, ChainFinding, Checkpoint, JsonFormat, MalformedLine, StoredLine
from strongroom.patterns.chain_quick import QuickLook
from strongroom.patterns.chain_topics import ChainTopics
from strongroom.patterns.walks import pages_with_faults

MEMORY = Ground.MEMORY
BOTH = (Ground.MEMORY, Ground.SQLITE)


@mutant("L4", on=BOTH)
def chain_links_to_what_it_would_write_today(patch: Patches) -> None:
    """An entry links to a new rendering of the entry before it, and not to the bytes that are stored."""
    last = Chain._last

    def rendered(self: Any, reader: Any, stream: Any) -> Any:
        found = last(self, reader, stream)
        if found is None:
            return None
        try:
            return StoredLine(found.sequence, self.format.render(self.format.parse(found.line)))
        except MalformedLine:
            return found

    patch.method(Chain, "_last", rendered)


@mutant("L4", on=BOTH)
def chain_head_remembered(patch: Patches) -> None:
    """An append goes on behind the head that the same engine appended last, and does not read it again."""
    heads: dict[Any, Any] = {}
    last, append = Chain._last, Chain._append

    def remembered(self: Any, reader: Any, stream: Any) -> Any:
        key = id(reader._codecs), stream
        return heads[key] if key in heads else last(self, reader, stream)

    def remembering(self: Any, port: Any, stream: Any, make: Any) -> Any:
        appended = append(self, port, stream, make)
        heads[id(port._codecs), stream] = StoredLine(appended.checkpoint.sequence, appended.line)
        return appended

    patch.method(Chain, "_last", remembered)
    patch.method(Chain, "_append", remembering)


@mutant("L4", on=BOTH)
def chain_head_read_outside_the_transaction(patch: Patches) -> None:
    """An append looks for the head first, and inserts behind it in a transaction of its own."""

    def append(self: Any, engine: Any, *stream: Any, make: Callable[[Any], Any]) -> Any:
        last = self._last(engine, stream)
        stale = copy.copy(self)
        stale._last = lambda _reader, _stream: last
        return engine.write(lambda transaction: stale.append_in(transaction, *stream, make=make))

    patch.method(Chain, "append", append)


@mutant("L4", on=BOTH)
def chain_takes_a_second_entry_about_a_topic(patch: Patches) -> None:
    """Nobody looks whether a topic has an entry."""
    append = Chain._append

    def unlisted(self: Any, port: Any, stream: Any, make: Any) -> Any:
        loose = copy.copy(self)
        loose.topics = None
        return append(loose, port, stream, make)

    patch.method(Chain, "_append", unlisted)


@mutant("L4", on=MEMORY)
def chain_head_taken_as_it_is(patch: Patches) -> None:
    """An append does not look whether the last line is the entry of its place."""

    def lenient(self: Any, _stream: Any, last: Any) -> Any:
        try:
            return self.format.parse(last.line)
        except MalformedLine:
            return Checkpoint("0" * 32, last.sequence, "sha256:" + "0" * 64)

    patch.method(Chain, "_head_entry", lenient)


@mutant("L4", on=MEMORY)
def chain_entry_not_read_back(patch: Patches) -> None:
    """A new line is written without a look whether it can be read."""
    patch.method(Chain, "_rendered", lambda self, entry: self.format.render(entry))


@mutant("L4", on=MEMORY)
def chain_goes_on_behind_its_last_place(patch: Patches) -> None:
    """Places have no end."""
    append = Chain._append

    def endless(self: Any, port: Any, stream: Any, make: Any) -> Any:
        loose = copy.copy(self)
        loose.format = copy.copy(self.format)
        loose.format.max_sequence = 2**63
        return append(loose, port, stream, make)

    patch.method(Chain, "_append", endless)


@mutant("L4", on=MEMORY)
def chain_line_with_a_member_twice_accepted(patch: Patches) -> None:
    """Of two members of one name the last one counts, as most parsers have it."""
    patch.method(JsonFormat, "_check_members", lambda self, line: None)


@mutant("L4", on=MEMORY)
def chain_hole_read_over(patch: Patches) -> None:
    """A read goes on behind a line that is missing."""

    def careless(self: Any, reader: Any, *stream: Any, after: int = 0, limit: int) -> Any:
        return self._stored(reader.scan(self.lines, *stream, start=(after + 1,), limit=limit))

    patch.method(Chain, "read", careless)


@mutant("L4", on=MEMORY)
def chain_check_sees_what_it_expects(patch: Patches) -> None:
    """The quick look takes any entries for those that come next."""
    patch.method(ChainCheck, "_is_next", lambda self, seen, places, previous: True)


@mutant("L4", on=MEMORY)
def chain_check_of_what_looks_alike(patch: Patches) -> None:
    """The quick look takes lines for entries of the chain by how they begin, and their trail for any."""
    look = QuickLook.at

    def lax(self: Any, trail: str) -> Any:
        careful = look(self, trail)

        def recognise(lines: Any) -> Any:
            return careful([line.replace(b"f" * len(trail), trail.encode()) for line in lines]) if careful else None

        return recognise

    patch.method(QuickLook, "at", lax)


def _blind(patch: Patches, *kinds: ChainFinding) -> None:
    """Have the check not notice findings of these kinds."""
    add = ChainCheck.add

    def selective(self: Any, kind: ChainFinding, sequence: int, detail: str = "") -> None:
        if kind not in kinds:
            add(self, kind, sequence, detail)

    patch.method(ChainCheck, "add", selective)


@mutant("L4", on=MEMORY)
def chain_check_without_links(patch: Patches) -> None:
    """The check compares no link."""
    _blind(patch, ChainFinding.PREVIOUS_MISMATCH)


@mutant("L4", on=MEMORY)
def chain_check_without_places(patch: Patches) -> None:
    """The check counts no places."""
    _blind(patch, ChainFinding.SEQUENCE_MISMATCH)


@mutant("L4", on=MEMORY)
def chain_check_without_trails(patch: Patches) -> None:
    """The check takes entries of another chain."""
    _blind(patch, ChainFinding.TRAIL_MISMATCH, ChainFinding.CHECKPOINT_TRAIL_MISMATCH)


@mutant("L4", on=MEMORY)
def chain_checkpoint_s_digest_not_compared(patch: Patches) -> None:
    """A checkpoint is matched by any entry at its place."""
    _blind(patch, ChainFinding.CHECKPOINT_RECORD_MISMATCH)


@mutant("L4", on=MEMORY)
def chain_cut_tail_not_missed(patch: Patches) -> None:
    """What is held of places behind the last one is not looked at."""
    end = ChainCheck.end

    def content(self: Any) -> Any:
        self._pinned.clear()
        self._held.clear()
        return end(self)

    patch.method(ChainCheck, "end", content)


@mutant("L4", on=MEMORY)
def chain_check_stops_at_the_first_fault(patch: Patches) -> None:
    """The check ends where something is wrong."""
    feed = ChainCheck.feed

    def impatient(self: Any, lines: Any, places: Any = None, met: Any = None) -> None:
        for line, place in zip(lines, places, strict=True):
            if not self._total:
                feed(self, [line], [place], met)

    patch.method(ChainCheck, "feed", impatient)


@mutant("L4", on=BOTH)
def chain_check_fails_at_a_bad_row(patch: Patches) -> None:
    """A row that can't be read ends the check, and what comes behind it is not looked at."""

    walk = pages_with_faults

    def strict(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for rows in walk(*args, **kwargs):
            if isinstance(rows, Corrupt):
                raise rows
            yield rows

    patch.function(walk, strict)


@mutant("L4", on=MEMORY)
def chain_topics_not_compared(patch: Patches) -> None:
    """The check looks at the entries, and not whether the list of topics leads to them."""
    patch.method(ChainTopics, "agree", lambda self, reader, last, page: True)


@mutant("L4", on=MEMORY)
def chain_topics_compared_by_their_number(patch: Patches) -> None:
    """The list of topics is compared with the entries by how many there are."""
    patch.method(ChainTopics, "_number", lambda self, at, topic: 1)
