"""Clean checkouts of single commits, beside the user's own checkout and never in it.

They lie in a private folder of the system's temporary folder rather than in the repository: many build tools search
the folders above for settings and dependencies, and would find those of the user's checkout.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from strongroom.errors import Closed, InvalidArgument, Unavailable
from strongroom.validator.repository import GitAnswer, Repository, full_id, run_git

ATTEMPTS = 6
"""How often git is asked to add, remove or list worktrees before its failure is taken for one."""

_PREFIX = "strongroom-worktrees-"
_LOCK = "lock"


class Worktrees:
    """Makes and removes the clean worktrees of one process. Safe to use from several threads.

    Use it in a ``with`` statement, or call `close`. Any number of processes may have one for the same repository.
    Submodules are not initialised. Hooks are not run; filters, such as Git LFS, are. Needs a POSIX system.
    """

    def __init__(self, repository: Repository, parent_dir: str | os.PathLike[str] | None = None) -> None:
        """Make the private folder in `parent_dir`, by default the system's temporary folder (``TMPDIR``).

        Raises `InvalidArgument` if no folder can be made there.
        """
        self._repository = repository
        self._parent = Path(os.path.realpath(tempfile.gettempdir() if parent_dir is None else parent_dir))
        key = hashlib.sha256(os.fsencode(repository.git_dir)).hexdigest()[:12]
        self._prefix = f"{_PREFIX}{key}-"
        self._serial = threading.Lock()
        self._numbers = itertools.count(1)
        self._closed = False
        try:
            self._folder, self._lock = self._claim()
        except OSError as fault:
            raise InvalidArgument(
                f"no folder for worktrees can be made in {self._parent} ({fault.strerror}): name another"
            ) from fault

    def __enter__(self) -> Worktrees:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def checkout(self, commit_id: str) -> Iterator[Path]:
        """A folder with exactly the files of that commit, HEAD detached, removed again whatever happens.

        The folder has the name of the repository's. What cannot be removed at once (files that a container left as
        another user, say) is left to `close` and `prune_stale`. Raises `InvalidArgument` if the repository has no
        such commit, `Unavailable` if git cannot check it out (no space, a failing filter), `Closed` after `close`.
        """
        self._require(commit_id)
        path = self._folder / str(next(self._numbers)) / self._repository.name
        try:
            self._add(path, commit_id)
            yield path
        finally:
            self._remove(path)

    def prune_stale(self) -> int:
        """Remove the worktrees that killed processes left, and say how many process' folders that were.

        A live process holds a lock on its folder, here or in any container that has the same file system, and is
        left alone. So are records of worktrees whose folder is out of sight, which may be on another machine:
        ``git worktree prune`` or git's own housekeeping removes those.
        """
        folders = {path.parent.parent for path in self._registered()}
        folders.update(self._parent.glob(f"{self._prefix}*"))
        return sum(self._prune(folder) for folder in sorted(folders) if folder != self._folder)

    def close(self) -> None:
        """Remove what is left of this process' worktrees. Again is harmless."""
        if not self._closed:
            self._closed = True
            self._clear(self._folder)
            os.close(self._lock)

    def _claim(self) -> tuple[Path, int]:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self._parent))
            # Until it is locked, another process may take the new folder for a stale one and remove it.
            with contextlib.suppress(FileNotFoundError):
                if (lock := _try_lock(folder, os.O_CREAT)) is not None:
                    return folder, lock

    def _require(self, commit_id: str) -> None:
        if self._closed:
            raise Closed("these worktrees were closed")
        kind = run_git(self._repository.path, "cat-file", "-t", full_id(commit_id))
        if kind.line != "commit":
            raise InvalidArgument(f"{self._repository.path} has no commit {commit_id}")

    def _add(self, path: Path, commit_id: str) -> None:
        try:
            path.parent.mkdir()
        except OSError as fault:
            raise Unavailable(f"no folder can be made in {self._folder}: {fault.strerror}") from fault
        # Only the record is made one at a time; the files, which take the time, are written side by side.
        added = self._change("add", "--force", "--detach", "--no-checkout", "--", str(path), commit_id)
        if added.code == 0:
            added = run_git(path, "reset", "--hard", "--quiet", "--no-recurse-submodules")
        if added.code:
            raise Unavailable(f"git cannot check out {commit_id} of {self._repository.path}: {added.complaint}")

    def _remove(self, path: Path) -> None:
        if _delete(path):
            self._change("remove", "--force", "--force", "--", str(path))
            with contextlib.suppress(OSError):
                path.parent.rmdir()

    def _change(self, *arguments: str) -> GitAnswer:
        for attempt in itertools.count(1):
            with self._alone():
                answer = run_git(self._repository.path, "worktree", *arguments)
            if answer.code == 0 or attempt == ATTEMPTS or "is not a working tree" in answer.errors:
                return answer
            time.sleep(0.01 * 2**attempt)
        raise AssertionError("unreachable")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        # git reads the records of all worktrees whenever it changes one, and fails in many words on one that is half
        # written. A lock on the git folder itself leaves no file behind; where a file system has none, and against
        # other programs' calls of git, trying again has to do.
        with self._serial, contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                folder = os.open(self._repository.git_dir, os.O_RDONLY)
                stack.callback(os.close, folder)
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield

    def _registered(self) -> list[Path]:
        listed = self._change("list", "--porcelain").output.split(b"\n")
        paths = [Path(os.fsdecode(line[9:])) for line in listed if line.startswith(b"worktree ")]
        return [path for path in paths if path.parent.parent.name.startswith(_PREFIX)]

    def _prune(self, folder: Path) -> bool:
        try:
            # In a temporary folder that all users share, another's link must not lead to files of ours.
            owner = folder.lstat()
            if owner.st_uid != os.geteuid() or not stat.S_ISDIR(owner.st_mode):
                return False
            lock = _try_lock(folder, 0)
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                folder.rmdir()  # Killed before it had a lock: then it is empty.
            return False
        except OSError:
            return False
        if lock is None:
            return False
        try:
            return self._clear(folder)
        finally:
            os.close(lock)

    def _clear(self, folder: Path) -> bool:
        for path in self._registered():
            if path.parent.parent == folder:
                self._remove(path)
        try:
            inner = [_delete(entry) for entry in folder.iterdir() if entry.name != _LOCK]
        except FileNotFoundError:
            return True
        # The lock goes last, so that what could not be removed stays recognisable as stale.
        return all(inner) and _delete(folder)


def _try_lock(folder: Path, flags: int) -> int | None:
    """The locked file's descriptor, or ``None`` if a live process has it or it was removed meanwhile."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(folder / _LOCK)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def _delete(path: Path) -> bool:
    """Whether nothing is left of that folder."""
    for attempt in range(3):
        if not os.path.lexists(path):
            return True
        if attempt:
            _make_writable(path)
            time.sleep(0.02 * attempt)  # A process that outlived the command may still be writing.
        shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def _make_writable(path: Path) -> None:
    # Go's module cache, for one, is made of folders that are read-only even to their owner.
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for inner in (Path(folder, name) for name in names):
            with contextlib.suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(0o700)
