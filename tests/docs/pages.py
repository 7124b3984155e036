"""The pages of the documentation, taken apart: their fenced blocks, links and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOUSE = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)(?: from (\S+))?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: [^\n]+ -->\n+$")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is that of its first line in the page."""

    language: str
    text: str
    line: int
    run: bool
    """False behind a comment of the form ``<!-- not run: why -->``, and where it is another file's."""
    source: str
    """The file that the block is a part of; empty where it is the page's own. Written behind the language."""


@dataclass(frozen=True)
class Page:
    """A page, and its name as a reader would find it."""

    name: str
    text: str

    @property
    def blocks(self) -> Iterator[Block]:
        """The fenced blocks, in order."""
        for found in _FENCE.finditer(self.text):
            line = self.text.count("\n", 0, found.start()) + 2
            run = _NOT_RUN.search(self.text, 0, found.start()) is None and not found[2]
            yield Block(found[1], found[3], line, run, found[2] or "")

    @property
    def prose(self) -> str:
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """Where the page's links lead, but those to other sites."""
        return [link for link in _LINK.findall(self.prose) if "://" not in link]

    @property
    def anchors(self) -> set[str]:
        """What a link may name behind ``#``."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    def section(self, heading: str) -> str:
        """The text under a heading, down to the next one of its rank or a higher one; empty if there is none."""
        found = re.search(rf"^(#+) {re.escape(heading)}$", self.text, re.MULTILINE)
        if found is None:
            return ""
        rest = self.text[found.end() :]
        end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
        return rest[: end.start()] if end else rest


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", ""))
    return kept.replace(" ", "-")


def pages() -> dict[str, Page]:
    """Every page, by its path in the checkout."""
    paths = [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]
    named = {str(path.relative_to(HOUSE)): path for path in paths if path.exists()}
    return {name: Page(name, path.read_text(encoding="utf-8")) for name, path in named.items()}
