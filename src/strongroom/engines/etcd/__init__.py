"""The etcd engine, opened by ``etcd://HOST:PORT,HOST:PORT/PREFIX``."""

from __future__ import annotations

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.etcd.engine import EtcdEngine
from strongroom.engines.etcd.options import Access, EtcdOptions, Limits

__all__ = ["Access", "EtcdEngine", "EtcdOptions", "Limits", "open_url"]


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for ``etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX``.

    Options: `timeout_ms` (how long to wait for the servers, 30,000 unless said), `tls=1`, `ca`, `cert` and `key` (files
    in PEM, each of which means TLS), `max_txn_ops` and `max_request_bytes` (the servers' limits, where they are not
    etcd's own 128 and 1,572,864). Raises `InvalidArgument` for a URL that can't be, or a file that can't be read.
    """
    return EtcdEngine(EtcdOptions.parse(url), seal_key=seal_key)
