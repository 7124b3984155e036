"""What has a life: it is started, and closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Life(ABC):
    """As a context manager it starts at the beginning, and closes at the end."""

    @abstractmethod
    def start(self) -> None:
        """Start it, for the first time or again, and wait until it answers. Raises `ServerFailed`."""

    @abstractmethod
    def close(self) -> None:
        """End it for good: nothing of it is left."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
