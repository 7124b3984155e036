"""The status of a commit's projects: of those that are asked for, in the caller's order, or of all, worst first.

Every fact that is shown is the commit's own request's; one that is not makes the whole answer fail, rather than be
left out. A project without a fact was never validated, which is no status at all, and is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from strongroom.domains.stovepipe.builds import DegreeCursor
from strongroom.domains.stovepipe.faults import NotFound
from strongroom.domains.stovepipe.flows.faults import NotReady
from strongroom.domains.stovepipe.flows.listing import DEFAULT_PAGE, check_page
from strongroom.domains.stovepipe.records import (
    FACTS,
    FACTS_BY_DEGREE,
    REQUEST_SUMMARIES,
    RequestSummary,
    ValidationFact,
)
from strongroom.domains.stovepipe.storage import Storage
from strongroom.errors import Corrupt, InvalidArgument
from strongroom.patterns import make_cursor, read_cursor


class ProjectStatus(NamedTuple):
    """A commit's request as it is shown now, and some of its projects' facts."""

    request: RequestSummary
    facts: list[ValidationFact]
    token: str
    """What the next page goes on from; "" where there was nothing further."""


def get_project_status(
    storage: Storage, uri: str, projects: Sequence[str] = (), *, limit: int = DEFAULT_PAGE, token: str = ""
) -> ProjectStatus:
    """The status of the commit `uri` (1 to 255 bytes), of `projects` or, without any, of all that were recorded.

    Projects that are named, each once, come in the order given; a page looks at `limit` (1 to 200) of them, and has
    fewer facts where some have none. Without names the facts come most broken first, bytewise by project where
    degrees are equal, `limit` to a page. `token` is that of the page before, of the same commit and the same
    projects in the same order; `limit` may change. Pages are no snapshot of what is recorded meanwhile.

    Reads only. Raises `InvalidArgument`, before any fact is read, for a uri, project or limit out of range, a
    project named twice, and a token that is none or belongs to another question; `CursorExpired` for a token from
    before the store was restored; `NotFound` for a commit that has no request; `NotReady` (retryable) for one whose
    request is not shown yet; `Corrupt`, and no partial page, where the summary is another commit's or a fact
    another request's.
    """
    check_page(limit)
    _check_projects(projects)
    request_id = storage.request_uris.get_id_by_uri(uri)
    try:
        request = storage.request_summaries.get(request_id)
    except NotFound:
        raise NotReady(f"request {request_id} is not shown yet") from None
    if request.uri != uri:
        key = (request.queue, request.request_id)
        raise Corrupt(f"{REQUEST_SUMMARIES.show(key)} is of another commit", table=REQUEST_SUMMARIES.name, key=key)
    page = _named(storage, request, projects, limit, token) if projects else _worst(storage, request, limit, token)
    for fact in page.facts:
        if fact.request_id != request.request_id:
            found = (fact.queue, fact.uri, fact.project)
            raise Corrupt(f"{FACTS.show(found)} is of another request", table=FACTS.name, key=found)
    return page


def _check_projects(projects: Sequence[str]) -> None:
    if isinstance(projects, str):
        raise InvalidArgument("projects are a list of names, not one")
    for project in projects:
        FACTS_BY_DEGREE.store_key_part((project,), 3)
    if len(set(projects)) != len(projects):
        raise InvalidArgument("a project is named once")


def _named(storage: Storage, request: RequestSummary, projects: Sequence[str], limit: int, token: str) -> ProjectStatus:
    # The names stand in the token as a digest: a token is not to grow with them.
    digest = hashlib.blake2b("\0".join(projects).encode(), digest_size=16).hexdigest()
    question = (request.queue, request.uri, request.request_id, digest)
    epoch = storage.engine.epoch
    start = 0
    if token:
        (last,) = read_cursor(token, epoch, FACTS, question, fixed=2)
        if last not in projects:
            raise InvalidArgument("the token stands at a project that is not among these; begin without one")
        start = list(projects).index(str(last)) + 1
    page = projects[start : start + limit]
    found = storage.engine.get_many(FACTS, [(request.queue, request.uri, project) for project in page])
    further = make_cursor(epoch, FACTS, question, page[-1:]) if start + limit < len(projects) else ""
    return ProjectStatus(request, [fact for fact in found if fact is not None], further)


def _worst(storage: Storage, request: RequestSummary, limit: int, token: str) -> ProjectStatus:
    question = (request.queue, request.uri, request.request_id)
    epoch = storage.engine.epoch
    after = None
    if token:
        after = DegreeCursor(*read_cursor(token, epoch, FACTS_BY_DEGREE, question, fixed=2))  # type: ignore[arg-type]
    found = storage.facts_by_degree.list(request.uri, after=after, limit=limit + 1)
    page = found[:limit]
    further = make_cursor(epoch, FACTS_BY_DEGREE, question, DegreeCursor.of(page[-1])) if len(found) > limit else ""
    return ProjectStatus(request, page, further)
