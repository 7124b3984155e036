"""The rule by which a scope finds its room: an explicit table, then rendezvous hashing or a default.

The rule is fixed when the router is founded: with another one, what was written under the first would be looked for
where it is not. Scopes are moved one by one instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from strongroom.errors import InvalidArgument, clip
from strongroom.routing.tables import NAME_BYTES

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Placement:
    """Which room a scope lives in as long as it was not moved.

    Arguments:
        home: the room of tables without a scope, and of the router's own.
        hashed: the rooms among which rendezvous hashing chooses; none: `default` takes all.
        default: the room of every scope that the table does not name, where nothing is hashed.
        table: the scopes that are placed by name.
        movable: whether scopes can be moved. That costs each call a look at one more row; without it there is no way
            to move a scope while others go on, and it can't be changed later.

    Raises `InvalidArgument` for a room's name that can't be, and unless exactly one of `hashed` and `default` is given.
    """

    home: str
    hashed: tuple[str, ...] = ()
    default: str = ""
    table: Mapping[str, str] = field(default_factory=dict)
    movable: bool = True

    def __post_init__(self) -> None:
        for name in self.named_rooms():
            check_name(name)
        if bool(self.hashed) == bool(self.default):
            raise InvalidArgument("a router places scopes by hash over some rooms, or in one default room: name either")
        if len(set(self.hashed)) != len(self.hashed):
            raise InvalidArgument("a room stands twice among those that scopes are hashed over")

    def named_rooms(self) -> set[str]:
        """The rooms that the rule names."""
        return {self.home, *self.hashed, *([self.default] if self.default else []), *self.table.values()}

    def room_of(self, scope: str) -> str:
        """The room of a scope that was never moved."""
        placed = self.table.get(scope)
        if placed is not None:
            return placed
        return rendezvous(scope, self.hashed) if self.hashed else self.default


def rendezvous(scope: str, rooms: Collection[str]) -> str:
    """The room that scores highest for `scope`: each room is as likely as any other, and none depends on the rest."""
    return max(rooms, key=lambda room: (_score(scope, room), room))


def _score(scope: str, room: str) -> bytes:
    return hashlib.blake2b(f"{room}\0{scope}".encode(), digest_size=8, person=b"strongroom.room").digest()


def check_name(name: str) -> None:
    """Raises `InvalidArgument` for a name that no room may have."""
    if not _NAME.fullmatch(name) or len(name) > NAME_BYTES:
        raise InvalidArgument(
            f"a room's name has lower-case letters, digits, '-' and '_', at most {NAME_BYTES}, not {clip(name)}"
        )
