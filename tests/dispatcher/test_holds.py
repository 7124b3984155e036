"""Claims in a dispatcher's hands: leases are renewed while the work lasts, and what is lost is let go."""

from __future__ import annotations

import threading
import time

import pytest

from strongroom.dispatcher.holds import Heartbeat, Hold, Holds
from strongroom.domains.dispatch import Claim, Dispatcher, NotKept, OutcomeUnknown, Running, Unreadable
from strongroom.errors import StrongroomError, Unavailable
from tests.dispatcher.sites import LONG, Site, until
from tests.domains.dispatch.samples import failed, retried


@pytest.fixture
def dispatcher(site: Site) -> Dispatcher:
    return site.workspace.dispatcher("here", lease_ms=LONG)


def held(site: Site, dispatcher: Dispatcher) -> tuple[Holds, Hold]:
    """The holds of a dispatcher that has claimed one run."""
    site.submit(("true",))
    began = time.monotonic()
    (claim,) = dispatcher.claim()
    holds = Holds(site.workspace, dispatcher)
    return holds, holds.add(claim, began)


def running(site: Site, hold: Hold) -> Running:
    number = hold.claim.running.number
    found = site.workspace.read(lambda reads: reads.running_run(number))
    assert found is not None
    return found


def test_a_beat_renews_every_lease(site: Site, dispatcher: Dispatcher) -> None:
    holds, hold = held(site, dispatcher)
    first, until_then = hold.claim, hold.until
    until(lambda: site.workspace.update(lambda update: update.abandon(update.now)) > first.running.started_at_ms)
    holds.beat()
    assert hold.claim.running.until_ms > first.running.until_ms
    assert hold.claim.running == running(site, hold)
    assert hold.until > until_then
    assert (hold.lost, hold.cancel.is_set()) == (False, False)


def test_a_lease_is_renewed_long_before_it_is_over(site: Site, dispatcher: Dispatcher) -> None:
    assert Holds(site.workspace, dispatcher).interval_s * 3 == LONG / 1000


@pytest.mark.parametrize("by", ["another", "nobody"])
def test_a_claim_that_was_taken_over_or_ended_is_let_go(site: Site, by: str) -> None:
    brief = site.workspace.dispatcher("brief", lease_ms=1)
    holds, hold = held(site, brief)
    if by == "another":
        heir = site.workspace.dispatcher("heir", lease_ms=LONG)
        (taken,) = until(heir.take_over)
        assert taken.run == hold.claim.run
    else:
        brief.finish(hold.claim, failed())
    holds.beat()
    assert (hold.lost, hold.cancel.is_set()) == (True, True)


def test_a_claim_that_has_been_dropped_is_not_looked_after(site: Site, dispatcher: Dispatcher) -> None:
    holds, hold = held(site, dispatcher)
    holds.drop(hold)
    dispatcher.finish(hold.claim, failed())
    holds.beat()
    assert (holds.all(), hold.lost, hold.cancel.is_set()) == ([], False, False)


class Broken(Dispatcher):
    """A dispatcher whose store answers with a fault."""

    fault: StrongroomError = Unavailable("gone")

    def renew(self, claim: Claim) -> Claim:
        raise self.fault


@pytest.mark.parametrize("fault", [Unavailable("gone"), NotKept("gone"), OutcomeUnknown("gone", token="t")])
def test_a_store_that_is_gone_is_no_loss_while_the_lease_lasts(
    site: Site, dispatcher: Dispatcher, fault: StrongroomError
) -> None:
    holds, hold = held(site, dispatcher)
    broken = Broken(dispatcher._bound, "here", LONG)
    broken.fault = fault
    holds._dispatcher = broken
    holds.beat()
    assert not hold.lost
    hold.until = time.monotonic()
    holds.beat()
    assert (hold.lost, hold.cancel.is_set()) == (True, True)


def test_what_else_a_store_answers_with_ends_the_heartbeat_and_is_told(site: Site, dispatcher: Dispatcher) -> None:
    brief = site.workspace.dispatcher("brief", lease_ms=30)
    holds, _ = held(site, brief)
    broken = Broken(dispatcher._bound, "here", 30)
    broken.fault = Unreadable("bad")
    holds._dispatcher = broken
    told: list[BaseException] = []
    with Heartbeat(holds, told.append):
        until(lambda: told, "the heartbeat fails")
    assert told == [broken.fault]
    assert "strongroom-heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_a_heart_that_beats_keeps_the_lease(site: Site) -> None:
    dispatcher = site.workspace.dispatcher("here", lease_ms=3_000)
    holds, hold = held(site, dispatcher)
    with Heartbeat(holds, lambda fault: None):
        for _ in range(2):
            before = hold.claim
            until(lambda before=before: hold.claim is not before, "the lease is renewed")  # type: ignore[misc]
            assert hold.claim.running.until_ms > before.running.until_ms
    assert not hold.lost


def test_without_leases_claims_are_looked_at_and_let_go_when_a_restart_ended_them(site: Site) -> None:
    alone = site.workspace.dispatcher("here")
    holds, hold = held(site, alone)
    before = running(site, hold)
    holds.beat()
    assert (hold.lost, running(site, hold)) == (False, before)
    assert site.workspace.dispatcher("rival").restart().interrupted == [hold.claim.run]
    holds.beat()
    assert (hold.lost, hold.cancel.is_set()) == (True, True)


def test_without_leases_a_store_that_is_gone_is_no_loss(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(function: object) -> None:
        raise Unavailable("gone")

    holds, hold = held(site, site.workspace.dispatcher("here"))
    monkeypatch.setattr(site.workspace, "read", read)
    holds.beat()
    assert not hold.lost


def test_all_that_is_held_is_cancelled_at_once(site: Site, dispatcher: Dispatcher) -> None:
    holds, first = held(site, dispatcher)
    site.submit(("true",))
    (claim,) = retried(dispatcher.claim)
    second = holds.add(claim, time.monotonic())
    assert holds.cancel() == 2
    assert (first.cancel.is_set(), second.cancel.is_set()) == (True, True)
    assert not first.lost, "it is this dispatcher's to say what came of it"
