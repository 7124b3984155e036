"""Claims: one holder at a time, the next one as soon as that one is gone, and attempts that only count up."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from strongroom import InvalidArgument
from strongroom.engine import Engine
from strongroom.validator.claims import ClaimLost, Claims
from strongroom.validator.holders import Holder, is_gone, start_of, this_host
from strongroom.validator.records import SCHEMA
from tests.validator.trunks import QUEUE, until

URI = "git:1"
HOUR_MS = 3_600_000


@pytest.fixture
def room(room: Engine) -> Engine:
    room.prepare(SCHEMA)
    return room


def claims(room: Engine, holder: Holder | None = None, lease_ms: int = HOUR_MS) -> Claims:
    return Claims(room, QUEUE, holder=holder, lease_ms=lease_ms)


def dead_holder() -> Holder:
    """The holder that a process was, which is gone by now."""
    script = "from strongroom.validator.holders import Holder as H; h = H.new(); print(h.process, h.process_start)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    process, _, start = told.strip().partition(" ")
    return Holder("dead", this_host(), int(process), start)


def holder_elsewhere() -> Holder:
    """A holder on a host that can't be looked at from here."""
    return Holder("elsewhere", "another host", 1, "1")


def test_a_commit_is_claimed_by_one_holder_at_a_time(room: Engine) -> None:
    one, other = claims(room), claims(room)
    hold = one.take(URI)
    assert hold is not None
    assert (hold.uri, hold.attempt, other.take(URI), one.take(URI)) == (URI, 1, None, None)
    assert other.take("git:2") is not None


def test_of_many_that_claim_at_once_one_has_it(room: Engine) -> None:
    rivals = [claims(room) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        holds = list(threads.map(lambda rival: rival.take(URI), rivals))
    assert sum(hold is not None for hold in holds) == 1


def test_a_released_claim_is_free_at_once_under_the_next_attempt(room: Engine) -> None:
    one = claims(room)
    hold = one.take(URI)
    assert hold is not None
    one.drop(hold)
    again = claims(room).take(URI)
    assert again is not None
    assert again.attempt == 2


def test_a_recorded_commit_is_never_claimed_again(room: Engine) -> None:
    one = claims(room)
    hold = one.take(URI)
    assert hold is not None
    hold.finish()
    one.drop(hold)
    claim = one.find(URI)
    assert claim is not None
    assert (claim.recorded, claim.holder, claims(room, lease_ms=1).take(URI)) == (True, "", None)


def test_the_claim_of_a_process_that_is_gone_is_taken_over_at_once(room: Engine) -> None:
    assert claims(room, dead_holder()).take(URI) is not None
    taken = claims(room).take(URI)
    assert taken is not None
    assert taken.attempt == 2


def test_a_holder_that_cannot_be_looked_at_keeps_its_claim_for_a_lease(room: Engine) -> None:
    assert claims(room, holder_elsewhere()).take(URI) is not None
    assert claims(room).take(URI) is None
    impatient = claims(room, lease_ms=20)
    taken = until(lambda: impatient.take(URI), "the lease is over")
    assert taken.attempt == 2


def test_a_holder_that_is_heard_of_keeps_its_claim(room: Engine) -> None:
    one = claims(room, holder_elsewhere())
    hold = one.take(URI)
    assert hold is not None
    before = one.find(URI)
    with one.kept_alive(0.01):
        until(lambda: one.find(URI) != before, "the claim is renewed")
    after = one.find(URI)
    assert before is not None
    assert after is not None
    assert (after.heartbeat_at >= before.heartbeat_at, after.version > before.version, after.attempt) == (True, True, 1)
    hold.renew()


def test_who_lost_a_claim_is_told_and_can_change_nothing(room: Engine) -> None:
    loser = claims(room, holder_elsewhere())
    hold = loser.take(URI)
    assert hold is not None
    winner = until(lambda: claims(room, lease_ms=1).take(URI), "the lease is over")
    for change in (hold.renew, hold.finish):
        with pytest.raises(ClaimLost):
            change()
    assert hold.cancel.is_set()
    loser.drop(hold)
    winner.renew()
    assert not winner.cancel.is_set()


def test_a_lost_claim_is_noticed_by_its_heartbeat(room: Engine) -> None:
    loser = claims(room, holder_elsewhere())
    hold = loser.take(URI)
    assert hold is not None
    until(lambda: claims(room, lease_ms=1).take(URI), "the lease is over")
    with loser.kept_alive(0.01):
        assert hold.cancel.wait(60)


def test_a_claim_that_was_given_up_is_no_longer_its_holders(room: Engine) -> None:
    one = claims(room)
    hold = one.take(URI)
    assert hold is not None
    hold.release()
    hold.release()
    with pytest.raises(ClaimLost):
        hold.renew()


def test_claims_of_another_queue_are_others(room: Engine) -> None:
    assert claims(room).take(URI) is not None
    assert Claims(room, "another/queue").take(URI) is not None


def test_a_lease_has_a_length(room: Engine) -> None:
    with pytest.raises(InvalidArgument, match="lease"):
        claims(room, lease_ms=0)


def test_this_process_is_not_gone_and_one_that_ended_is() -> None:
    me = Holder.new()
    assert me.name != Holder.new().name
    assert not is_gone(me.host, me.process, me.process_start)
    dead = dead_holder()
    assert is_gone(dead.host, dead.process, dead.process_start)


def test_a_process_id_that_is_used_again_is_another_process() -> None:
    me = Holder.new()
    assert is_gone(me.host, me.process, "another start")


def test_a_process_that_is_dead_but_not_buried_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        start = start_of(process.pid)
        assert start
        assert not is_gone(this_host(), process.pid, start)
        process.kill()
        until(lambda: is_gone(this_host(), process.pid, start), "it is dead")
        assert process.returncode is None


@pytest.mark.parametrize(("host", "process"), [("another host", 2**22 + 1), ("", 0), ("another host", 1)])
def test_of_a_process_elsewhere_nothing_is_certain(host: str, process: int) -> None:
    assert not is_gone(host or this_host(), process, "1")
