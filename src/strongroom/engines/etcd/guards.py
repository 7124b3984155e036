"""What a transaction has read, and the comparisons under which that is still true when it commits (T2).

A key that was read has one comparison, whether it was there or not. A span that was walked has one against keys that
are new or changed, and those that were found there one each, because etcd can't compare what is gone. Where that is
more than one transaction may compare, a table is guarded as a whole: one comparison of the span that has all that was
read of it, and one of the key that everybody writes who deletes rows of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from strongroom.engines.etcd.layout import Layout, Span
from strongroom.engines.etcd.messages import Compare, KeyValue

EQUAL: Final = 0
GREATER: Final = 1
LESS: Final = 2
CREATED: Final = 1
MODIFIED: Final = 2


def absent(key: bytes) -> Compare:
    """Nothing stands under the key."""
    return Compare(result=EQUAL, target=CREATED, key=key, create_revision=0)


def present(key: bytes) -> Compare:
    """Something stands under the key."""
    return Compare(result=GREATER, target=CREATED, key=key, create_revision=0)


def unchanged(key: bytes, revision: int) -> Compare:
    """What stands under the key was written at this revision; 0: nothing does."""
    return Compare(result=EQUAL, target=MODIFIED, key=key, mod_revision=revision) if revision else absent(key)


def older(span: Span, revision: int) -> Compare:
    """Nothing in the span was written after this revision."""
    return Compare(result=LESS, target=MODIFIED, key=span[0], range_end=span[1], mod_revision=revision + 1)


class Guards:
    """What one transaction has read so far, by the names of tables."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tables: dict[str, _Seen] = {}

    def saw(self, table: str, key: bytes, pair: KeyValue | None) -> None:
        """A key was read."""
        self._of(table).keys[key] = 0 if pair is None else pair.mod_revision

    def walked(self, table: str, span: Span, pairs: Sequence[KeyValue]) -> None:
        """A span was walked from one end to the other."""
        seen = self._of(table)
        seen.spans.append(span)
        seen.keys.update((pair.key, pair.mod_revision) for pair in pairs)

    def has(self, table: str, key: bytes) -> bool:
        """Whether the key is guarded already."""
        seen = self._tables.get(table)
        return seen is not None and (key in seen.keys or any(low <= key < high for low, high in seen.spans))

    def compares(self, revision: int, room: int) -> list[Compare]:
        """The comparisons for what was read at `revision`; at most `room`, if that can be."""
        exact = {table: len(seen.keys) + len(seen.spans) for table, seen in self._tables.items()}
        whole: set[str] = set()
        for table in sorted(exact, key=lambda table: -exact[table]):
            if sum(exact[table] for table in exact if table not in whole) + 2 * len(whole) <= room:
                break
            whole.add(table)
        found: list[Compare] = []
        for table, seen in self._tables.items():
            if table in whole:
                found.append(older(seen.hull(), revision))
                deletions = self._layout.deletions(table)
                found.append(older((deletions, deletions + b"\0"), revision))
            else:
                found += [unchanged(key, written) for key, written in seen.keys.items()]
                found += [older(span, revision) for span in seen.spans]
        return found

    def _of(self, table: str) -> _Seen:
        seen = self._tables.get(table)
        if seen is None:
            seen = self._tables[table] = _Seen()
        return seen


class _Seen:
    """What was read of one table."""

    def __init__(self) -> None:
        self.keys: dict[bytes, int] = {}
        """The revision at which what stands under each key was written; 0 for nothing."""
        self.spans: list[Span] = []

    def hull(self) -> Span:
        """The least span that has all of it."""
        lows = [*self.keys, *(low for low, _ in self.spans)]
        highs = [*(key + b"\0" for key in self.keys), *(high for _, high in self.spans)]
        return min(lows), max(highs)
