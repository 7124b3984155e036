"""The journal: an entry for everything that changes in a workspace, in the transaction that changes it.

`Moment` is one such transaction: what it writes to the journal is numbered behind what is there, and the first entry
of all is preceded by one that says that the journal began. `Journal` reads it. Entries hold no input, no result, no
key, no digest and no person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from strongroom.domains.dispatch.faults import READ_FAULTS
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.records import JOURNAL, REASON_BYTES, WORKSPACES, JournalEntry, Workspace
from strongroom.domains.dispatch.texts import cut_bytes
from strongroom.domains.dispatch.words import ActorKind, JournalKind
from strongroom.engine import Engine, Reader
from strongroom.errors import InvalidArgument
from strongroom.patterns import Log

ENTRIES: Final = Log(JOURNAL)
"""The journal as its readers see it: in order, and whole."""

PAGE: Final = 50
"""How many items a page of a listing has, unless asked for others."""
EXAMINED: Final = 10_000
"""How many rows a filtered page looks at, at most: a rare thing is found over several pages, none of which is slow."""
_CHUNK: Final = 500

_detail: Final = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change: never a person."""

    kind: ActorKind
    name: str = ""
    """The installation's owner, the trigger's or the connection's id; empty for the runner."""
    revision: int | None = None
    """The trigger's revision, or that of its key."""


RUNNER: Final = Actor(ActorKind.RUNNER)


@dataclass(frozen=True, slots=True)
class Concerns:
    """The records that an entry is about, by id; empty where there is none of that kind."""

    job: str = ""
    release: str = ""
    trigger: str = ""
    occurrence: str = ""
    run: str = ""


class Moment:
    """One transaction in one workspace: its time, and its place in the journal.

    Nothing writes to the journal but through `record`. Of one transaction there is one moment: the place is looked up
    once, and counted on from there; that two transactions never take the same place is for the journal's key to say.
    """

    def __init__(self, port: WritePort, workspace: str, owner: str) -> None:
        self.port = port
        self.workspace = workspace
        self.owner = owner
        self._head: int | None = None
        self._now: int | None = None

    @property
    def now(self) -> int:
        """The engine's clock, the same for all that this transaction writes."""
        if self._now is None:
            self._now = self.port.now()
        return self._now

    @property
    def next_sequence(self) -> int:
        """The place of the entry that `record` writes next."""
        if self._head is None:
            self._head = ENTRIES.head(self.port, self.workspace)
            if not self._head:
                self._begin()
        return self._head + 1

    def record(
        self,
        kind: JournalKind,
        by: Actor,
        concerns: Concerns,
        *,
        revision: int | None = None,
        states: tuple[str, str] = ("", ""),
        reason: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> int:
        """Write an entry, and answer its place. `states` are the one before, empty for something new, and the new one.

        A reason of more than 1,024 bytes is cut.
        """
        sequence = self.next_sequence
        self.port.insert(
            JOURNAL,
            JournalEntry(
                self.workspace,
                sequence,
                kind,
                self.now,
                by.kind,
                by.name,
                by.revision,
                concerns.job,
                concerns.release,
                concerns.trigger,
                concerns.occurrence,
                concerns.run,
                revision,
                # The plain texts of members of an enumeration: a row of nothing else is checked quickly.
                str.__str__(states[0]),
                str.__str__(states[1]),
                cut_bytes(reason, REASON_BYTES) if reason else "",
                _detail(detail).decode() if detail else "",
            ),
        )
        self._head = sequence
        return sequence

    def _begin(self) -> None:
        """Say whose the workspace is and that its journal begins: nothing was held before."""
        self.port.insert(WORKSPACES, Workspace(self.workspace, self.owner))
        self._head = 0
        held = {"jobs": 0, "triggers": 0, "occurrences": 0, "runs": 0}
        self.record(JournalKind.JOURNAL_BEGAN, RUNNER, Concerns(), detail={"held": held})


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Some entries, oldest first."""

    began: int | None
    """When the journal began; None for an empty one."""
    items: list[JournalEntry]
    next: int
    """What to ask for the entries behind these: the last place that was looked at, or the one given."""
    more: bool
    """Whether there are, or may be, entries behind."""


class Journal:
    """The journal of one workspace, for reading."""

    def __init__(self, engine: Engine, workspace: str) -> None:
        self._engine = engine
        self._workspace = workspace

    def page(self, *, after: int = 0, job: str = "", limit: int = PAGE) -> JournalPage:
        """The entries behind the place `after`, at most `limit` (1 to 10,000) of them, of one job if it is named.

        One job's entries are picked out of all: a page looks at 10,000 at most, and may so have few, or none, and
        `more` to come. Raises `InvalidArgument` for a negative `after` and a limit out of range, `Unreadable` where a
        place is missing: a broken history is never taken for a short one.
        """
        if job:
            JOURNAL.check_value("job", job)

        def read(snapshot: Reader) -> JournalPage:
            with READ_FAULTS:
                first = ENTRIES.read(snapshot, self._workspace, limit=1)
                return self._page(snapshot, after, job, limit, first[0].at_ms if first else None)

        return self._engine.read(read)

    def head(self) -> int:
        """The place of the last entry; 0 for none."""
        with READ_FAULTS:
            return ENTRIES.head(self._engine, self._workspace)

    def get(self, sequence: int) -> JournalEntry | None:
        """The entry at a place; None if there is none (yet)."""
        with READ_FAULTS:
            return self._engine.get(JOURNAL, self._workspace, sequence)

    def _page(self, reader: Reader, after: int, job: str, limit: int, began: int | None) -> JournalPage:
        if type(limit) is not int or not 1 <= limit <= EXAMINED:
            raise InvalidArgument(f"{JOURNAL.name}: a limit is an integer from 1 to {EXAMINED}")
        items: list[JournalEntry] = []
        place, examined = after, 0
        while examined < EXAMINED:
            asked = min(_CHUNK if job else limit + 1, EXAMINED)
            entries = ENTRIES.read(reader, self._workspace, after=place, limit=asked)
            for entry in entries:
                if not job or entry.job == job:
                    if len(items) == limit:
                        return JournalPage(began, items, place, True)
                    items.append(entry)
                place = entry.sequence
                examined += 1
            if len(entries) < asked:
                return JournalPage(began, items, place, False)
        return JournalPage(began, items, place, True)
