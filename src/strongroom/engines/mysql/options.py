"""Where a store's server is, and how it is spoken to: what a URL says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument

_PORT: Final = 3306
_DATABASE: Final = re.compile(r"[A-Za-z0-9_$-]{1,64}")
_FILES: Final = ("ssl_ca", "ssl_cert", "ssl_key")
_CHECKS: Final = ("ssl_verify_cert", "ssl_verify_identity")

Address = tuple[str, int]
"""A host and a port."""


@dataclass(frozen=True, slots=True)
class MysqlOptions:
    """How a store is opened.

    hosts: the servers, in the order in which they are tried; more than one is a Galera cluster.
    database: the MySQL database that is the store; made when the store is prepared.
    unix_socket: the path of the server's socket, instead of a host.
    timeout_ms: how long to wait for the server's answer, for a lock, and for a connection while all are in use.
    pool: how many connections there may be.
    balance: whether each new connection goes to any of the hosts, instead of to the first that answers.
    tls: PyMySQL's arguments for TLS.
    """

    hosts: tuple[Address, ...]
    database: str
    user: str
    password: str = field(default="", repr=False)
    unix_socket: str = ""
    timeout_ms: int = 30_000
    pool: int = 8
    balance: bool = False
    tls: Mapping[str, str | bool] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The servers and the database, without secrets."""
        hosts = self.unix_socket or ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{hosts}/{self.database}"

    @classmethod
    def parse(cls, url: StoreUrl) -> MysqlOptions:
        """The options of a URL; `InvalidArgument`, which shows no password, for one that is wrong."""
        url.allow("hosts", "unix_socket", "timeout_ms", "pool", "balance", "ssl", *_FILES, *_CHECKS)
        try:
            place = urlsplit(f"//{url.place}")
            first = (place.hostname or "localhost", place.port or _PORT)
        except ValueError:
            raise InvalidArgument(f"{url.scheme} URL: the server is named host:port") from None
        database = unquote(place.path.removeprefix("/"))
        if not _DATABASE.fullmatch(database):
            raise InvalidArgument(
                f"{url.scheme} URL: behind the host stands the database's name: letters, digits, _, $ and -, at most 64"
            )
        return cls(
            hosts=tuple(dict.fromkeys([first, *_more_hosts(url)])),
            database=database,
            user=unquote(place.username or "root"),
            password=_password(url, place),
            unix_socket=url.options.get("unix_socket", ""),
            timeout_ms=url.number("timeout_ms", 30_000, minimum=1),
            pool=url.number("pool", 8, minimum=2),
            balance=url.flag("balance"),
            tls=_tls(url),
        )


def _more_hosts(url: StoreUrl) -> list[Address]:
    found = []
    for text in filter(None, url.options.get("hosts", "").split(",")):
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port or _PORT
        except ValueError:
            host, port = None, _PORT
        if not host or "@" in text or "/" in text:
            raise InvalidArgument(f"{url.scheme} URL: hosts are named host:port,host:port")
        found.append((host, port))
    return found


def _password(url: StoreUrl, place: SplitResult) -> str:
    password = unquote(place.password or "")
    try:
        password.encode("latin1")  # as the driver does
    except UnicodeEncodeError:
        raise InvalidArgument(f"{url.scheme} URL: the driver takes passwords of Latin-1 characters only") from None
    return password


def _tls(url: StoreUrl) -> dict[str, str | bool]:
    """The driver's arguments. Whoever names an authority gets its signature and the host's name checked."""
    files: dict[str, str | bool] = {name: url.options[name] for name in _FILES if name in url.options}
    checked = "ssl_ca" in files
    if not url.flag("ssl", default=True):
        if files or any(name in url.options for name in _CHECKS):
            raise InvalidArgument(f"{url.scheme} URL: ssl=0 goes with no other option of TLS")
        return {"ssl_disabled": True}
    cert = url.flag("ssl_verify_cert", default=checked)
    identity = url.flag("ssl_verify_identity", default=cert)
    if (cert or identity) and not checked:
        raise InvalidArgument(f"{url.scheme} URL: to verify a server takes ssl_ca, the file of who signed for it")
    if identity and not cert:
        raise InvalidArgument(f"{url.scheme} URL: ssl_verify_identity goes with ssl_verify_cert=1 only")
    if checked:
        files |= {"ssl_verify_cert": cert, "ssl_verify_identity": identity}
    return files
