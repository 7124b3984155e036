"""What a router keeps in its rooms: who they are, by which rule scopes find them, and who owns which scope.

The home room knows where every scope lives that does not live where the rule says. Every room knows the fencing number
of each scope that came to it or left it; that is what a router with an old map is stopped by.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from strongroom.records import NEVER, VERSIONED, Document, Identifier, Integer, Millis, Record, Schema, Table, Text

SCOPE_BYTES: Final = 1024
"""The longest name of a scope: as long as the widest key column that scopes are cut from."""
NAME_BYTES: Final = 32
"""The longest name of a room."""
TABLE_BYTES: Final = 60_000
"""The most bytes that the table of explicitly placed scopes may take as JSON."""


class Founding(Record):
    """The rule by which scopes find their rooms, as it was when the router was founded; it never changes."""

    name: Annotated[str, Identifier(32)]
    router: Annotated[str, Identifier(32)]
    """Tells this router's rooms from those of every other."""
    home: Annotated[str, Identifier(NAME_BYTES)]
    default: Annotated[str, Identifier(NAME_BYTES, empty=True)]
    hashed: Annotated[str, Text(10_000)]
    """The rooms that scopes are hashed over, with commas between."""
    table: Annotated[dict[str, str], Document(TABLE_BYTES)]
    movable: bool


class Membership(Record):
    """Which room of which router a store is; every room has one such row."""

    router: Annotated[str, Identifier(32)]
    room: Annotated[str, Identifier(NAME_BYTES)]


class Member(Record):
    """A room as the home room knows it."""

    room: Annotated[str, Identifier(NAME_BYTES)]
    epoch: Annotated[str, Identifier(32)]
    """The room's epoch when it was last seen: another one means that the room was restored meanwhile (R5)."""
    restores: Annotated[int, Integer(0)] = 0
    """How often that was so."""


class Stage(StrEnum):
    """How far the move of a scope has come. Until `SWITCHED` the source owns it, from then on the target."""

    PLANNED = "planned"
    FENCED = "fenced"
    """The source refuses writes of the scope."""
    COPIED = "copied"
    """The target has a copy of every row."""
    VERIFIED = "verified"
    """The copy's digests are those of the source."""
    SWITCHED = "switched"
    """The target owns the scope; the source has still to be cleaned up."""
    CANCELLED = "cancelled"
    """The move was given up, and the source goes on; both have still to be cleaned up."""
    SETTLED = "settled"
    """Nothing is left to do."""


BEFORE_SWITCH: Final = (Stage.PLANNED, Stage.FENCED, Stage.COPIED, Stage.VERIFIED)


class Route(Record):
    """Where a scope lives that was ever moved. The one row in which its owner is decided, by compare-and-set."""

    scope: Annotated[str, Identifier(SCOPE_BYTES, empty=True)]
    room: Annotated[str, Identifier(NAME_BYTES)]
    """The owner."""
    number: Annotated[int, Integer(0)]
    """The fencing number under which it owns the scope: greater with every move. A move under way has the next one."""
    stage: Stage
    other: Annotated[str, Identifier(NAME_BYTES)]
    """The other room of the last move: its target before the switch, its source from then on."""
    keep: bool
    """Whether the source's rows are to stay."""
    rows: Annotated[int, Integer(0)] = 0
    """How many rows were verified."""
    digest: Annotated[str, Identifier(64, empty=True)] = ""
    """The digest of all of them."""
    version: Annotated[int, Integer(0)] = 0


class Hold(StrEnum):
    """What a room may do with a scope under a fencing number."""

    OPEN = "open"
    """Read and write: the room owns the scope."""
    FENCED = "fenced"
    """Read what the home room confirms afterwards: the scope is about to leave."""
    INCOMING = "incoming"
    """Nothing, unless the home room says that the scope is here: then it is the same as `OPEN`."""
    LEFT = "left"
    """Nothing: the scope lives elsewhere, and rows of it that are here mean nothing."""


class Fence(Record):
    """What a room knows of a scope that ever came to it or left it. No row: it owns whatever the rule gives it."""

    scope: Annotated[str, Identifier(SCOPE_BYTES, empty=True)]
    number: Annotated[int, Integer(0)]
    hold: Hold
    since: Annotated[int, Millis()] = 0
    """The time at which the scope left its former room, by that room's clock: here it is never earlier than that."""
    version: Annotated[int, Integer(0)] = 0


FOUNDING: Final = Table("router_founding", Founding, key=("name",), changes=NEVER)
MEMBERSHIPS: Final = Table("router_memberships", Membership, key=("router",), changes=NEVER)
MEMBERS: Final = Table("router_members", Member, key=("room",), changes=VERSIONED("restores"))
ROUTES: Final = Table("router_routes", Route, key=("scope",), changes=VERSIONED("version"))
FENCES: Final = Table("router_fences", Fence, key=("scope",), changes=VERSIONED("version"))

ROUTER: Final = Schema("router", FOUNDING, MEMBERSHIPS, MEMBERS, ROUTES, FENCES)
"""Every room has these tables; all but `MEMBERSHIPS` and `FENCES` are used in the home room alone."""
