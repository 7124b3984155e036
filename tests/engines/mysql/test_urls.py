"""What a URL of a MySQL store says: whom to connect to, as whom, and how far to trust it."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import strongroom
from servers.mariadb import MariaDB
from servers.run import current
from servers.server import Address
from strongroom.errors import (
    InvalidArgument,
    Unavailable,
)
from tests.engines.leases import SCHEMA
from tests.engines.mysql.conftest import Ask, Url, opened


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://root@127.0.0.1", "database's name"),
        ("mysql://root@127.0.0.1/a.b", "database's name"),
        ("mysql://root@127.0.0.1/a%60b", "database's name"),
        ("mysql://root:hush@127.0.0.1:port/a", "host:port"),
        ("mysql://root:hush@127.0.0.1/a?host=b", "no option 'host'"),
        ("mysql://root:hush@127.0.0.1/a?hosts=b:c", "host:port,host:port"),
        ("mysql://root:hush@127.0.0.1/a?hosts=x@b", "host:port,host:port"),
        ("mysql://root:hush%F0%9F%8E%A9@127.0.0.1/a", "Latin-1"),
        ("mysql://root:hush@127.0.0.1/a?pool=1", "at least 2"),
        ("mysql://root:hush@127.0.0.1/a?ssl=0&ssl_ca=x", "ssl=0"),
        ("mysql://root:hush@127.0.0.1/a?ssl_verify_identity=1", "ssl_ca"),
        ("mysql://root:hush@127.0.0.1/a?ssl_ca=x&ssl_verify_cert=0&ssl_verify_identity=1", "ssl_verify_cert=1"),
        ("mysql://root:hush@127.0.0.1/a?ssl_ca=/nowhere/ca.pem", "can be made as the URL says"),
    ],
)
def test_a_url_that_is_wrong_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        strongroom.open(url)
    assert says in str(refused.value)
    assert "hush" not in str(refused.value)


def test_neither_a_refused_connection_nor_an_engine_shows_the_password(mariadb: Address, admin: Ask) -> None:
    with pytest.raises(InvalidArgument, match="Access denied") as refused:
        strongroom.open(f"mysql://nobody:hush%2Fhush@{mariadb.host}:{mariadb.port}/a")
    assert "hush" not in f"{refused.value!r} {refused.value.__cause__!r}"
    admin("CREATE OR REPLACE USER someone IDENTIFIED BY 'hush/hush'")
    with opened(f"mariadb://someone:hush%2Fhush@{mariadb.host}:{mariadb.port}/a") as engine:
        assert "hush" not in f"{engine!r} {engine.options!r} {engine.describe()}"
        with pytest.raises(InvalidArgument, match="granted"):
            engine.prepare(SCHEMA)
    admin("DROP USER someone")


def test_of_several_hosts_the_first_that_answers_is_taken(mariadb: Address, url: Url) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = taken.getsockname()[1]
    here = f"{mariadb.host}:{mariadb.port}"
    for balance in ("0", "1"):
        with opened(url(hosts=here, balance=balance).replace(here, f"127.0.0.1:{nobody}", 1)) as engine:
            engine.prepare(SCHEMA)
            assert engine.describe()["connected_to"] == here


def test_a_server_s_socket_can_be_named(url: Url, admin: Ask) -> None:
    ((_, folder),) = admin("SHOW VARIABLES LIKE 'datadir'")
    with opened(url(unix_socket=f"{folder}mariadb.sock")) as engine:
        engine.prepare(SCHEMA)
        assert str(engine.describe()["connected_to"]).endswith(".sock")


def signed(folder: Path, name: str) -> Path:
    """The folder of a new authority, and of a server's key and certificate that it signed for 127.0.0.1."""
    made = folder / name
    made.mkdir()
    subject = ("-nodes", "-newkey", "rsa:2048", "-subj")
    for arguments in (
        ("req", "-x509", *subject, f"/CN={name}", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2"),
        (
            "req",
            *subject,
            "/CN=server",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            "key.pem",
            "-out",
            "asked",
        ),
        (
            "x509",
            "-req",
            "-in",
            "asked",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-copy_extensions",
            "copy",
            "-out",
            "cert.pem",
        ),
    ):
        subprocess.run(["openssl", *arguments], cwd=made, check=True, capture_output=True)
    made.chmod(0o755)
    (made / "key.pem").chmod(0o644)
    return made


@pytest.mark.slow
def test_a_server_is_verified_once_an_authority_is_named(own_mariadb: Callable[..., MariaDB], mariadb: Address) -> None:
    folder = current().new_folder("signed")  # which the servers' user may look into
    ours, others = signed(folder, "ours"), signed(folder, "others")
    server = own_mariadb(settings={"ssl_cert": str(ours / "cert.pem"), "ssl_key": str(ours / "key.pem")})

    def cipher(**options: str) -> object:
        with opened(server.address.url("secret", **options)) as engine, engine.links.lent() as link:
            assert link.ask("SELECT REPEAT('x', 200000)") == [("x" * 200_000,)]  # more than TLS takes at once
            return link.ask("SHOW STATUS LIKE 'Ssl_cipher'")[0][1]

    assert cipher(ssl_ca=str(ours / "ca.pem"))
    assert cipher()  # encrypted where the server offers it, and nobody verified
    assert not cipher(ssl="0")
    with pytest.raises(Unavailable, match="certificate"):
        cipher(ssl_ca=str(others / "ca.pem"))
    with pytest.raises(Unavailable, match="SSL is required"):
        opened(mariadb.url("secret", ssl_ca=str(ours / "ca.pem")))
