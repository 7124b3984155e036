"""Reading the history of a git repository through the git program.

No shell is involved, no hook is run, and nothing is ever written. Names given by a caller are looked up only as
the full names of references, and commits only as full hashes, so that neither can become an option or a revision
expression. Replacement references are ignored: a commit's parents are those that its hash covers.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from strongroom.errors import InvalidArgument, clip
from strongroom.processes.environment import clean_environment
from strongroom.validator.junit import fit

QUEUE_LIMIT = 255
"""The most bytes of UTF-8 in a default queue name."""

SUBJECT_LIMIT = 1000
"""The most characters of a commit's subject that are kept."""

LAST_LIMIT = 1_000_000
"""The most commits that one call lists."""

_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: a forged date beyond it is read as this."""

_COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

# Sparse checkouts are off because a worktree inherits the patterns of the checkout it was added from.
_SETTINGS = (
    "--no-pager",
    "--no-replace-objects",
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.sparseCheckout=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a first-parent history. Times are milliseconds since 1970, 0 where the commit has none."""

    id: str
    parent: str
    """The id of the first parent, or ``""`` for a root."""
    subject: str
    authored_ms: int
    committed_ms: int


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What one call of the git program came to."""

    code: int
    output: bytes
    errors: str

    @property
    def line(self) -> str:
        """The output without its final line break, decoded as file names are."""
        return os.fsdecode(self.output.removesuffix(b"\n"))

    @property
    def complaint(self) -> str:
        """The one line that says why git failed."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        told = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        return (told or lines or [f"git ended with exit code {self.code}"])[-1]


