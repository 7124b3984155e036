"""One connection, as a proxy reads it: which message commits, and when the server has answered it.

A proxy that is to lose a commit, or the answer to one, has to know a commit when it sees one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """A whole message of the client's."""

    data: bytes
    commits: bool = False
    reply: bytes = b""
    """What the client gets for it from the proxy; it does not reach the server then."""


class Wire(ABC):
    """One connection, seen from between its ends."""

    def __init__(self) -> None:
        self._from_client = b""
        self._from_server = b""

    @abstractmethod
    def sent(self, data: bytes) -> Iterator[Sent]:
        """The messages that the client has ended with `data`."""

    @abstractmethod
    def answered(self, data: bytes) -> bool:
        """Whether the server has, with `data`, answered all that was sent."""

    def _take(self, length: int) -> bytes:
        """The first so many bytes of what the client has sent, which are not looked at again."""
        message, self._from_client = self._from_client[:length], self._from_client[length:]
        return message
