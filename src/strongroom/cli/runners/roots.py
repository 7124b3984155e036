"""The places where jobs run: a host's runner root and the workspaces of policies, and how one of them is changed.

Every change goes the same way: count what is not cleaned, check the new path by its text, against every other place
of the same host and on the disk, make at most its last directory, and write under a fence. Nothing is ever moved or
deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from strongroom.cli.runners.fences import fenced, refuse_while_uncleaned
from strongroom.cli.runners.machine import Machine, chosen_host
from strongroom.domains.runners import Host, Os, RunnerStore, ScalePolicy, WorkspaceMode
from strongroom.domains.runners.paths import local_absolute_path, overlap
from strongroom.errors import InvalidArgument, clip

_AGENTS: Final = "the agent's default"


class Source(StrEnum):
    """Who says where jobs run."""

    PLATFORM_DEFAULT = "platform_default"
    """The system's default, which the agent looks up when it needs it."""
    CONFIGURED = "configured"
    """The host's runner root."""
    REPOSITORY = "repository"
    """The policy's own persistent workspace."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where jobs run, and who says so. `path` is None where only the agent knows it."""

    path: str | None
    source: Source

    def __str__(self) -> str:
        return f"{_AGENTS if self.path is None else self.path} ({self.source})"

    def object(self) -> dict[str, Any]:
        """The place as JSON answers have it."""
        return {"path": self.path, "source": self.source.value}


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of a change: the place before and now, and the directory that was made for it, if one was."""

    previous: Place
    current: Place
    made: str | None = None

    @property
    def retained(self) -> Place | None:
        """The former place, where it is another than the current one: everything in it stays as it is."""
        return self.previous if self.previous != self.current else None


def place_of_host(host: Host | None) -> Place:
    """Where ephemeral jobs of a host run; a host that is not on record has no root of its own."""
    root = None if host is None else host.runner_root_override
    return Place(root, Source.PLATFORM_DEFAULT if root is None else Source.CONFIGURED)


def place_of_policy(policy: ScalePolicy, host: Host | None) -> Place:
    """Where jobs of a policy run."""
    if policy.workspace_mode is WorkspaceMode.PERSISTENT:
        return Place(policy.workspace_path, Source.REPOSITORY)
    return place_of_host(host)


def set_runtime_root(store: RunnerStore, host: Host, path: str | None, machine: Machine) -> Moved:
    """Change where a host's ephemeral jobs run, None for the system's default; says what was before and is now.

    Raises, nothing written and no directory made, `AttemptsRemain`, then `InvalidArgument` for the path: its text, an
    overlap with a policy's workspace, what is on the disk. Raises `Conflict`, naming a directory that was made, if
    somebody else changed the root or allocated an attempt meanwhile.
    """
    refuse_while_uncleaned(f"host {clip(host.id)}", store.uncleaned_ephemeral_attempts())
    made = None
    if path is not None:
        path = _checked_path(path, host.os, machine)
        check_apart(path, _workspaces(host.id, store.policies()))
        made = make_leaf(path)
    with fenced(made):
        changed = store.set_runner_root_override(host.id, host.runner_root_override, path, 0)
    return Moved(place_of_host(host), place_of_host(changed), made)


def set_workspace(
    store: RunnerStore, policy: ScalePolicy, mode: WorkspaceMode, path: str | None, named: str | None, machine: Machine
) -> tuple[ScalePolicy, Moved]:
    """Change where a policy's jobs run, see `ScalePolicy.set_workspace_policy`: the policy now, and its places.

    Raises, nothing written and no directory made, `InvalidArgument` for a mode without its path or with one too many;
    then as `set_runtime_root`, and `InvalidArgument` for a directory on another host than this. Where the policy is
    so already, nothing is written and none is made.

    Arguments:
        named: the host that this machine is said to be, None for the one of its name.
    """
    if mode is WorkspaceMode.EPHEMERAL and path is not None:
        raise InvalidArgument("an ephemeral workspace has no --path: it lies under the host's runner root")
    if mode is WorkspaceMode.PERSISTENT and path is None:
        raise InvalidArgument("a persistent workspace needs a --path")
    refuse_while_uncleaned(f"policy {clip(policy.id)}", store.uncleaned_attempts_for_policy(policy.id))
    hosts, made = store.hosts(), None
    host = next((host for host in hosts if host.id == policy.host_id), None)
    if path is not None:
        if chosen_host(hosts, named, machine) != policy.host_id:
            raise InvalidArgument(
                f"the policy is host {clip(policy.host_id)}'s, where its directory would be made: run this there, "
                "with --host if the host has not that machine's name"
            )
        path = _checked_path(path, machine.os if host is None else host.os, machine)
        roots = _workspaces(policy.host_id, (other for other in store.policies() if other.id != policy.id))
        if host is not None and host.runner_root_override is not None:
            roots[f"the runner root of host {clip(host.id)}"] = host.runner_root_override
        check_apart(path, roots)
    changed = policy.set_workspace_policy(mode, path)
    before = place_of_policy(policy, host)
    if changed == policy:
        return policy, Moved(before, before)
    if path is not None:
        made = make_leaf(path)
    with fenced(made):
        store.update_policy_confirming_uncleaned_count(changed, policy.revision, 0)
    return changed, Moved(before, place_of_policy(changed, host), made)


def check_apart(path: str, roots: dict[str, str]) -> None:
    """Raises `InvalidArgument` if the path is one of the roots, or lies in one, or one in it.

    Paths are compared by their text, and as they lie on the disk: no symbolic link leads around this.

    Arguments:
        roots: the other places of the same host, by what they are.
    """
    for what, root in roots.items():
        if overlap(path, root) or _overlap_on_disk(path, root):
            raise InvalidArgument(f"{path} and {what}, {root}, overlap")


def make_leaf(path: str) -> str | None:
    """Make the last directory of a path, if it is not there: the path if it was made, else None.

    Raises `InvalidArgument`, nothing made, where there is something else, or no directory to make it in.
    """
    if os.path.isdir(path):
        return None
    if os.path.lexists(path):
        raise InvalidArgument(f"{path} is there, and no directory")
    if not os.path.isdir(os.path.dirname(path)):
        raise InvalidArgument(f"{path} can't be made: there is no directory {os.path.dirname(path)}")
    try:
        os.mkdir(path)
    except FileExistsError:
        return make_leaf(path)
    except OSError as problem:
        raise InvalidArgument(f"{path} can't be made: {problem.strerror}") from problem
    return path


def _checked_path(path: str, system: Os | None, machine: Machine) -> str:
    path = local_absolute_path(path, system)
    if system is not machine.os:
        raise InvalidArgument(f"the host's system is {system}, and not this machine's: run this on the host")
    return path


def _workspaces(host_id: str, policies: Iterable[ScalePolicy]) -> dict[str, str]:
    return {
        f"the workspace of policy {clip(policy.id)}": policy.workspace_path
        for policy in policies
        if policy.host_id == host_id and policy.workspace_path is not None
    }


def _overlap_on_disk(path: str, root: str) -> bool:
    if not os.path.isabs(root):
        return False  # a path of another system than this
    one, other = os.path.realpath(path), os.path.realpath(root)
    try:
        return os.path.commonpath([one, other]) in (one, other)
    except ValueError:
        return False  # on two drives
