"""A server of one's own: stopped, killed, started again, closed."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from servers import MariaDB, Postgres, Server, ServerFailed
from servers.fixtures import need
from servers.ports import Port
from tests.servers.asking import ask, lives, processes_in


@pytest.fixture(params=["postgres", "postgres18", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A started server of each kind, with a table of one column in it."""
    need(request.param)
    with MariaDB() if request.param == "mariadb" else Postgres(request.param) as server:
        ask(server.address, "CREATE SCHEMA mine")
        ask(server.address, "CREATE TABLE mine.kept (number int)")
        yield server


def keep(server: Server, number: int) -> None:
    ask(server.address, f"INSERT INTO mine.kept VALUES ({number})")


def kept(server: Server) -> list[int]:
    return [number for (number,) in ask(server.address, "SELECT number FROM mine.kept ORDER BY number")]


def test_a_restarted_server_answers_at_the_same_address_with_what_was_committed(server: Server) -> None:
    keep(server, 1)
    before, pid = server.address, server.pid
    server.restart()
    assert server.address == before
    assert server.pid != pid
    assert kept(server) == [1]


def test_a_killed_server_leaves_no_process_and_comes_back_with_what_was_committed(server: Server) -> None:
    for number in range(3):
        keep(server, number)
        server.kill()
        assert not server.running
        assert processes_in(str(server.folder)) == []
        server.start()
    assert kept(server) == [0, 1, 2]


def test_nobody_gets_the_port_of_a_stopped_server(server: Server) -> None:
    server.stop()
    with pytest.raises(ConnectionRefusedError), socket.create_connection((server.host, server.port)):
        pass
    with pytest.raises(OSError, match="in use"), socket.socket() as other:
        other.bind((server.host, server.port))
    server.start()


def test_a_closed_server_leaves_neither_processes_nor_shared_memory(server: Server) -> None:
    pid = server.pid
    server.kill()
    server.close()
    assert not lives(pid)
    assert processes_in(str(server.folder)) == []
    segments = subprocess.run(["ipcs", "--shmems", "--pid"], check=True, capture_output=True, text=True).stdout
    assert str(pid) not in segments.split()


def test_a_stopped_server_has_no_process(server: Server) -> None:
    server.stop()
    with pytest.raises(ServerFailed, match="does not run"):
        assert server.pid


@pytest.mark.parametrize(
    ("kind", "setting"), [(Postgres, {"shared_buffers": "plenty"}), (MariaDB, {"innodb_page_size": "5"})]
)
def test_a_server_that_cannot_start_says_so_with_the_end_of_its_log(
    kind: type[Postgres] | type[MariaDB], setting: dict[str, str]
) -> None:
    need(kind.__name__.lower())
    server = kind(settings=setting)
    with pytest.raises(ServerFailed, match=rf"ended before it answered(.|\n)*{next(iter(setting))}|page"), server:
        pass
    assert not server.running


def test_servers_never_run_as_root(server: Server) -> None:
    assert os.stat(f"/proc/{server.pid}").st_uid != 0


def test_a_reserved_port_is_given_to_nobody_else_and_left_when_released() -> None:
    port = Port()
    with pytest.raises(OSError, match="in use"), socket.socket() as other:
        other.bind(("127.0.0.1", port.number))
    port.release()
    with socket.create_server(("127.0.0.1", port.number)):
        pass
