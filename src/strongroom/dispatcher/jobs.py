"""What a job runs: the command that its release keeps, as the JSON of `{"command": [...]}` in its config.

Release and job are made from name and command alone, so that making them again, also half-way, makes nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final

import msgspec

from strongroom.domains.dispatch import CreatedJob, Job, Release, Taken, Workspace
from strongroom.errors import InvalidArgument, NotFound, clip
from strongroom.patterns import digest

_PAGE: Final = 1000


class NoCommand(InvalidArgument):
    """The release has no command that can be run."""


class _Config(msgspec.Struct, frozen=True):
    command: Annotated[list[str], msgspec.Meta(min_length=1)]


def create_job(workspace: Workspace, name: str, command: Sequence[str], *, title: str = "") -> CreatedJob:
    """The job of that name, which runs this command; made unless it is there.

    Raises `InvalidArgument` for what no process can have as a command, for a program named by a relative path, since
    each attempt runs in a folder of its own, and where a job of that name runs another command; else as
    `ReleaseStore.save` and `JobStore.create`.
    """
    config = _config_of(command)
    release = f"release_{digest(msgspec.json.encode([name, config])).removeprefix('sha256:')[:32]}"
    others = [job for job in jobs_named(workspace, name) if job.release != release]
    if others:
        raise InvalidArgument(f"the job {clip(name)} runs another command ({others[0].id}): choose another name")
    with suppress(Taken):  # it was made before, perhaps by a call that was stopped behind it
        workspace.releases.save(Release(workspace.name, release, title or name, config=config))
    return workspace.jobs.create(name, release)


def find_job(workspace: Workspace, wanted: str) -> Job:
    """The job of that id, or else of that name. Raises `NotFound`; `InvalidArgument` where several have the name."""
    try:
        return workspace.jobs.get(wanted)
    except NotFound:
        found = jobs_named(workspace, wanted)
    if not found:
        raise NotFound(f"no job has the id or the name {clip(wanted)}")
    if len(found) > 1:
        raise InvalidArgument(f"{len(found)} jobs have the name {clip(wanted)}: name one by its id, as {found[0].id}")
    return found[0]


def jobs_named(workspace: Workspace, name: str) -> list[Job]:
    """The jobs of exactly that name, newest first. Raises `InvalidArgument` for a name of more than 200 bytes."""
    found: list[Job] = []
    after = 0
    while True:
        page = workspace.jobs.list(after=after, limit=_PAGE, q=name)
        found += [job for job in page.items if job.name == name]
        if not page.next:
            return found
        after = page.next


def command_of(release: Release) -> tuple[str, ...]:
    """The command that a release keeps. Raises `NoCommand` for one that has none."""
    try:
        command = tuple(msgspec.json.decode(release.config, type=_Config).command)
        _check(command)
    except (msgspec.MsgspecError, InvalidArgument) as fault:
        raise NoCommand(f"the config of {clip(release.id)} has no command that can be run: {fault}") from fault
    return command


def _config_of(command: Sequence[str]) -> str:
    _check(command)
    return msgspec.json.encode(_Config(list(command))).decode()


def _check(command: Sequence[str]) -> None:
    if not command or not command[0]:
        raise InvalidArgument("a command is a program and its arguments, and can't be empty")
    program = command[0]
    if os.sep in program and not os.path.isabs(program):
        raise InvalidArgument(
            f"each attempt runs in a folder of its own: name {clip(program)} by its absolute path, or put it on PATH"
        )
    for word in command:
        try:
            encoded = word.encode()
        except UnicodeEncodeError:
            raise InvalidArgument("a command's words are UTF-8") from None
        if b"\0" in encoded:
            raise InvalidArgument("a command's words have no NUL")
