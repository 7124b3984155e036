"""From a URL to an open engine. Third parties add schemes by an entry point in the group ``strongroom.engines``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from strongroom.engine.base import Engine
from strongroom.engine.urls import StoreUrl
from strongroom.errors import InvalidArgument, Unsupported

Opener = Callable[..., Engine]
"""Called as ``opener(url, seal_key=...)`` with a `StoreUrl`; answers an open engine."""

GROUP: Final = "strongroom.engines"

# As in entry points, what stands in brackets are the extras that bring an engine's driver.
BUILT_IN: Final = {
    "dynamodb": "strongroom.engines.dynamodb:open_url [dynamodb]",
    "etcd": "strongroom.engines.etcd:open_url [etcd]",
    "mariadb": "strongroom.engines.mysql:open_url [mysql]",
    "memory": "strongroom.engines.memory:open_url",
    "mysql": "strongroom.engines.mysql:open_url [mysql]",
    "postgres": "strongroom.engines.postgres:open_url [postgres]",
    "postgresql": "strongroom.engines.postgres:open_url [postgres]",
    "router": "strongroom.routing:open_url",
    "sqlite": "strongroom.engines.sqlite:open_url",
}


def schemes() -> tuple[str, ...]:
    """The schemes that `open` knows, in order."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def open(url: str, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a store's URL, opened.

    Arguments:
        url: such as ``sqlite:///strongroom.db``, ``memory://`` or ``postgresql://user@host/database?schema=name``;
            each engine's page in the documentation has its options.
        seal_key: 16 to 64 bytes that seal every row; a store keeps to the key that it was made with.

    Raises `InvalidArgument` for a URL, option or key that can't be, `Unsupported` where the engine's driver is not
    installed, `NotFound` for a store that is not there and is not to be made, `StoreHeld`, `Unavailable` and `Corrupt`
    as the engine finds the store.
    """
    parsed = StoreUrl.parse(url)
    return _opener(parsed.scheme)(parsed, seal_key=seal_key)


def _opener(scheme: str) -> Opener:
    built_in = [EntryPoint(scheme, BUILT_IN[scheme], GROUP)] if scheme in BUILT_IN else []
    for point in built_in or entry_points(group=GROUP, name=scheme):
        try:
            opener: Opener = point.load()
        except ImportError as missing:
            package = point.dist.name if point.dist else "strongroom"
            extras = f"[{','.join(point.extras)}]" if point.extras else ""
            raise Unsupported(
                f"the {scheme} engine can't be loaded ({missing}): pip install '{package}{extras}' brings what it needs"
            ) from missing
        return opener
    raise InvalidArgument(f"no engine for {scheme}:// - known are {', '.join(schemes())}")
