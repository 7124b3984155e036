"""Hosts: whole records, and the one column that has a fence of its own."""

from __future__ import annotations

from itertools import product

import pytest

from strongroom.domains import runners
from strongroom.domains.runners import Arch, AttemptState, Host, Os, StartMode
from strongroom.errors import InvalidArgument, ScopeMismatch
from tests.domains.runners.samples import FLEET, NOW, a_host, an_attempt, an_attempt_in


def test_a_new_host_has_a_trimmed_name_and_a_path_in_normal_form() -> None:
    host = Host.make(
        FLEET, "h-1", "  box\n", os=Os.WINDOWS, architecture=Arch.X64, now=NOW, runner_root_override="d:/run//"
    )
    assert (host.display_name, host.runner_root_override) == ("box", "D:\\run")
    assert host.has_configured_runner_root
    assert (host.host_capacity, host.service_start_mode, host.refresh_interval_secs) == (1, StartMode.BOOT, 60)
    assert not a_host().has_configured_runner_root
    with pytest.raises(runners.BlankName):
        Host.make(FLEET, "h-1", " ", os=Os.LINUX, architecture=Arch.X64, now=NOW)


def test_hosts_of_every_system_processor_and_mode_come_back_oldest_first(store: runners.RunnerStore) -> None:
    kinds = list(product(Os, Arch, StartMode))
    hosts = [
        a_host(f"h-{number}", os=os, architecture=arch, service_start_mode=mode, created_at=NOW - number)
        for number, (os, arch, mode) in enumerate(kinds)
    ]
    for host in hosts:
        store.put_host(host)
    assert len(hosts) == 18
    assert store.hosts() == hosts[::-1]
    assert store.host("h-7") == hosts[7]


def test_hosts_of_one_age_are_in_the_order_of_their_ids(store: runners.RunnerStore) -> None:
    for id in ("b", "é", "a"):
        store.put_host(a_host(id))
    assert [host.id for host in store.hosts()] == ["a", "b", "é"]


def test_putting_a_host_replaces_every_column_but_when_it_was_made(store: runners.RunnerStore) -> None:
    assert store.put_host(a_host()) == a_host()
    changed = Host(FLEET, "h-1", "x", Os.MAC_OS, Arch.ARM64, 9, StartMode.LOGIN, 31, "/opt/run", NOW + 5)
    assert store.put_host(changed) == changed.replace(created_at=NOW)
    assert store.host("h-1") == changed.replace(created_at=NOW)


def test_a_changed_host_keeps_what_others_wrote_meanwhile(store: runners.RunnerStore) -> None:
    def make(found: Host | None) -> Host:
        return found or a_host(runner_root_override="/srv/mine")

    def grow(found: Host | None) -> Host:
        assert found is not None
        return found.replace(host_capacity=found.host_capacity + 1, created_at=0, runner_root_override=None)

    assert store.change_host("h-1", make) == a_host(runner_root_override="/srv/mine")
    assert store.change_host("h-1", make) == a_host(runner_root_override="/srv/mine")
    store.set_runner_root_override("h-1", "/srv/mine", "/srv/theirs", 0)
    assert store.change_host("h-1", grow) == a_host(host_capacity=2, runner_root_override="/srv/theirs")
    assert store.host("h-1") == a_host(host_capacity=2, runner_root_override="/srv/theirs")


@pytest.mark.parametrize("made", [a_host("h-2"), a_host(fleet="globex"), a_host(display_name=" ")])
def test_a_host_can_not_be_changed_to_another_or_to_none_at_all(store: runners.RunnerStore, made: Host) -> None:
    store.put_host(a_host())
    with pytest.raises((InvalidArgument, ScopeMismatch)):
        store.change_host("h-1", lambda _found: made)
    assert store.hosts() == [a_host()]


def test_a_host_that_is_not_there_is_none(store: runners.RunnerStore) -> None:
    assert store.host("h-1") is None
    assert store.hosts() == []