def run_git(cwd: Path, *arguments: str) -> GitAnswer:
    """Run git with `arguments` in the folder `cwd`, without hooks, prompts or a pager, and wait for it.

    Raises `InvalidArgument` if there is no git program or `cwd` is no folder. A failure of git is an answer.
    """
    environment = clean_environment() | {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            # Ctrl-C on a terminal reaches its whole group: what is to be stopped by it is for this process to decide.
            start_new_session=True,
        )
    except OSError as fault:
        if not cwd.is_dir():
            raise InvalidArgument(f"{cwd} is not a folder that can be entered") from fault
        raise InvalidArgument(
            f"the git program cannot be run ({fault.strerror}): install git, or put it on PATH"
        ) from fault
    return GitAnswer(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def full_id(commit_id: str) -> str:
    """`commit_id` itself. Raises `InvalidArgument` if it is not 40 or 64 lower-case hex digits."""
    if not _COMMIT_ID.fullmatch(commit_id):
        raise InvalidArgument(f"a commit is named by its full hash, not by {clip(commit_id)}")
    return commit_id


def commit_uri(commit_id: str) -> str:
    """The name of a commit outside its repository: ``git:`` and its full hash.

    Raises `InvalidArgument` if `commit_id` is not a full hash of 40 or 64 lower-case hex digits.
    """
    return f"git:{full_id(commit_id)}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with whole history. Safe to use from several threads."""

    path: Path
    """The top-level folder of the checkout; the git folder itself of a bare repository."""
    git_dir: Path
    """The git folder that all checkouts of the repository have in common."""
    bare: bool
    branch: str
    """The branch it was opened for; ``HEAD`` where that is detached and none was named."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], branch: str | None = None) -> Repository:
        """The repository that the folder `path` is in, for `branch` or else for the branch that its HEAD is on.

        `branch` is a local branch, else a remote one (``origin/main``), a full reference name, or ``HEAD``.
        Raises `InvalidArgument` if there is no git program, `path` is in no repository that git would use, the
        clone is shallow, the branch is unknown, or there is no commit on it.
        """
        folder = Path(path)
        if not os.path.isdir(folder):
            raise InvalidArgument(f"{clip(str(folder))} is not a folder: name one of a git repository")
        common = run_git(folder, "rev-parse", "--git-common-dir")
        if common.code:
            raise InvalidArgument(_refusal(folder, common))
        git_dir = Path(os.path.realpath(folder / common.line))
        top = run_git(folder, "rev-parse", "--show-toplevel")
        # Inside a git folder there is no top level, though the repository need not be bare.
        root = git_dir if top.code else Path(os.path.realpath(top.line))
        bare = run_git(git_dir, "rev-parse", "--is-bare-repository").line == "true"
        if run_git(root, "rev-parse", "--is-shallow-repository").line == "true":
            raise InvalidArgument(
                f"{root} is a shallow clone, whose history is cut off: run 'git fetch --unshallow' in it first"
            )
        opened = cls(root, git_dir, bare, _head_branch(root) if branch is None else _short(branch))
        opened.tip(opened.branch)
        return opened

    @property
    def name(self) -> str:
        """The name of the repository's folder, without ``.git``; always valid UTF-8, never empty."""
        folder = self.path.parent if self.path.name == ".git" else self.path
        name = os.fsencode(folder.name.removesuffix(".git")).decode("utf-8", "replace")
        return name or "repository"

    @property
    def default_queue(self) -> str:
        """``name/branch``, made to fit `QUEUE_LIMIT` bytes."""
        branch = os.fsencode(self.branch).decode("utf-8", "replace")
        return fit(f"{self.name}/{branch}", QUEUE_LIMIT)

    def tip(self, branch: str) -> str:
        """The full hash of the commit that `branch` is at.

        Raises `InvalidArgument` if there is no such branch, or no commit on it.
        """
        for reference in _references(branch):
            found = self._ask("show-ref", "--verify", "--hash", "--", reference)
            if found.code == 0:
                peeled = self._ask("rev-parse", "--verify", "--quiet", f"{found.line}^{{commit}}")
                if peeled.code == 0:
                    return peeled.line
        known = self._ask("for-each-ref", "--count=5", "--format=%(refname)", "refs/heads", "refs/remotes")
        if names := ", ".join(_short(name) for name in known.line.split()):
            raise InvalidArgument(
                f"{self.path} has no commit on a branch {clip(branch)}: name another, such as {names}"
            )
        raise InvalidArgument(f"{self.path} has no commits on any branch: commit or fetch something first")

    def first_parent(self, branch: str, last: int) -> list[Commit]:
        """The `last` newest commits of `branch` (1 to `LAST_LIMIT`) along first parents, oldest first.

        Fewer if the history is shorter. Raises `InvalidArgument` for an unknown branch or a `last` out of range.
        """
        if not 1 <= last <= LAST_LIMIT:
            raise InvalidArgument(f"the number of commits must be 1 to {LAST_LIMIT}, not {last}")
        answer = self._ask(
            "rev-list", "--first-parent", f"--max-count={last}", "--encoding=UTF-8",
            "--format=%P%n%at%n%ct%n%s", self.tip(branch), "--",
        )  # fmt: skip
        if answer.code:
            raise InvalidArgument(f"the history of {self.path} cannot be read: {answer.complaint}")
        lines = answer.output.split(b"\n")
        records = [lines[at : at + 5] for at in range(0, len(lines) - 4, 5)]
        return [_commit(*record) for record in reversed(records)]

    def has(self, commit_id: str) -> bool:
        """Whether this repository has the commit, on a branch or not.

        Raises `InvalidArgument` if `commit_id` is not a full hash.
        """
        return self._ask("cat-file", "-e", f"{full_id(commit_id)}^{{commit}}").code == 0

    def is_ancestor(self, ancestor_id: str, commit_id: str) -> bool:
        """Whether the first commit is the second one or can be reached from it, along any parents.

        Raises `InvalidArgument` if either is not the full hash of a commit in this repository.
        """
        answer = self._ask("merge-base", "--is-ancestor", full_id(ancestor_id), full_id(commit_id))
        if answer.code not in (0, 1):
            raise InvalidArgument(f"commits cannot be compared in {self.path}: {answer.complaint}")
        return answer.code == 0

    def position(self, commit_id: str) -> int:
        """The number of commits from the root to this one along first parents: 1 for a root.

        Along one first-parent history it grows by one with each commit. Raises `InvalidArgument` if `commit_id` is
        not the full hash of a commit in this repository.
        """
        answer = self._ask("rev-list", "--first-parent", "--count", full_id(commit_id), "--")
        if answer.code:
            raise InvalidArgument(f"{self.path} has no commit {commit_id}: {answer.complaint}")
        return int(answer.output)

    def _ask(self, *arguments: str) -> GitAnswer:
        return run_git(self.path, *arguments)


def _short(reference: str) -> str:
    return reference.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def _references(branch: str) -> list[str]:
    try:
        possible = b"\0" not in os.fsencode(branch) and branch != ""
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise InvalidArgument(f"{clip(branch)} is not the name of a branch")
    if branch == "HEAD" or branch.startswith("refs/"):
        return [branch]
    return [f"refs/heads/{branch}", f"refs/remotes/{branch}"]


def _head_branch(root: Path) -> str:
    head = run_git(root, "symbolic-ref", "--quiet", "HEAD")
    return "HEAD" if head.code else _short(head.line)


def _refusal(folder: Path, answer: GitAnswer) -> str:
    if "dubious ownership" in answer.errors:
        remedy = next(
            (line.strip() for line in answer.errors.splitlines() if "safe.directory" in line), "see git's help"
        )
        return f"git does not trust {folder}, which another user owns: run '{remedy}' first"
    if "not a git repository" in answer.errors:
        return f"{folder} is not in a git repository: name a folder of a checkout, or run 'git init' in it first"
    return f"{folder} cannot be used as a git repository: {answer.complaint}"


def _commit(header: bytes, parents: bytes, authored: bytes, committed: bytes, subject: bytes) -> Commit:
    return Commit(
        id=header.removeprefix(b"commit ").decode("ascii"),
        parent=parents.decode("ascii").partition(" ")[0],
        subject=subject.decode("utf-8", "replace")[:SUBJECT_LIMIT],
        authored_ms=_milliseconds(authored),
        committed_ms=_milliseconds(committed),
    )


def _milliseconds(seconds: bytes) -> int:
    try:
        return min(int(seconds) * 1000, _LATEST_MS)
    except ValueError:
        return 0
