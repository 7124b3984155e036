"""What a ``postgresql:`` URL says: whom to connect to, and how the engine is to behave."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument

_OWN: Final = ("schema", "timeout_ms", "pool", "prepare", "synchronous_commit")
_LIBPQ: Final = (
    *("host", "hostaddr", "port", "passfile", "service", "application_name", "options", "connect_timeout"),
    *("target_session_attrs", "load_balance_hosts", "channel_binding", "require_auth"),
    *("sslmode", "sslnegotiation", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslsni"),
    *("sslcrl", "sslcrldir", "ssl_min_protocol_version", "ssl_max_protocol_version"),
    *("gssencmode", "krbsrvname", "gsslib"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"),
)
"""What is handed to libpq as it stands."""

FLUSHING: Final = ("on", "local", "remote_write", "remote_apply")
"""The settings of synchronous_commit under which a commit is flushed before it is acknowledged."""

_FORM: Final = (
    "a PostgreSQL store is named postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME; special characters in a "
    "part of it are percent-encoded"
)

_SCHEMA: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """How the engine behaves.

    schema: the schema that holds the store's tables; made by the first `prepare`.
    timeout_ms: how long to wait for the server, for a connection of the pool, and for others' locks.
    pool: how many connections there may be at once.
    prepare: whether the server prepares statements; None: unless a proxy stands between.
    synchronous_commit: asked of the server for each commit; None: as it is set there, but never less than flushed.
    """

    schema: str = "strongroom"
    timeout_ms: int = 30_000
    pool: int = 8
    prepare: bool | None = None
    synchronous_commit: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to connect to. Secrets stay out of sight."""

    place: str
    """Hosts, ports and database, as they may be shown."""
    parameters: dict[str, Any] = field(repr=False)


def options_of(url: StoreUrl) -> PostgresOptions:
    """The engine's own options; `InvalidArgument` for one that can't be, or is not known."""
    url.allow(*_OWN, *_LIBPQ)
    schema = url.options.get("schema", "strongroom")
    if not _SCHEMA.fullmatch(schema):
        raise InvalidArgument(
            "postgresql URL: a schema is named by lower-case letters, digits and underscores, at most 63, not pg_"
        )
    asked = url.choice("synchronous_commit", "", ("", "off", *FLUSHING))
    return PostgresOptions(
        schema=schema,
        timeout_ms=url.number("timeout_ms", 30_000, minimum=1),
        pool=url.number("pool", 8, minimum=1),
        prepare=url.flag("prepare") if "prepare" in url.options else None,
        synchronous_commit=asked or None,
    )


def target_of(url: StoreUrl, timeout_ms: int) -> Target:
    """Whom the URL names; `InvalidArgument` where libpq can't make sense of it."""
    passed = {name: value for name, value in url.options.items() if name in _LIBPQ}
    try:
        given = conninfo_to_dict(
            f"postgresql://{url.place}" + (f"?{urlencode(passed, quote_via=quote)}" if passed else "")
        )
    except (psycopg.Error, UnicodeError):
        raise InvalidArgument(_FORM) from None  # what libpq says quotes the URL, and with it a password
    if any("@" in str(given.get(part) or "") for part in ("host", "port", "dbname")):
        raise InvalidArgument(_FORM)  # a piece of a password that was not encoded
    hosts = str(given.get("host") or given.get("hostaddr") or "localhost").split(",")
    ports = str(given.get("port") or "5432").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    place = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))
    seconds = max(2, math.ceil(timeout_ms / 1000))
    defaults = {"application_name": "strongroom", "connect_timeout": seconds, "tcp_user_timeout": timeout_ms}
    return Target(
        f"{place}/{given.get('dbname') or given.get('user') or ''}",
        {**defaults, **given, "client_encoding": "UTF8"},
    )