def test_a_runner_root_is_changed_and_nothing_else(store: runners.RunnerStore) -> None:
    store.put_host(a_host())
    store.put_host(a_host(host_capacity=8))  # what a host that was read before would undo
    assert store.set_runner_root_override("h-1", None, "//srv//run/", 0) == a_host(
        host_capacity=8, runner_root_override="/srv/run"
    )
    assert store.host("h-1") == a_host(host_capacity=8, runner_root_override="/srv/run")
    assert store.set_runner_root_override("h-1", "/srv/run", None, 0) == a_host(host_capacity=8)
    assert store.host("h-1") == a_host(host_capacity=8)


def test_a_runner_root_that_somebody_else_changed_is_left_alone(store: runners.RunnerStore) -> None:
    store.put_host(a_host(runner_root_override="/srv/theirs"))
    store.record_attempt(an_attempt())  # the count is wrong too, and told second
    for expected in (None, "/srv/mine"):
        with pytest.raises(runners.RunnerRootChanged) as caught:
            store.set_runner_root_override("h-1", expected, "/srv/new", 0)
        fault = caught.value
        assert (fault.id, fault.expected, fault.found) == ("h-1", expected, "/srv/theirs")
        assert "/srv/theirs" in str(fault)
        assert (expected or "the system's default") in str(fault)
        assert runners.is_conflict(fault)
        assert fault.retryable
    assert store.host("h-1") == a_host(runner_root_override="/srv/theirs")


def test_a_runner_root_stays_while_another_number_of_attempts_lies_under_it(store: runners.RunnerStore) -> None:
    store.put_host(a_host())
    store.record_attempt(an_attempt_in(AttemptState.BUSY, "live"))
    store.record_attempt(an_attempt_in(AttemptState.FAILED, "not cleaned", policy_id="gone"))
    store.record_attempt(an_attempt_in(AttemptState.CLEANED, "cleaned"))
    store.record_attempt(an_attempt_in(AttemptState.BUSY, "persistent", slot=1))
    for count in (0, 1, 3):
        with pytest.raises(runners.UncleanedCountChanged) as caught:
            store.set_runner_root_override("h-1", None, "/srv/new", count)
        fault = caught.value
        assert (fault.id, fault.expected, fault.found, fault.subject) == ("h-1", count, 2, "host 'h-1'")
        assert runners.is_conflict(fault)
    assert store.host("h-1") == a_host()
    assert len(store.uncleaned_ephemeral_attempts()) == 2
    assert store.set_runner_root_override("h-1", None, "/srv/new", 2).runner_root_override == "/srv/new"


def test_a_runner_root_that_stays_as_it_is_is_checked_all_the_same(store: runners.RunnerStore) -> None:
    store.put_host(a_host(runner_root_override="/srv/run"))
    assert store.set_runner_root_override("h-1", "/srv/run", "/srv/run", 0) == a_host(runner_root_override="/srv/run")
    store.record_attempt(an_attempt())
    with pytest.raises(runners.UncleanedCountChanged):
        store.set_runner_root_override("h-1", "/srv/run", "/srv/run", 0)
    with pytest.raises(runners.RunnerRootChanged):
        store.set_runner_root_override("h-1", None, None, 1)


def test_a_missing_hosts_runner_root_is_not_found(store: runners.RunnerStore) -> None:
    with pytest.raises(runners.NotFound) as caught:
        store.set_runner_root_override("h-1", None, "/srv/new", 0)
    assert (caught.value.what, caught.value.id) == ("host", "h-1")
    assert not runners.is_conflict(caught.value)


def test_a_runner_root_of_another_system_is_refused(store: runners.RunnerStore) -> None:
    store.put_host(a_host(os=Os.WINDOWS))
    with pytest.raises(runners.InvalidPath):
        store.set_runner_root_override("h-1", None, "/srv/run", 0)
    assert store.host("h-1") == a_host(os=Os.WINDOWS)
