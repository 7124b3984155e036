"""Logs whose entries claim names, each once, where no transaction holds an entry and its name together.

The log's next position is the arbiter: it is created once. The name of an entry is registered after it, by whoever
comes first: the one who appended it, or the next one who appends. So at any time all entries but the last one have
their names registered, and a name is in the log exactly if it is registered or the last entry's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

E = TypeVar("E")


class NamedLog(Generic[E], ABC):
    """The five things that a flow gives, and `claim`, which is made of them."""

    @abstractmethod
    def head(self) -> E | None:
        """The last entry."""

    @abstractmethod
    def name_of(self, entry: E) -> str:
        """The name that an entry claims."""

    @abstractmethod
    def find(self, name: str) -> E | None:
        """The entry of a registered name."""

    @abstractmethod
    def add(self, entry: E) -> None:
        """Create the entry at its position; `AlreadyExists` where that has one."""

    @abstractmethod
    def settle(self, entry: E) -> None:
        """Register the entry's name, and do whatever else must follow it; once more does nothing."""

    def claim(self, name: str, make: Callable[[E | None], E]) -> E:
        """The entry that owns `name`: the one that is in the log, or the one that `make` builds to follow the head.

        Either way the last entry is settled first, so whatever a stopped caller left undone is done. Raises
        `AlreadyExists`, nothing lost, where another claim took the position, and what `make` raises.
        """
        head = self.head()
        # Only after the head is known does a name that is not registered mean that no entry before the head has it.
        known = self.find(name)
        if head is not None:
            self.settle(head)
            if self.name_of(head) == name:
                return head
        if known is not None:
            return known
        entry = make(head)
        self.add(entry)
        self.settle(entry)
        return entry
