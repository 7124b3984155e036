"""The harnesses of servers: how stores are named, where proxies stand, and what is said of a server that is away."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from strongroom.conformance import Ability, UrlHarness
from strongroom.conformance.harnesses.servers import THROUGH_PROXY, ServerHarness
from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument, Unavailable, Unsupported


@pytest.fixture
def nowhere() -> Iterator[int]:
    """A port at which nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        listener.close()
        yield port


TEMPLATES = {
    "postgresql://u:p@h:1/db": "postgresql://u:p@h:1/db?schema=conform_{n}",
    "postgres://h/db?schema=kit&timeout_ms=900": "postgres://h/db?schema=kit_{n}&timeout_ms=900",
    "postgresql:///db?host=/run/pg&schema=kit-{n}-x": "postgresql:///db?host=/run/pg&schema=kit-{n}-x",
    "mysql://u:p@h:1/kit": "mysql://u:p@h:1/kit_{n}",
    "mysql://h": "mysql://h/conform_{n}",
    "mariadb://[::1]:7/kit?hosts=b:2,c": "mariadb://[::1]:7/kit_{n}?hosts=b:2,c",
}


@pytest.mark.parametrize("url", TEMPLATES)
def test_each_store_has_a_name_of_its_own(url: str) -> None:
    harness = UrlHarness(url)
    assert isinstance(harness, ServerHarness)
    assert harness._template == TEMPLATES[url]
    assert harness.name == StoreUrl.parse(url).scheme


def test_the_server_is_named_by_host_and_port() -> None:
    for url in ("mysql://root@127.0.0.1:port/kit", "postgresql://h:99999/db"):
        with pytest.raises(InvalidArgument, match="host:port"):
            UrlHarness(url)


def test_a_proxy_stands_before_every_server_where_a_fault_of_the_network_is_wanted() -> None:
    with UrlHarness("mariadb://u:p%40@[::1]:7/kit?hosts=b:2,c") as harness:
        assert isinstance(harness, ServerHarness)
        harness.wanted = frozenset({Ability.TAMPER})
        assert harness._reached("mysql://u:p%40@[::1]:7/kit?hosts=b:2,c") == "mysql://u:p%40@[::1]:7/kit?hosts=b:2,c"
        harness.wanted = frozenset({Ability.LOST_ANSWER})
        reached = StoreUrl.parse(harness._reached("mysql://u:p%40@[::1]:7/kit?ssl_ca=/a.pem&hosts=b:2,c,[::1]:7"))
        assert (reached.options["ssl"], "ssl_ca" in reached.options) == ("0", False)  # the proxy reads what goes by
        user, _, rest = reached.place.rpartition("@")
        first, _, database = rest.partition("/")
        hosts = reached.options["hosts"].split(",")
        assert (user, database) == ("u:p%40", "kit")
        assert hosts[2] == first
        assert len({first, *hosts}) == 3
        assert all(host.startswith("127.0.0.1:") for host in hosts)


def test_before_a_socket_in_a_folder_stands_no_proxy() -> None:
    for url in ("postgresql:///db?host=/run/pg", "mysql:///kit?unix_socket=/run/my"):
        harness = UrlHarness(url)
        assert Ability.DISK_FULL in harness.abilities
        assert not harness.abilities & THROUGH_PROXY
        with pytest.raises(Unsupported, match="the harness can't cut"):
            harness.cut()
        with pytest.raises(Unsupported, match="the harness can't keep the server away"):
            harness.inflict(Ability.SERVER_AWAY)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_not_there_is_unavailable(scheme: str, nowhere: int) -> None:
    url = f"{scheme}://root:hunter2@127.0.0.1:{nowhere}/kit"
    with UrlHarness(url) as harness, pytest.raises(Unavailable, match="refused") as caught:
        harness.open()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("scheme", "driver"), [("postgresql", "psycopg"), ("mysql", "pymysql")])
def test_a_driver_that_is_missing_is_named(scheme: str, driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("harnesses", "backdoors"):
        for module in ("postgres", "mysql"):
            monkeypatch.delitem(sys.modules, f"strongroom.conformance.{room}.{module}", raising=False)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(Unsupported, match=driver):
        UrlHarness(f"{scheme}://h/db")
