"""How one database writes what all of them mean alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """A database's way to write SQL."""

    quote: str
    """What stands around a name, and is doubled inside of one."""
    hole: str
    """Where a value is bound."""
    compares_rows: bool = True
    """Whether ``(a, b) > (x, y)`` is answered from an index; where it is not, it is written as single comparisons."""
    merges_walks: bool = True
    """Whether several ordered walks are merged as they are made; where not, each is bounded by itself."""
    joins_walks: bool = False
    """Whether the walks of one bound, joined by OR in a single condition, are still one ordered walk of the index."""
    hides_by_plus: bool = False
    """Whether a plus before a column keeps it from the index, as SQLite has it."""

    def name(self, name: str) -> str:
        """A name as SQL writes it."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def names(self, names: Iterable[str]) -> str:
        """Names as SQL lists them."""
        return ", ".join(map(self.name, names))

    def holes(self, count: int) -> str:
        """So many holes, as SQL lists them."""
        return ", ".join([self.hole] * count)

    def equal(self, names: Iterable[str]) -> str:
        """The condition that columns of these names have bound values."""
        return " AND ".join(f"{self.name(name)} = {self.hole}" for name in names)
