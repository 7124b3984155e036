"""A private MariaDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from servers.data import copy_of, run_to_end
from servers.machine import find, program
from servers.run import Run
from servers.server import Address, Server

SETTINGS = {
    "max_connections": "200",
    "innodb_buffer_pool_size": "64M",
    "innodb_log_file_size": "16M",  # The delivered 96 MB would be copied for every server.
}
"""Everything else is as delivered: innodb_flush_log_at_trx_commit is 1, and the collation knows no case."""

ROOT_FROM_EVERYWHERE = """
INSERT INTO mysql.global_priv SELECT '%', User, Priv FROM mysql.global_priv WHERE User = 'root' AND Host = 'localhost';
DELETE FROM mysql.global_priv WHERE Host NOT IN ('%', 'localhost');
"""
"""A server in a network namespace of its own is reached over other addresses than the loopback's."""


class MariaDB(Server):
    """A private MariaDB on a loopback port, with no database of anybody's.

    Arguments:
        settings: server settings beside, or instead of, `SETTINGS`.
        run: the run that it ends with.

    Raises `Missing` when there is none here.
    """

    def __init__(
        self, *, name: str = "mariadb", settings: Mapping[str, str] | None = None, run: Run | None = None
    ) -> None:
        self._program = find("mariadb")
        super().__init__(name, run=run)
        self._data = self.folder / "data"
        self._settings = SETTINGS | dict(settings or {})
        self._make_data()

    @property
    def address(self) -> Address:
        return Address("mysql", "root", "127.0.0.1", self._port.number, "", str(self.log))

    def _make_data(self) -> None:
        copy_of(self.run, "mariadb", self._install, self._data)

    def _install(self, folder: Path) -> None:
        everywhere = folder / "everywhere.sql"
        everywhere.write_text(ROOT_FROM_EVERYWHERE, encoding="utf-8")
        everywhere.chmod(0o644)
        options = {
            "datadir": str(folder / "data"),
            "auth-root-authentication-method": "normal",
            "extra-file": str(everywhere),
            "innodb_log_file_size": SETTINGS["innodb_log_file_size"],
        }
        installer = [str(program("mariadb-install-db")), "--no-defaults", "--skip-name-resolve", "--skip-test-db"]
        run_to_end([*installer, *_as_options(options)], self.run, folder)

    def _options(self) -> dict[str, str]:
        return {
            "datadir": str(self._data),
            "bind_address": self.host,
            "port": str(self.port),
            # In the data folder, as the longest path of a socket is a hundred characters.
            "socket": "mariadb.sock",
            "pid_file": "mariadb.pid",
            "skip_name_resolve": "ON",
        }

    def _command(self) -> list[str]:
        return [str(self._program), "--no-defaults", *_as_options(self._options() | self._settings)]

    def _answers(self) -> bool:
        return self._query("SELECT 1") is not None

    def _query(self, statement: str) -> Sequence[Sequence[Any]] | None:
        """The rows that a new connection is answered; None without an answer."""
        import pymysql  # Not above: every test run would wait for it, also one that needs no server.

        try:
            connection = pymysql.connect(
                host=self.host, port=self.port, user=self.user, connect_timeout=2, read_timeout=10
            )
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        except pymysql.err.OperationalError:
            return None


def _as_options(settings: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in settings.items()]
