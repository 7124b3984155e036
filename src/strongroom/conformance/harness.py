"""The harness: what an engine's author gives, so that the kit can open the engine, and reach behind its back.

Only `open` and `fresh` must be given. Whatever else a harness is able to do, it says in `abilities`; cases that need
an ability which it has not are reported as unsupported, never as passed. An engine that a URL opens needs no harness
of its own: see `UrlHarness`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from strongroom.engine import Engine
from strongroom.errors import Unsupported
from strongroom.records import AnyTable, Stored


class Ability(Enum):
    """Something that a harness may be able to do; the value completes "the harness can't ..."."""

    PROCESSES = "let another process open the store"
    TAMPER = "change a stored row behind the engine's back"
    TOOLS = "try the database's own tools on a row"
    EXCLUSIVE = "open the store for one holder alone"
    IMAGE = "show the bytes of a closed store"
    FLUSHES = "count what the engine flushes"
    DISK_FULL = "fill the disk"
    FAILED_COMMIT = "make a commit fail"
    LOST_ANSWER = "lose the answer to a commit that was kept"
    LOST_COMMIT = "lose a commit together with its answer"
    CONFLICTS = "let rivals win every commit"
    LATE_COMMIT = "carry a commit to the server when its sender has lost the connection"
    LOST_CONNECTION = "cut the connections to the server"
    SERVER_AWAY = "keep the server away"
    GONE_AFTER_COMMIT = "have the server go away right behind a commit"
    GONE_BEFORE_COMMIT = "have the server go away right before a commit"


class Harness(ABC):
    """One engine's way into the kit. `name` is what reports call it."""

    name: str = "engine"

    opener: str = "strongroom:open"
    """The function, as ``module:name``, that another process opens `url` with."""

    wanted: frozenset[Ability] = frozenset(Ability)
    """What is going to be asked for until the next `fresh`; whoever runs a case says so before. All, unless said:
    a harness may spare itself what serves the rest."""

    @abstractmethod
    def open(self) -> Engine:
        """A new engine object on the present store; several are open at once where the engine claims that."""

    def open_hasty(self) -> Engine:
        """As `open`, but the engine gives up within some seconds on a server that is away (`Ability.SERVER_AWAY`)."""
        return self.open()

    @abstractmethod
    def fresh(self) -> None:
        """Go over to a store that holds nothing. Whatever was opened before may be forgotten."""

    def close(self) -> None:  # noqa: B027 - a harness may have nothing to let go of
        """Let go of everything; called once, at the end."""

    @property
    def url(self) -> str:
        """Opens the present store from another process, given to `opener`; empty where none can."""
        return ""

    @property
    def abilities(self) -> frozenset[Ability]:
        """What this harness is able to do beyond opening the engine."""
        return frozenset({Ability.PROCESSES}) if self.url else frozenset()

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        """Set one column of a stored row, the column ``seal`` among them, past every guard (`Ability.TAMPER`).

        False if the database keeps its columns so strictly that it can't hold the value.
        """
        raise self._unable(Ability.TAMPER)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        """A row as it is stored, by column, its ``seal`` too; None if there is none (`Ability.TAMPER`)."""
        raise self._unable(Ability.TAMPER)

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        """Remove a stored row past every guard (`Ability.TAMPER`)."""
        raise self._unable(Ability.TAMPER)

    def raw_update_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        """Whether the database refuses its own tools the change of a row, its guards in place (`Ability.TOOLS`)."""
        raise self._unable(Ability.TOOLS)

    def raw_replace_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        """As `raw_update_refused`, for the database's way to write one row over another, if it has one."""
        return self.raw_update_refused(table, key, column, value)

    def raw_delete_refused(self, table: AnyTable, key: Sequence[Any]) -> bool:
        """As `raw_update_refused`, for the removal of a row."""
        raise self._unable(Ability.TOOLS)

    def open_exclusive(self) -> Engine:
        """A new engine object that holds the present store alone (`Ability.EXCLUSIVE`)."""
        raise self._unable(Ability.EXCLUSIVE)

    @property
    def exclusive_url(self) -> str:
        """What another process holds the present store alone with (`Ability.EXCLUSIVE` and `Ability.PROCESSES`)."""
        raise self._unable(Ability.EXCLUSIVE)

    def image(self) -> bytes:
        """All bytes that the present store, which nobody has open, consists of (`Ability.IMAGE`)."""
        raise self._unable(Ability.IMAGE)

    def flushes(self) -> int:
        """How often the present store was flushed so far (`Ability.FLUSHES`)."""
        raise self._unable(Ability.FLUSHES)

    def inflict(self, fault: Ability) -> AbstractContextManager[None]:
        """While the context lasts, the store suffers `fault`, one of the faults that `abilities` names.

        A fault of commits strikes the next commit at least; a harness that can tell says so if there was none.
        """
        raise self._unable(fault)

    def cut(self) -> None:
        """Cut every connection that an engine has to the present store (`Ability.LOST_CONNECTION`)."""
        raise self._unable(Ability.LOST_CONNECTION)

    def _unable(self, ability: Ability) -> Unsupported:
        return Unsupported(f"the harness can't {ability.value}")

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()
