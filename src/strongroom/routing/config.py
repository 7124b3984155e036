"""Routers as files: ``router:///rooms.toml`` names the rooms, and which scope lives where.

    home = "main"                       # tables without a scope, and the router's own
    hash = ["main", "east", "west"]     # or: default = "main"

    [rooms]
    main = "sqlite:///main.db"
    east = "postgresql://strongroom:${EAST_PASSWORD}@db.example/strongroom"
    west = "${WEST_URL}"

    [scopes]
    android = "east"

``${NAME}`` is the environment's variable of that name: percent-encoded inside a URL, as it is where it is the whole
URL. So no secret need stand in the file.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from strongroom.engine import StoreUrl, open
from strongroom.errors import InvalidArgument, NotFound
from strongroom.routing.placement import Placement, check_name
from strongroom.routing.router import HOLD_MS, Router

_VARIABLE: Final = re.compile(r"\$\{(\w*)\}")
_KNOWN: Final = ("home", "hash", "default", "movable", "rooms", "scopes")
_LONGEST: Final = 1_000_000


@dataclass(frozen=True)
class RoomsFile:
    """What a rooms file says: each room's URL, and the placement."""

    rooms: dict[str, str]
    placement: Placement

    @classmethod
    def read(cls, path: Path) -> RoomsFile:
        """The rooms file at `path`.

        Raises `NotFound` where there is none, and `InvalidArgument`, which shows no URL, for one that says something
        else than it may.
        """
        try:
            with path.open("rb") as file:
                said = tomllib.loads(file.read(_LONGEST).decode())
        except FileNotFoundError:
            raise NotFound(f"there is no rooms file {path}") from None
        except OSError as problem:
            raise InvalidArgument(f"the rooms file {path} can't be read: {problem.strerror}") from None
        except ValueError as problem:
            raise InvalidArgument(f"the rooms file {path} is no TOML: {problem}") from None
        try:
            return cls.of(said)
        except InvalidArgument as wrong:
            raise InvalidArgument(f"the rooms file {path}: {wrong}") from None

    @classmethod
    def of(cls, said: dict[str, Any]) -> RoomsFile:
        """The same, of what a TOML file holds; raises as `read`."""
        for name in said:
            if name not in _KNOWN:
                raise InvalidArgument(f"no setting {name!r}; it has {', '.join(_KNOWN)}")
        rooms = _texts(said, "rooms")
        for room in rooms:
            check_name(room)
        home = said.get("home", next(iter(rooms)) if len(rooms) == 1 else None)
        hashed, default, movable = said.get("hash", []), said.get("default", ""), said.get("movable", True)
        if not isinstance(home, str):
            raise InvalidArgument("home is the name of a room")
        if not (isinstance(hashed, list) and all(isinstance(room, str) for room in hashed)):
            raise InvalidArgument("hash is a list of rooms' names")
        if not isinstance(default, str) or type(movable) is not bool:
            raise InvalidArgument("default is the name of a room, and movable true or false")
        if not hashed and not default:
            default = home
        return cls(rooms, Placement(home, tuple(hashed), default, _texts(said, "scopes"), movable))

    def open(self, *, seal_key: bytes | None = None, create: bool = True, hold_ms: int = HOLD_MS) -> Router:
        """The router over all of the rooms, opened; raises as `strongroom.open` for the first that can't be."""
        with contextlib.ExitStack() as undo:
            rooms = {}
            for name, url in self.rooms.items():
                rooms[name] = undo.enter_context(open(url if create else _existing(url), seal_key=seal_key))
            router = Router(rooms, self.placement, seal_key=seal_key, hold_ms=hold_ms)
            undo.pop_all()
        return router


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Router:
    """The router of ``router:///rooms.toml``; its options are ``create=0`` and ``hold_ms``."""
    url.allow("create", "hold_ms")
    if not url.place.startswith("/") or not url.path:
        raise InvalidArgument("a router is named router:///ROOMS.toml, or router:////PATH/ROOMS.toml from the root")
    file = RoomsFile.read(Path(url.path))
    return file.open(seal_key=seal_key, create=url.flag("create", default=True), hold_ms=url.number("hold_ms", HOLD_MS))


def _texts(said: dict[str, Any], name: str) -> dict[str, str]:
    given = said.get(name, {})
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise InvalidArgument(f'[{name}] has lines of the form name = "text"')
    return {key: _expanded(value) for key, value in given.items()} if name == "rooms" else dict(given)


def _expanded(url: str) -> str:
    def value(found: re.Match[str]) -> str:
        text = os.environ.get(found[1])
        if text is None:
            raise InvalidArgument(f"the environment has no variable {found[1]!r}, which a room's URL asks for")
        return text if found[0] == url else quote(text, safe="")

    return _VARIABLE.sub(value, url)


def _existing(url: str) -> str:
    """The URL that opens the same store, but never makes it."""
    store = StoreUrl.parse(url)
    if store.scheme not in ("sqlite", "router") or store.place == ":memory:":
        return url
    return f"{store.scheme}://{store.place}?{urlencode({**store.options, 'create': '0'})}"
