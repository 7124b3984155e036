"""The aggregate: every store of one queue, and the way to it from an open engine."""

from __future__ import annotations

from typing import Final

from strongroom.domains.stovepipe.builds import BY_DEGREE, BuildStore, ProjectFactByDegreeStore, ValidationFactStore
from strongroom.domains.stovepipe.issues import BuildIssueStore, IssueLogStore, OpenIssueStore
from strongroom.domains.stovepipe.queues import ENABLEMENTS, QueueLogStore, QueueStore, QueueSummaryStore
from strongroom.domains.stovepipe.records import ACCEPTANCES, REQUEST_NUMBERS, REQUEST_SUMMARIES, SCHEMA
from strongroom.domains.stovepipe.requests import (
    RequestAcceptanceStore,
    RequestLogStore,
    RequestStore,
    RequestSummaryStore,
    RequestUriStore,
)
from strongroom.engine import Engine, Strength
from strongroom.patterns import Log, OrderedMapping, Subject

BY_ACCEPTANCE: Final = OrderedMapping(
    ACCEPTANCES,
    REQUEST_SUMMARIES,
    locate=lambda entry: (entry.queue, entry.request_id),
    agrees=lambda entry, summary: entry.accepted_at_ms == summary.accepted_at_ms,
)
"""The acceptances, and the summaries that they point to: each is entered after its summary knows the time."""

SUBJECT: Final = Subject(SCHEMA, logs=(ENABLEMENTS, Log(REQUEST_NUMBERS)), mappings=(BY_DEGREE, BY_ACCEPTANCE))
"""What must hold in a store of this domain, for the operator's tools."""


class Storage:
    """All stores of one queue. Nothing outside the queue can be seen or touched through it (S1, S2).

    Making one asks the engine nothing, and a queue needs no registration (S3). Threads may share one (C1).

    Raises `InvalidArgument` for a queue name that is empty or has more than 255 bytes.
    """

    def __init__(self, engine: Engine, queue: str) -> None:
        self.engine = engine
        self.queue = queue
        self.requests = RequestStore(engine, queue)
        self.request_uris = RequestUriStore(engine, queue)
        self.request_log = RequestLogStore(engine, queue)
        self.request_summaries = RequestSummaryStore(engine, queue)
        self.acceptances = RequestAcceptanceStore(engine, queue)
        self.builds = BuildStore(engine, queue)
        self.facts = ValidationFactStore(engine, queue)
        self.facts_by_degree = ProjectFactByDegreeStore(engine, queue)
        self.build_issues = BuildIssueStore(engine, queue)
        self.open_issues = OpenIssueStore(engine, queue)
        self.issue_log = IssueLogStore(engine, queue)
        self.queues = QueueStore(engine, queue)
        self.queue_log = QueueLogStore(engine, queue)
        self.queue_summaries = QueueSummaryStore(engine, queue)

    def __repr__(self) -> str:
        return f"<stovepipe storage of {self.queue!r} in {self.engine!r}>"


class Stovepipe:
    """Stovepipe's tables in an engine, and the way to each queue's stores."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def for_queue(self, queue: str) -> Storage:
        """The stores of one queue, whose name has 1 to 255 bytes; `InvalidArgument` for another (S3)."""
        return Storage(self.engine, queue)


def open(engine: Engine) -> Stovepipe:
    """Stovepipe on an open engine, its tables made or brought up to date. Closing the engine is the caller's.

    Single-record transactions are all that it needs (T7). Raises as `Engine.prepare`.
    """
    engine.require(Strength.SINGLE_RECORD, "stovepipe")
    engine.prepare(SCHEMA)
    return Stovepipe(engine)
