"""Store URLs: which engine, where, with which options; and how to show one without its secrets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote

from strongroom.errors import InvalidArgument

_DIGITS: Final = 15
"""Of a number in an option: more than anyone means, and few enough to be read in no time."""


@dataclass(frozen=True)
class StoreUrl:
    """A store's URL, taken apart. `place` is what stands between the scheme and the options, as written."""

    scheme: str
    place: str = field(repr=False)
    options: dict[str, str] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> StoreUrl:
        """The parts of ``scheme://place?option=value&...``; `InvalidArgument` if it has not that form."""
        scheme, separator, rest = text.partition("://")
        if not separator or not scheme or not scheme.replace("+", "").replace("-", "").isalnum():
            raise InvalidArgument(
                "a store is named by a URL such as sqlite:///strongroom.db, sqlite://:memory: or memory://"
            )
        place, _, query = rest.partition("?")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        except ValueError:
            raise InvalidArgument(f"{scheme} URL: options have the form ?name=value&name=value") from None
        if len({name for name, _ in pairs}) != len(pairs):
            raise InvalidArgument(f"{scheme} URL: an option stands twice")
        return cls(scheme.lower(), place, dict(pairs))

    @property
    def path(self) -> str:
        """The place as a file path: ``sqlite:///a.db`` is ``a.db``, ``sqlite:////tmp/a.db`` is ``/tmp/a.db``."""
        return unquote(self.place.removeprefix("/"))

    @property
    def shown(self) -> str:
        """The URL as it may be shown: without user, password and option values."""
        place = self.place.rpartition("@")[2]
        return f"{self.scheme}://{place}" + ("?" + "&".join(self.options) if self.options else "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An option that is 1 or 0; `InvalidArgument` for anything else."""
        value = self.options.get(name, str(int(default)))
        if value not in ("0", "1"):
            raise InvalidArgument(f"{self.scheme} URL: {name} is 0 or 1")
        return value == "1"

    def number(self, name: str, default: int, *, minimum: int = 0) -> int:
        """An option that is a whole number of at most 15 digits; `InvalidArgument` for anything else."""
        text = self.options.get(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= minimum):
            raise InvalidArgument(
                f"{self.scheme} URL: {name} is a whole number of at least {minimum} and at most {_DIGITS} digits"
            )
        return int(text)

    def choice(self, name: str, default: str, allowed: Iterable[str]) -> str:
        """An option that is one of a few words; `InvalidArgument` for any other."""
        value = self.options.get(name, default)
        if value not in allowed:
            raise InvalidArgument(f"{self.scheme} URL: {name} is one of {', '.join(allowed)}")
        return value

    def allow(self, *names: str) -> None:
        """Raises `InvalidArgument` for an option that is none of `names`."""
        # A password with a "?" in it that was not encoded: what looks like an option's name is a piece of it.
        torn = "@" not in self.place and any("@" in part for pair in self.options.items() for part in pair)
        for name in self.options:
            if name not in names:
                known = f"it has {', '.join(names)}" if names else "it has none"
                shown = "of that name" if torn else repr(name)
                raise InvalidArgument(f"{self.scheme} URL: no option {shown}; {known}")
