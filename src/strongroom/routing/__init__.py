"""One room over many engines: a router finds for each scope the room that it lives in, and moves scopes between rooms.

Everything that is written on the engine port runs on a `Router` unchanged. See ``docs/guide-router.md``.
"""

from strongroom.routing.config import RoomsFile, open_url
from strongroom.routing.listing import Whereabouts, scopes_of, where
from strongroom.routing.moving import cancel, move
from strongroom.routing.placement import Placement, rendezvous
from strongroom.routing.router import Router
from strongroom.routing.tables import ROUTER, Route, Stage

__all__ = [
    "ROUTER",
    "Placement",
    "RoomsFile",
    "Route",
    "Router",
    "Stage",
    "Whereabouts",
    "cancel",
    "move",
    "open_url",
    "rendezvous",
    "scopes_of",
    "where",
]
