"""The etcd engine, opened by ``etcd://HOST:PORT,HOST:PORT/PREFIX``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import grpc

from strongroom.engine import StoreUrl
from strongroom.engines.etcd.commits import Limits
from strongroom.engines.etcd.engine import EtcdEngine, EtcdOptions
from strongroom.engines.etcd.members import Access
from strongroom.errors import InvalidArgument

__all__ = ["EtcdEngine", "EtcdOptions", "open_url"]

PORT: Final = 2379
_PREFIX: Final = re.compile(r"/?[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> EtcdEngine:
    """The engine for ``etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX``.

    Options: `timeout_ms` (how long to wait for the servers, 30,000 unless said), `tls=1`, `ca`, `cert` and `key` (files
    in PEM, each of which means TLS), `max_txn_ops` and `max_request_bytes` (the servers' limits, where they are not
    etcd's own 128 and 1,572,864). Raises `InvalidArgument` for a URL that can't be, or a file that can't be read.
    """
    url.allow("timeout_ms", "tls", "ca", "cert", "key", "max_txn_ops", "max_request_bytes")
    login, _, rest = url.place.rpartition("@")
    user, _, password = login.partition(":")
    servers, _, prefix = rest.partition("/")
    prefix = unquote(prefix)
    if not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(
            f"{url.shown}: behind the servers comes the prefix of the store's keys, such as /strongroom/prod: letters, "
            "digits, dots, dashes and underscores, in parts between slashes"
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
    return EtcdEngine(EtcdOptions(access, prefix, limits), seal_key=seal_key)


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
