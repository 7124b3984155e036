"""The clock, retries, URLs and the registry."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import strongroom
from strongroom.engine import Backoff, Clock, StoreUrl, registry, retry
from strongroom.errors import Conflict, InvalidArgument, Unsupported, VersionMismatch


def test_the_clock_never_goes_back() -> None:
    steps = iter([5_000_000, 9_000_000, 2_000_000, 9_500_000, 10_000_000])
    clock = Clock(lambda: next(steps))
    assert [clock.now() for _ in range(5)] == [5, 9, 9, 9, 10]


def test_a_retry_is_bounded_and_ends_in_a_conflict_that_names_the_last_fault() -> None:
    calls: list[int] = []

    def lose() -> None:
        calls.append(1)
        raise VersionMismatch("another was faster")

    pauses: list[float] = []
    with pytest.raises(Conflict, match="another was faster") as caught:
        retry(lose, backoff=Backoff(attempts=5), sleep=pauses.append)
    assert len(calls) == 5
    assert len(pauses) == 4
    assert caught.value.retryable
    assert isinstance(caught.value.__cause__, VersionMismatch)


def test_a_retry_returns_what_the_call_returns_and_lets_other_faults_out() -> None:
    outcomes: list[Exception | int] = [VersionMismatch("no"), 7]

    def call() -> int:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert retry(call, sleep=lambda _s: None) == 7
    outcomes[:] = [KeyError("other")]
    with pytest.raises(KeyError):
        retry(call)


def test_pauses_are_random_under_a_doubling_capped_ceiling() -> None:
    backoff = Backoff(first_ms=2, cap_ms=10)
    for attempt, ceiling in enumerate([2, 4, 8, 10, 10]):
        drawn = {backoff.pause(attempt) for _ in range(50)}
        assert max(drawn) <= ceiling / 1000
        assert len(drawn) > 1


def test_a_piece_of_a_password_is_not_taken_for_the_name_of_an_option() -> None:
    with pytest.raises(InvalidArgument, match="no option of that name") as caught:
        StoreUrl.parse("postgresql://me:a?hunter2=b@host/db").allow("pool")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(InvalidArgument, match="no option 'poool'"):
        StoreUrl.parse("postgresql://me:pass@host/db?poool=3").allow("pool")


def test_a_url_is_taken_apart_and_shown_without_its_secrets() -> None:
    url = StoreUrl.parse("postgresql://me:hunter2@host:5432/db?password=hunter2&pool=3")
    assert (url.scheme, url.options["pool"]) == ("postgresql", "3")
    assert "hunter2" not in url.shown + repr(url)
    assert "me" not in url.shown.replace("postgresql", "")


def test_a_file_is_beside_you_with_three_slashes_and_from_the_root_with_four() -> None:
    assert StoreUrl.parse("sqlite:///a%20b.db").path == "a b.db"
    assert StoreUrl.parse("sqlite:////tmp/a.db").path == "/tmp/a.db"


@pytest.mark.parametrize(
    "text",
    ["", "strongroom.db", "://x", "no-such-engine://x", "sqlite://x.db", "sqlite:///", "sqlite:///x?exclusive=yes",
     "sqlite:///x?create=0&create=1", "sqlite:///x?colour=red", "sqlite:///x?nothing", "sqlite:///x?timeout_ms=-1",
     "sqlite:///x?synchronous=off", "sqlite:///x?wal_limit_mib=0", "memory://?x=1", "sqlite:///x%00y",
     pytest.param("sqlite:///x?timeout_ms=" + "9" * 5000, id="a number of 5,000 digits")],
)  # fmt: skip
def test_a_url_that_cannot_be_is_one_clear_line_and_makes_no_file(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument) as caught:
        strongroom.open(text)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_third_parties_add_engines_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "strongroom.engines.memory:open_url", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: [point] if wanted.get("name") != "other" else [])
    assert "elsewhere" in strongroom.schemes()
    with strongroom.open("elsewhere://") as engine:
        assert engine.name == "memory"


@pytest.mark.parametrize(
    ("url", "driver", "package"),
    [
        ("sqlite:///x.db", "apsw", "'strongroom' "),
        ("postgresql://host/database", "psycopg", "'strongroom[postgres]' "),
        ("mysql://host/database", "pymysql", "'strongroom[mysql]' "),
        ("etcd://host/prefix", "grpc", "'strongroom[etcd]' "),
        ("dynamodb://table", "boto3", "'strongroom[dynamodb]' "),
    ],
)
def test_an_engine_without_its_driver_says_what_to_install(
    url: str, driver: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("strongroom.engines.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == driver]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(Unsupported, match=rf"{driver}.*pip install {re.escape(package)}"):
        strongroom.open(url)


def test_so_does_an_engine_of_a_third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "no_such_driver:open_url", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_wanted: [point])
    with pytest.raises(Unsupported, match=r"no_such_driver.*pip install"):
        strongroom.open("elsewhere://")
