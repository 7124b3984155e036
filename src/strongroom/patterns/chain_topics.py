"""The check of a chain's topics: that the entries and the list of topics are about the same, each topic once.

Both are read once, in their own orders, and compared by a sum over keyed hashes of every pair of topic and place,
which is the same only for the same pairs. So it takes no memory, and no look-up for each entry. Only where the sums
differ, every entry is looked up, to name what is wrong.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from strongroom.engine import Reader
from strongroom.errors import Corrupt, InvalidArgument
from strongroom.patterns.chain_check import ChainCheck, ChainFinding
from strongroom.patterns.walks import pages_with_faults
from strongroom.records import AnyTable


@dataclass(frozen=True, slots=True)
class Entries:
    """Where a stream's entries and their topics are kept; the columns are those beside the keys."""

    lines: AnyTable
    line: str
    topics: AnyTable
    place: str
    stream: tuple[Any, ...]
    topic_of: Callable[[bytes], str]
    """The topic of a line; empty for one that is no entry."""


class ChainTopics:
    """The check of one stream's topics under way: tell it every entry, and then see whether the list agrees."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        # Both are secret: nobody can make up pairs whose sums are the same. A key would take twice the time.
        salt, person = secrets.token_bytes(16), secrets.token_bytes(16)
        self._begun = hashlib.blake2b(digest_size=32, salt=salt, person=person)
        self._sum = 0

    def meet(self, places: Sequence[int], topics: Sequence[str]) -> None:
        """Take in entries."""
        self._sum += sum(map(self._number, places, topics))

    def agree(self, reader: Reader, last: int, page: int) -> bool:
        """Whether the list of topics leads to just the entries that were met, which end at `last`."""
        topics, place = self._entries.topics, self._entries.place
        topic = topics.key_names[-1]
        listed = 0
        for rows in pages_with_faults(reader, topics, *self._entries.stream, page=page):
            if isinstance(rows, Corrupt):
                return False
            pairs = [(getattr(row, place), getattr(row, topic)) for row in rows]
            listed += sum([self._number(at, about) for at, about in pairs if at <= last])
        return listed == self._sum

    def name(self, reader: Reader, check: ChainCheck[Any], last: int, page: int) -> None:
        """Find, for each entry, what its topic leads to, and for each topic, what its place holds."""
        entries = self._entries
        for rows in pages_with_faults(reader, entries.lines, *entries.stream, page=page):
            if not isinstance(rows, Corrupt):
                places = [entries.lines.key_in(row)[-1] for row in rows]
                topics = [entries.topic_of(getattr(row, entries.line)) for row in rows]
                self._name_entries(reader, check, [one for one in zip(places, topics, strict=True) if one[0] <= last])
        for rows in pages_with_faults(reader, entries.topics, *entries.stream, page=page):
            if isinstance(rows, Corrupt):
                check.add(ChainFinding.ROW_CORRUPT, 0, str(rows))
            else:
                self._name_topics(reader, check, [row for row in rows if getattr(row, entries.place) <= last])

    def _name_entries(self, reader: Reader, check: ChainCheck[Any], met: list[tuple[int, str]]) -> None:
        found = self._listed(reader, [topic for _, topic in met if topic])
        for at, topic in met:
            place = found.get(topic)
            if topic and place != at:
                twice = place is not None and self._topic_at(reader, place) == topic
                check.add(ChainFinding.TOPIC_NAMED_TWICE if twice else ChainFinding.TOPIC_MISMATCH, at)

    def _name_topics(self, reader: Reader, check: ChainCheck[Any], rows: Iterable[Any]) -> None:
        """Of a line that is missing, or is no entry, enough is said where the lines are checked."""
        for row in rows:
            place = getattr(row, self._entries.place)
            topic = self._topic_at(reader, place)
            if topic and topic != self._entries.topics.key_in(row)[-1]:
                check.add(ChainFinding.TOPIC_MISMATCH, place)

    def _listed(self, reader: Reader, topics: list[str]) -> dict[str, int]:
        """The places that topics lead to, without those that lead nowhere and those whose row can't be read."""
        stream, place = self._entries.stream, self._entries.place
        try:
            rows = reader.get_many(self._entries.topics, [(*stream, topic) for topic in topics])
        except (Corrupt, InvalidArgument):
            if len(topics) == 1:
                return {}
            half = len(topics) // 2
            return self._listed(reader, topics[:half]) | self._listed(reader, topics[half:])
        return {topic: getattr(row, place) for topic, row in zip(topics, rows, strict=True) if row is not None}

    def _topic_at(self, reader: Reader, place: int) -> str:
        """What the entry at a place is about; empty where there is none that can be read."""
        try:
            row = reader.get(self._entries.lines, *self._entries.stream, place)
        except Corrupt:
            return ""
        return "" if row is None else self._entries.topic_of(getattr(row, self._entries.line))

    def _number(self, at: int, topic: str) -> int:
        pair = self._begun.copy()
        pair.update(f"{at} {topic}".encode())
        return int.from_bytes(pair.digest())
