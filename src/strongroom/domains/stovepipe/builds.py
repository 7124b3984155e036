"""Builds, the facts that they prove about a commit, and the list of a commit's project facts, most broken first."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Final, NamedTuple, Self

from strongroom.domains.stovepipe.faults import FAULTS
from strongroom.domains.stovepipe.records import (
    BUILDS,
    FACTS,
    FACTS_BY_DEGREE,
    Build,
    ProjectFactByDegree,
    ValidationFact,
)
from strongroom.domains.stovepipe.versioned import VersionedStore
from strongroom.engine import Writer
from strongroom.patterns import OrderedMapping, ScopedTable


class BuildStore(VersionedStore[Build]):
    """The queue's builds. An update writes status and version only, and so reads before it writes.

    That a terminal status is the last one is for business logic to keep.
    """

    retained: ClassVar[Collection[str]] = ("request_id",)

    def __init__(self, port: Writer, queue: str) -> None:
        super().__init__(port, BUILDS, queue)

    def get(self, build_id: str) -> Build:
        """The build; `NotFound` if the queue has none of that id. Another queue's build of the same id is another."""
        return self._rows.get(build_id)


class ValidationFactStore:
    """What is known of commits, and of projects at them. The first fact of each is the fact for ever."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, FACTS, (queue,), FAULTS)

    def create(self, fact: ValidationFact) -> None:
        """Keep the fact of a project at a commit, or (`project` empty) of the whole repository.

        Raises `AlreadyExists`, the first fact untouched; before the engine is asked `ScopeMismatch` for another
        queue's, and `InvalidArgument` for values out of range: a degree outside 0 to 1, NaN, anything but 0 and 1
        for the whole repository.
        """
        self._rows.insert(fact)

    def get(self, uri: str, project: str = "") -> ValidationFact:
        """The fact of the project (by default of the whole repository) at the commit.

        Raises `NotFound` if it has never been validated, which does not mean green.
        """
        return self._rows.get(uri, project)


class DegreeCursor(NamedTuple):
    """The fact that a listing goes on behind; it need not exist. It is a place in the order of keys."""

    degree: float
    project: str

    @classmethod
    def of(cls, fact: ValidationFact) -> Self:
        """The cursor that stands at this fact: the last of a page, to get the next one."""
        return cls(fact.degree, fact.project)


BY_DEGREE: Final = OrderedMapping(
    FACTS_BY_DEGREE,
    FACTS,
    locate=lambda entry: (entry.queue, entry.uri, entry.project),
    agrees=lambda entry, fact: (entry.degree, entry.project) == (fact.degree, fact.project),
)
"""The entries, and the facts that they point to."""


class ProjectFactByDegreeStore:
    """A commit's project facts, most broken first: an ordered mapping whose entries hold only their own keys.

    The whole repository's fact is never in it, nor is a fact that was kept before its entry was made: there is no
    way to fill it from facts alone, and none is tried while reading.
    """

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, FACTS_BY_DEGREE, (queue,), FAULTS)
        self._port = port
        self._queue = queue

    def create(self, fact: ValidationFact) -> None:
        """Enter a fact, which is to be the stored one: this is not looked up here, but on every listing.

        Raises `AlreadyExists` if it is entered; before the engine is asked `ScopeMismatch` for another queue's, and
        `InvalidArgument` for a fact of the whole repository and for a degree that is NaN or outside 0 to 1.
        """
        self._rows.insert(self._entry(fact))

    def ensure(self, fact: ValidationFact) -> bool:
        """Enter a fact, or find it entered: whether the entry is new. Raises as `create`, but for `AlreadyExists`."""
        entry = self._entry(fact)
        self._rows.check_scope(entry)
        return BY_DEGREE.ensure(self._port, entry)

    def list(self, uri: str, *, after: DegreeCursor | None = None, limit: int) -> list[ValidationFact]:
        """The commit's project facts from the most broken, bytewise by project where degrees are equal.

        At most `limit` (1 to 10,000) of them, behind `after`. Each fact is read by its own key. A fact is there
        before its entry and neither ever changes, so that the two reads need no common snapshot; pages are none
        across calls (R2). Raises `InvalidArgument`, before the engine is asked, for a uri, cursor or limit out of
        range, and `Corrupt` for an entry whose fact is missing or has another degree: then no partial page.
        """
        return BY_DEGREE.scan(self._port, self._queue, uri, after=after, limit=limit)

    @staticmethod
    def _entry(fact: ValidationFact) -> ProjectFactByDegree:
        FACTS.check_type(fact)
        return ProjectFactByDegree(fact.queue, fact.uri, fact.degree, fact.project)
