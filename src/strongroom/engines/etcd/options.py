"""Where a store's servers are, and how they are spoken to: what a URL says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import grpc

from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument

PORT: Final = 2379
_PREFIX: Final = re.compile(r"/?[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Access:
    """How the members are reached.

    addresses: each one's ``host:port``.
    user, password: who asks; empty where the servers know no users.
    tls: the certificates for TLS; None for none.
    timeout_ms: how long to go on asking when no member answers.
    """

    addresses: Sequence[str]
    user: str = ""
    password: str = field(default="", repr=False)
    tls: grpc.ChannelCredentials | None = field(default=None, repr=False)
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What the servers take in one request, as they are set (``--max-txn-ops`` and ``--max-request-bytes``)."""

    operations: int = 128
    request_bytes: int = 1_572_864


@dataclass(frozen=True, slots=True)
class EtcdOptions:
    """How a store is opened: how its members are reached, the prefix of its keys, and the servers' limits."""

    access: Access
    prefix: str
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def parse(cls, url: StoreUrl) -> EtcdOptions:
        """The options of a URL; `InvalidArgument` for one that can't be, or a file that can't be read."""
        url.allow("timeout_ms", "tls", "ca", "cert", "key", "max_txn_ops", "max_request_bytes")
        login, _, rest = url.place.rpartition("@")
        user, _, password = login.partition(":")
        servers, _, prefix = rest.partition("/")
        prefix = unquote(prefix)
        if not _PREFIX.fullmatch(prefix):
            raise InvalidArgument(
                f"{url.shown}: behind the servers comes the prefix of the store's keys, such as /strongroom/prod: "
                "letters, digits, dots, dashes and underscores, in parts between slashes"
            )
        access = Access(
            [_address(server) for server in servers.split(",")],
            unquote(user),
            unquote(password),
            _tls(url),
            url.number("timeout_ms", 30_000, minimum=1),
        )
        limits = Limits(
            url.number("max_txn_ops", Limits().operations, minimum=16),
            url.number("max_request_bytes", Limits().request_bytes, minimum=16_384),
        )
        return cls(access, prefix, limits)


def _address(server: str) -> str:
    found = _ADDRESS.fullmatch(server)
    if found is None:
        raise InvalidArgument("etcd URL: servers are written HOST:PORT,HOST:PORT")
    return f"{found['host']}:{found['port'] or PORT}"


def _tls(url: StoreUrl) -> grpc.ChannelCredentials | None:
    files = {name: _read(url, name) for name in ("ca", "cert", "key")}
    if (files["cert"] is None) != (files["key"] is None):
        raise InvalidArgument("etcd URL: cert and key go together")
    if not url.flag("tls", default=any(file is not None for file in files.values())):
        return None
    return grpc.ssl_channel_credentials(files["ca"], files["key"], files["cert"])


def _read(url: StoreUrl, name: str) -> bytes | None:
    if name not in url.options:
        return None
    try:
        return Path(url.options[name]).read_bytes()
    except OSError as fault:
        raise InvalidArgument(f"etcd URL: {name} can't be read: {fault.strerror}") from fault
