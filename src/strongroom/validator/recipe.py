"""How each commit is validated: the command, its limits, and what is read from what it leaves.

All of it is checked before anything is written anywhere.
"""

from __future__ import annotations

import hashlib
import math
import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strongroom.errors import InvalidArgument, clip
from strongroom.processes.execution import find_command
from strongroom.validator.junit import fit, parse_pattern
from strongroom.validator.projects import ProjectRule
from strongroom.validator.repository import Commit, Repository, run_git


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is done for each commit. `check` it before it is used."""

    command: tuple[str, ...]
    """A program and its arguments; no shell is involved."""
    logs: Path
    """The folder that the logs of the runs lie in, each queue's in a folder of its own."""
    timeout_s: float | None = None
    junit: str = ""
    """A path or glob, inside the worktree, of the reports that the command leaves; "" for none."""
    rule: ProjectRule | None = None
    """Finds a test's project; None for its top-level folder."""
    full: bool = False
    """Whether every commit is built in full, also where there is a green one to start from."""

    def check(self, repository: Repository, commits: Sequence[Commit]) -> None:
        """Raises `InvalidArgument` for a recipe that none of `commits`, oldest first, could be validated by."""
        if self.timeout_s is not None and not 0 < self.timeout_s < math.inf:
            raise InvalidArgument(f"the timeout must be a positive number of seconds, not {self.timeout_s:g}")
        if self.junit:
            parse_pattern(self.junit)
        elif self.rule is not None:
            raise InvalidArgument("projects are taken from test reports: say where those are with --junit PATH")
        find_command(self.command)
        program = self.command[0]
        if os.sep in program and not os.path.isabs(program):
            self._find_in_commits(program, repository, commits)

    @property
    def digest(self) -> str:
        """Names the command without showing it: equal for equal commands only."""
        words = b"".join(b"%d:%s" % (len(word), word) for word in map(os.fsencode, self.command))
        return hashlib.blake2b(words, digest_size=16).hexdigest()

    def log_path(self, queue: str, build: str) -> Path:
        """Where the log of a build is."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", queue).lstrip(".-")
        if plain != queue:
            # Another queue's name may be as plain; "~" is in none of them.
            plain = f"{plain[:100]}~{hashlib.blake2b(queue.encode(), digest_size=6).hexdigest()}"
        return self.logs / fit(plain, 200) / f"{build}.log"

    def _find_in_commits(self, program: str, repository: Repository, commits: Sequence[Commit]) -> None:
        path = posixpath.normpath(program)
        if path.startswith("../"):
            raise InvalidArgument(
                f"the command {clip(program)} leads out of the worktree that it is run in: give its absolute path"
            )
        for commit in reversed(commits):
            if run_git(repository.path, "cat-file", "-e", f"{commit.id}:{path}").code == 0:
                return
        raise InvalidArgument(
            f"the command {clip(program)} is in none of the commits to validate: it is sought in each one's worktree"
        )


def make_folder(path: Path) -> None:
    """Have the folder; `InvalidArgument` if it can't be made.

    What is made of its path is its owner's alone, as output may hold secrets; what is there is left as it is.
    """
    try:
        # With its own `parents`, mkdir would make all but the last for everyone to read.
        for folder in (*reversed(path.parents), path):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        path.mkdir(exist_ok=True)  # Refuses a path that is there and no folder.
    except OSError as fault:
        raise InvalidArgument(f"the folder {path} for logs can't be made: {fault.strerror}") from fault
