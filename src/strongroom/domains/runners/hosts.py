"""Hosts: the machines that run jobs. A host has no revision; its runner root has a fence of its own in the store."""

from __future__ import annotations

from typing import Annotated, Final, Self

from strongroom.domains.runners.paths import MAX_PATH_BYTES, is_normal, local_absolute_path
from strongroom.domains.runners.refusals import BelowFloor, BlankName, Invalid, InvalidPath
from strongroom.domains.runners.words import Arch, Os, StartMode
from strongroom.records import Identifier, Integer, Millis, Record, Text

REFRESH_FLOOR_SECS: Final = 30
"""The shortest refresh interval, in seconds: more often, and the forge's rate limits are used up."""

FleetName = Annotated[str, Identifier(255)]
Id = Annotated[str, Identifier(64)]
"""A UUID, or any other text of 64 bytes at most, compared byte for byte."""
U16 = Annotated[int, Integer(0, 65_535)]
Path = Annotated[str, Text(MAX_PATH_BYTES)]


class Host(Record):
    """One machine. Make one with `make`, which checks it; changes are `replace` and `checked`."""

    fleet: FleetName
    id: Id
    display_name: Annotated[str, Text(255)]
    os: Os
    architecture: Arch
    host_capacity: Annotated[int, Integer(1, 65_535)]
    """How many attempts may be active at once."""
    service_start_mode: StartMode
    refresh_interval_secs: U16
    runner_root_override: Path | None
    """Where ephemeral workspaces lie; None for the system's default, which is looked up when it is needed."""
    created_at: Annotated[int, Millis()]
    """Unix milliseconds. The first writer's stays."""

    @classmethod
    def make(
        cls,
        fleet: str,
        id: str,
        display_name: str,
        *,
        os: Os,
        architecture: Arch,
        now: int,
        host_capacity: int = 1,
        service_start_mode: StartMode = StartMode.BOOT,
        refresh_interval_secs: int = 60,
        runner_root_override: str | None = None,
    ) -> Self:
        """A host that is new `now` (Unix milliseconds), its name trimmed and its path in normal form.

        Raises `BlankName`, `BelowFloor` under 30 seconds, and `InvalidPath`; other limits are checked on writing.
        """
        if runner_root_override is not None:
            runner_root_override = local_absolute_path(runner_root_override, os)
        return cls(
            fleet,
            id,
            display_name.strip(),
            os,
            architecture,
            host_capacity,
            service_start_mode,
            refresh_interval_secs,
            runner_root_override,
            now,
        ).checked()

    def checked(self) -> Self:
        """The host itself; raises what is wrong with it as `make`."""
        if (refusal := host_refusal(self)) is not None:
            raise refusal
        return self

    @property
    def has_configured_runner_root(self) -> bool:
        """Whether the runner root is another than the system's default."""
        return self.runner_root_override is not None


def host_refusal(host: Host) -> Invalid | None:
    """What is wrong with a host whose columns are each in their limits; None if nothing is."""
    if not host.display_name or host.display_name != host.display_name.strip():
        return BlankName()
    if host.refresh_interval_secs < REFRESH_FLOOR_SECS:
        return BelowFloor(REFRESH_FLOOR_SECS, host.refresh_interval_secs)
    root = host.runner_root_override
    if root is not None and not is_normal(root, host.os):
        return InvalidPath(f"runner_root_override: expected a local absolute path of {host.os}, in normal form")
    return None
