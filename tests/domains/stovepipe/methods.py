"""Every method of stovepipe's stores, called once, with what it takes for that to succeed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strongroom.domains.stovepipe import AcceptanceRange, Issue, Storage
from tests.domains.stovepipe import samples

Call = Callable[[Storage], object]

CREATES: Final[dict[str, Call]] = {
    "requests.create": lambda s: s.requests.create(samples.a_request(id="new")),
    "request_uris.create": lambda s: s.request_uris.create("new", "r"),
    "request_log.create": lambda s: s.request_log.create(samples.a_log(id="new")),
    "request_summaries.create": lambda s: s.request_summaries.create(samples.a_summary(request_id="new")),
    "acceptances.create": lambda s: s.acceptances.create(samples.an_acceptance(2)),
    "builds.create": lambda s: s.builds.create(samples.a_build(id="new")),
    "facts.create": lambda s: s.facts.create(samples.a_fact(project="new")),
    "facts_by_degree.create": lambda s: s.facts_by_degree.create(samples.a_fact(project="new")),
    "build_issues.create": lambda s: s.build_issues.create("b-1", Issue("new")),
    "open_issues.create": lambda s: s.open_issues.create(samples.an_open_issue(task="new")),
    "issue_log.create": lambda s: s.issue_log.create(samples.a_transition(task="new")),
    "queue_log.create": lambda s: s.queue_log.create(samples.an_occurrence(2)),
}

GETS: Final[dict[str, Call]] = {
    "requests.get": lambda s: s.requests.get("old"),
    "request_uris.get_id_by_uri": lambda s: s.request_uris.get_id_by_uri("old"),
    "request_log.get": lambda s: s.request_log.get("r-7", "old"),
    "request_summaries.get": lambda s: s.request_summaries.get("old"),
    "builds.get": lambda s: s.builds.get("old"),
    "facts.get": lambda s: s.facts.get("git://monorepo/7", "old"),
    "build_issues.get": lambda s: s.build_issues.get("b-1", "old"),
    "open_issues.get": lambda s: s.open_issues.get("old", "Invoice.rounds"),
    "issue_log.get": lambda s: s.issue_log.get("old", "Invoice.rounds", "b-1", samples.a_transition().event),
    "queues.get": lambda s: s.queues.get(samples.QUEUE),
    "queue_log.get": lambda s: s.queue_log.get(1),
    "queue_summaries.get": lambda s: s.queue_summaries.get(samples.QUEUE),
}

LISTS: Final[dict[str, Call]] = {
    "request_log.list": lambda s: s.request_log.list("r-7"),
    "acceptances.list": lambda s: s.acceptances.list(AcceptanceRange(accepted_before_ms=9, limit=9)),
    "build_issues.list": lambda s: s.build_issues.list("b-1", limit=9),
    "open_issues.list": lambda s: s.open_issues.list(limit=9),
    "queue_log.latest": lambda s: s.queue_log.latest(),
    "queue_log.list": lambda s: s.queue_log.list(limit=9),
}

FACT_LISTS: Final[dict[str, Call]] = {
    "facts_by_degree.list": lambda s: s.facts_by_degree.list("git://monorepo/7", limit=9),
}
"""The facts that the entries point to are read together."""

UPDATES: Final[dict[str, Call]] = {
    "requests.update": lambda s: s.requests.update(samples.a_request(id="old"), 1, 2),
    "queues.update": lambda s: s.queues.update(samples.a_queue(), 1, 2),
    "queue_summaries.update": lambda s: s.queue_summaries.update(samples.a_queue_summary(), 1, 2),
}

READING_UPDATES: Final[dict[str, Call]] = {
    "request_summaries.update": lambda s: s.request_summaries.update(samples.a_summary(request_id="old"), 1, 2),
    "builds.update": lambda s: s.builds.update(samples.a_build(id="old"), 1, 2),
}
"""They leave some columns as they are stored, and so read them."""

DELETES: Final[dict[str, Call]] = {
    "open_issues.delete": lambda s: s.open_issues.delete("old", "Invoice.rounds", "b-1"),
}

KINDS: Final[dict[str, dict[str, Call]]] = {
    "create": CREATES,
    "get": GETS,
    "list": LISTS,
    "list of facts": FACT_LISTS,
    "update": UPDATES,
    "update that reads": READING_UPDATES,
    "delete": DELETES,
}
"""The methods by what they ask an engine for: those of one kind cost alike."""


def make_all(storage: Storage) -> None:
    """One record in each store, so that the methods find what they need, and engines have met every table."""
    storage.requests.create(samples.a_request(id="old"))
    storage.request_uris.create("old", "r")
    storage.request_log.create(samples.a_log(id="old"))
    storage.request_summaries.create(samples.a_summary(request_id="old"))
    storage.acceptances.create(samples.an_acceptance(1))
    storage.builds.create(samples.a_build(id="old"))
    storage.facts.create(samples.a_fact(project="old"))
    storage.facts_by_degree.create(samples.a_fact(project="old"))
    storage.build_issues.create("b-1", Issue("old"))
    storage.open_issues.create(samples.an_open_issue(task="old"))
    storage.issue_log.create(samples.a_transition(task="old"))
    storage.queues.create(samples.a_queue())
    storage.queue_log.create(samples.an_occurrence(1))
    storage.queue_summaries.create(samples.a_queue_summary())
