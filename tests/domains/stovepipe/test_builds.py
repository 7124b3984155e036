"""Builds: an update says how a build stands, and nothing else of it."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Build, BuildStatus
from tests.domains.stovepipe.samples import OTHER, QUEUE, a_build


@pytest.mark.parametrize("request_id", ["", "r-8", "r" * 300])
def test_an_update_writes_status_and_version_only(storage: stovepipe.Storage, request_id: str) -> None:
    storage.builds.create(a_build())
    storage.builds.update(Build(QUEUE, "b-1", request_id, BuildStatus.RUNNING), 1, 2)
    assert storage.builds.get("b-1") == a_build(status=BuildStatus.RUNNING, version=2)


def test_a_build_goes_its_way_in_updates_that_do_not_name_its_request(storage: stovepipe.Storage) -> None:
    storage.builds.create(a_build())
    storage.builds.update(a_build(request_id="", status=BuildStatus.RUNNING), 1, 2)
    storage.builds.update(a_build(request_id="", status=BuildStatus.SUCCEEDED), 2, 3)
    assert storage.builds.get("b-1") == a_build(status=BuildStatus.SUCCEEDED, version=3)


def test_updating_one_build_leaves_another_as_it_was(storage: stovepipe.Storage) -> None:
    storage.builds.create(a_build())
    storage.builds.create(a_build(id="b-2"))
    storage.builds.update(a_build(status=BuildStatus.FAILED), 1, 2)
    assert storage.builds.get("b-2") == a_build(id="b-2")


def test_a_request_may_have_several_builds(storage: stovepipe.Storage) -> None:
    for name in ("b-1", "b-2", "B-1"):
        storage.builds.create(a_build(id=name))
    assert {storage.builds.get(name).request_id for name in ("b-1", "b-2", "B-1")} == {"r-7"}


def test_two_runners_may_name_builds_alike_in_two_queues(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.builds.create(a_build())
    other.builds.create(a_build(queue=OTHER, request_id="r-1", status=BuildStatus.RUNNING))
    assert storage.builds.get("b-1").request_id == "r-7"
    assert other.builds.get("b-1").request_id == "r-1"


def test_that_a_status_is_the_last_one_is_not_for_the_store_to_keep(storage: stovepipe.Storage) -> None:
    storage.builds.create(a_build(status=BuildStatus.SUCCEEDED))
    storage.builds.update(a_build(status=BuildStatus.RUNNING), 1, 2)
    assert storage.builds.get("b-1").status is BuildStatus.RUNNING


@pytest.mark.parametrize("status", ["", "paused", None, "RUNNING"])
def test_a_status_that_is_none_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, status: str | None
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.builds.create(a_build(status=status))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.builds.update(a_build(status=status), 1, 2)


def test_a_build_without_a_request_is_refused_when_it_is_created(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.builds.create(a_build(request_id=""))


@pytest.mark.parametrize(
    ("status", "terminal"),
    [("accepted", False), ("running", False), ("succeeded", True), ("failed", True), ("cancelled", True)],
)
def test_which_statuses_end_a_build(status: str, terminal: bool) -> None:
    assert BuildStatus(status).is_terminal is terminal
