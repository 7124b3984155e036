"""Summaries of requests: what an update leaves alone, and what it can't say."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import OutcomeReason, RequestState
from tests.domains.stovepipe.samples import NOON, a_summary


@pytest.mark.parametrize("given", ["git://elsewhere/1", "", "u" * 300])
def test_an_update_leaves_the_uri_alone_whatever_it_says(storage: stovepipe.Storage, given: str) -> None:
    storage.request_summaries.create(a_summary())
    storage.request_summaries.update(a_summary(uri=given, base_uri="git://monorepo/5"), 1, 2)
    assert storage.request_summaries.get("r-7") == a_summary(base_uri="git://monorepo/5", version=2)


def test_an_update_replaces_everything_else(storage: stovepipe.Storage) -> None:
    storage.request_summaries.create(a_summary(accepted_at_ms=0))
    ended = a_summary(
        state=RequestState.FAILED,
        request_version=3,
        state_timestamp_ms=NOON + 9,
        accepted_at_ms=NOON,
        base_uri="git://monorepo/5",
        outcome_reason=OutcomeReason.VALIDATION_TIMEOUT,
    )
    storage.request_summaries.update(ended, 1, 2)
    assert storage.request_summaries.get("r-7") == ended.replace(version=2)
    storage.request_summaries.update(a_summary(), 2, 3)
    assert storage.request_summaries.get("r-7") == a_summary(version=3)


def test_the_projections_version_has_nothing_to_do_with_the_requests(storage: stovepipe.Storage) -> None:
    storage.request_summaries.create(a_summary(request_version=40))
    storage.request_summaries.update(a_summary(request_version=41), 1, 2)
    found = storage.request_summaries.get("r-7")
    assert (found.request_version, found.version) == (41, 2)


def test_an_unknown_reason_may_be_filled_in_later(storage: stovepipe.Storage) -> None:
    storage.request_summaries.create(a_summary(state=RequestState.CANCELLED, request_version=3))
    filled = a_summary(
        state=RequestState.CANCELLED, request_version=3, outcome_reason=OutcomeReason.BUILD_CANCELLED, version=2
    )
    storage.request_summaries.update(filled, 1, 2)
    assert storage.request_summaries.get("r-7") == filled


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome_reason": OutcomeReason.BUILD_FAILED},
        {"state": RequestState.SUCCEEDED, "outcome_reason": OutcomeReason.BUILD_FAILED},
        {"state": "paused"},
        {"request_version": 0},
        {"state_timestamp_ms": -1},
        {"accepted_at_ms": -1},
        {"base_uri": "u" * 256},
        {"request_id": ""},
    ],
)
def test_a_summary_that_says_what_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, object]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_summaries.create(a_summary(**changes))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_summaries.update(a_summary(**changes), 1, 2)


def test_a_summary_is_created_with_a_uri(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_summaries.create(a_summary(uri=""))
