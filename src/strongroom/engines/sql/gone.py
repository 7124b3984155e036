"""What stands, in a forked child, where its parent's connection was."""

from __future__ import annotations

from typing import Any

from strongroom.errors import Closed


class Gone:
    """Raises `Closed`, saying `why`, for whatever is asked of it (C2)."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise Closed(self._why)
