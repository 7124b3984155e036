"""A private pgbouncer in front of a PostgreSQL: what many installations put between their programs and the database."""

from __future__ import annotations

import signal

from servers.machine import find
from servers.postgres import answers
from servers.run import Run
from servers.server import Address, Server


class PgBouncer(Server):
    """A pgbouncer on a loopback port, in transaction pooling: each transaction may run in another session.

    Arguments:
        behind: the PostgreSQL that it leads to, with whatever databases that has.
        run: the run that it ends with.

    Raises `Missing` when there is none here.
    """

    stop_signal = signal.SIGTERM  # At once; SIGINT would wait for the clients.

    def __init__(self, behind: Address, *, run: Run | None = None) -> None:
        self._program = find("pgbouncer")
        super().__init__("pgbouncer", run=run)
        self._behind = behind

    @property
    def address(self) -> Address:
        return Address("postgresql", "postgres", "127.0.0.1", self._port.number, "postgres", str(self.log))

    def _command(self) -> list[str]:
        users = self.folder / "users.txt"
        users.write_text('"postgres" ""\n', encoding="utf-8")
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(
            f"""\
[databases]
* = host={self._behind.host} port={self._behind.port} user={self._behind.user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self._port.number}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
max_client_conn = 200
default_pool_size = 20
""",
            encoding="utf-8",
        )
        for file in (users, settings):
            file.chmod(0o644)
        return [str(self._program), str(settings)]

    def _answers(self) -> bool:
        return answers(self.address)
