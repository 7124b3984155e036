"""The etcd engine where its server knows users, speaks TLS, or is full."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Annotated

import pytest

import strongroom
from servers.etcd import Certificates, Etcd
from servers.run import current
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, Unavailable
from strongroom.records import REPLACEABLE, Blob, Identifier, Record, Schema, Table
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next


class Filler(Record):
    name: Annotated[str, Identifier(50)]
    body: Annotated[bytes, Blob(1_000_000)]


FILLERS = Table("fillers", Filler, key=("name",), changes=REPLACEABLE)


def prepared(url: str) -> Engine:
    engine = strongroom.open(url)
    engine.prepare(SCHEMA)
    return engine


# Users.


def with_users(server: Etcd) -> None:
    """Have the server know a root, and one who may do everything under ``mine:`` and nothing else."""
    everything = {"permType": "READWRITE", "key": "bWluZTo=", "range_end": "bWluZTs="}  # ``mine:`` to ``mine;``
    steps: list[tuple[str, dict[str, object]]] = [
        ("user/add", {"name": "root", "password": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("user/add", {"name": "one@home", "password": "hush/hush"}),
        ("role/add", {"name": "mine"}),
        ("role/grant", {"name": "mine", "perm": everything}),
        ("user/grant", {"user": "one@home", "role": "mine"}),
        ("enable", {}),
    ]
    for path, body in steps:
        assert server.ask(f"/v3/auth/{path}", body) is not None, path


def as_user(server: Etcd, login: str, prefix: str) -> str:
    return server.url(prefix).replace("://", f"://{login}@")


def test_a_user_works_under_the_prefix_that_is_theirs_and_under_no_other(own_etcd: Callable[..., Etcd]) -> None:
    server = own_etcd()
    with_users(server)
    with prepared(as_user(server, "one%40home:hush%2Fhush", "mine")) as room:
        room.insert(LEASES, Lease("a"))
        assert room.write(lambda transaction: take_next(transaction, "a")) == 2
        server.restart()  # with which every login is forgotten
        assert room.get(LEASES, "a") == Lease("a", version=2)
        server.restart()
        room.update(LEASES, Lease("a", version=3), expect=2)
        server.restart()
        assert room.write(lambda transaction: take_next(transaction, "a")) == 4
    other = as_user(server, "one%40home:hush%2Fhush", "theirs")
    with strongroom.open(other) as room, pytest.raises(InvalidArgument, match="grant a role that reads and writes all"):
        room.prepare(SCHEMA)


def test_a_login_that_is_wrong_or_missing_is_refused_and_not_shown(own_etcd: Callable[..., Etcd]) -> None:
    server = own_etcd()
    with prepared(as_user(server, "one:hush", "mine")) as room:
        assert room.tables(), "nobody asks who somebody is where no users are known"
    with_users(server)
    with strongroom.open(as_user(server, "one%40home:not-this-one", "mine")) as room:
        with pytest.raises(InvalidArgument, match="the user or the password is wrong") as refused:
            room.tables()
        assert "not-this-one" not in f"{refused.value!r} {refused.value.__cause__!r} {vars(room)!r}"
    with strongroom.open(server.url("mine")) as room, pytest.raises(InvalidArgument, match="put them in the URL"):
        room.tables()


# TLS.


@pytest.fixture
def certificates() -> Certificates:
    """Of an authority of the test's own, for this machine."""
    folder = current().new_folder("certificates")
    new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    here = "-subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    for line in [
        f"req -x509 {new} -subj /CN=authority -days 2 -keyout ca.key -out ca.pem",
        f"req {new} {here} -keyout here.key -out here.csr",
        "x509 -req -in here.csr -CA ca.pem -CAkey ca.key -days 2 -copy_extensions copy -out here.pem",
    ]:
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)
    for path in folder.iterdir():
        path.chmod(0o644)  # the server is another user
    return Certificates(folder / "ca.pem", folder / "here.pem", folder / "here.key")


def test_a_server_that_wants_a_certificate_gets_it(own_etcd: Callable[..., Etcd], certificates: Certificates) -> None:
    server = own_etcd(certificates=certificates)
    files = {"ca": str(certificates.authority), "cert": str(certificates.certificate), "key": str(certificates.key)}
    with prepared(server.url("safe", **files)) as room:
        room.insert(LEASES, Lease("a"))
        assert room.get(LEASES, "a") == Lease("a")
    for lacking in ({}, {"tls": "1"}, {"ca": files["ca"]}):
        with strongroom.open(server.url("safe", timeout_ms="300", **lacking)) as room, pytest.raises(Unavailable):
            room.tables()


# A full database.


def test_a_database_that_is_full_is_told_with_the_way_out_and_used_again_afterwards(
    own_etcd: Callable[..., Etcd],
) -> None:
    server = own_etcd(settings={"quota-backend-bytes": "16777216"})
    with strongroom.open(server.url("full")) as room:
        room.prepare(Schema("full", FILLERS))
        kept: list[int] = []

        def fill() -> None:
            for number in range(100):
                room.put(FILLERS, Filler("one", bytes([number]) * 900_000))
                kept.append(number)

        with pytest.raises(Unavailable, match=r"reached its quota .* compact, defragment, .* alarm disarm") as full:
            fill()
        assert len(kept) > 5
        assert full.value.__cause__ is not None
        with pytest.raises(Unavailable):
            room.write(lambda transaction: transaction.put(FILLERS, Filler("two", b"small")))
        found = room.get(FILLERS, "one")
        assert found == Filler("one", bytes([kept[-1]]) * 900_000)  # also of the one that filled it
        assert room.describe()["alarms"] != ()
        server.compact()
        server.defragment()
        server.disarm()
        room.put(FILLERS, Filler("two", b"small"))
        assert room.count(FILLERS, limit=9) == 2
