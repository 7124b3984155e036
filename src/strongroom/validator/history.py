"""What git's history says to Stovepipe's flows, which only know the order in which commits were taken in.

The two orders differ where older commits are validated after newer ones, and where a branch was rewritten. A commit
is built from the last green one only if it came of that one, and nothing that it shows undoes what a descendant of
its own has shown.
"""

from __future__ import annotations

import threading

from strongroom.domains.stovepipe import Queue, Request
from strongroom.errors import InvalidArgument
from strongroom.validator.repository import Repository, commit_uri

_SCHEME = "git:"


def commit_of(uri: str) -> str:
    """The full hash of the commit that a uri names, "" for a uri that is none of `commit_uri`'s."""
    commit_id = uri.removeprefix(_SCHEME)
    try:
        return commit_id if uri == commit_uri(commit_id) else ""
    except InvalidArgument:
        return ""


class History:
    """A repository's history as hooks for `process` and `record`. Safe to use from several threads."""

    def __init__(self, repository: Repository, *, full: bool = False) -> None:
        """With `full` every commit is built in full."""
        self._repository = repository
        self._full = full
        self._known: dict[tuple[str, str], bool | None] = {}
        self._lock = threading.Lock()

    def baseline(self, queue: Queue, request: Request) -> str:
        """The queue's last green commit if the request's commit came of it, else "" for a full build."""
        green = queue.last_green_uri
        return green if not self._full and green and self._is_ancestor(green, request.uri) else ""

    def advances(self, queue: Queue, request: Request) -> bool:
        """Whether the request's commit may be the last green one: not if the present one came of it."""
        return not self.precedes(request.uri, queue.last_green_uri)

    def precedes(self, uri: str, other: str) -> bool:
        """Whether the second commit came of the first, and is another. False where that can't be told any more."""
        return uri != other and bool(self._is_ancestor(uri, other))

    def _is_ancestor(self, uri: str, other: str) -> bool | None:
        # Asked again and again by compare-and-set loops, and an answer never changes while both are there.
        with self._lock:
            if (uri, other) not in self._known:
                self._known[uri, other] = self._ask(commit_of(uri), commit_of(other))
            return self._known[uri, other]

    def _ask(self, commit_id: str, other_id: str) -> bool | None:
        if not commit_id or not other_id:
            return None
        try:
            return self._repository.is_ancestor(commit_id, other_id)
        except InvalidArgument:
            return None  # One of them is gone: the branch was rewritten, or the queue is another repository's.
