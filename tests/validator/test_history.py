"""What git's history lets a green commit be: a base for those that came of it, and the last green one."""

from __future__ import annotations

from strongroom.domains.stovepipe import Queue, Request
from strongroom.validator.history import History, commit_of
from strongroom.validator.repository import Repository, commit_uri
from tests.validator.conftest import Checkout


def at(commit: str) -> Request:
    return Request("q", "1", commit_uri(commit))


def green_at(commit: str) -> Queue:
    return Queue("q", last_green_uri=commit_uri(commit))


def test_a_commit_is_built_from_a_green_one_that_it_came_of(checkout: Checkout) -> None:
    one, two = checkout.commit("one"), checkout.commit("two")
    history = History(Repository.open(checkout.path))
    assert history.baseline(green_at(one), at(two)) == commit_uri(one)
    assert history.baseline(green_at(two), at(one)) == ""
    assert history.baseline(Queue("q"), at(two)) == ""


def test_nothing_is_built_from_anything_where_full_builds_are_asked_for(checkout: Checkout) -> None:
    one, two = checkout.commit("one"), checkout.commit("two")
    assert History(Repository.open(checkout.path), full=True).baseline(green_at(one), at(two)) == ""


def test_the_last_green_commit_goes_forward_and_sideways_but_not_back(checkout: Checkout) -> None:
    root, one = checkout.commit("root"), checkout.commit("one")
    checkout.git("reset", "--quiet", "--hard", root)
    other = checkout.commit("other")
    history = History(Repository.open(checkout.path))
    assert history.advances(Queue("q"), at(root))
    assert history.advances(green_at(root), at(one))
    assert not history.advances(green_at(one), at(root))
    assert history.advances(green_at(one), at(other))
    assert history.advances(green_at(one), at(one))


def test_a_commit_that_is_gone_stands_in_nobodys_way(checkout: Checkout) -> None:
    one = checkout.commit("one")
    history = History(Repository.open(checkout.path))
    for green in (commit_uri("0" * 40), "svn:17"):
        queue = Queue("q", last_green_uri=green)
        assert history.baseline(queue, at(one)) == ""
        assert history.advances(queue, at(one))


def test_a_uri_names_a_commit_or_nothing() -> None:
    assert commit_of(commit_uri("a" * 40)) == "a" * 40
    for uri in ("", "git:", "git:main", "svn:17", "a" * 40, f"git:{'A' * 40}"):
        assert commit_of(uri) == ""
