from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from strongroom.errors import Closed, InvalidArgument, Unavailable
from strongroom.validator.repository import Repository
from strongroom.validator.worktrees import Worktrees

from .conftest import Checkout

HOLD = """
import sys
from strongroom.validator.repository import Repository
from strongroom.validator.worktrees import Worktrees
repository = Repository.open(sys.argv[1])
with Worktrees(repository, sys.argv[2]) as trees, trees.checkout(repository.tip("main")) as path:
    print(path, flush=True)
    sys.stdin.read()
"""

HAMMER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from strongroom.validator.repository import Repository
from strongroom.validator.worktrees import Worktrees
repository = Repository.open(sys.argv[1])
commits = [commit.id for commit in repository.first_parent("main", 3)]
with Worktrees(repository, sys.argv[2]) as trees, ThreadPoolExecutor(3) as pool:
    def one(number):
        with trees.checkout(commits[number % 3]) as path:
            trees.prune_stale()
            return (path / "file").read_text() == str(number % 3)
    assert all(pool.map(one, range(9)))
"""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    parent = tmp_path / "parent"
    parent.mkdir()
    return parent


@pytest.fixture
def hold(checkout: Checkout, parent: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[str], Path]]]:
    """Starts another process that holds a worktree until its input ends."""
    started: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(checkout.path), str(parent)],
            env=with_sources(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def with_sources() -> dict[str, str]:
    sources = str(Path(__file__).parents[2] / "src")
    return os.environ | {"PYTHONPATH": os.pathsep.join([sources, os.environ.get("PYTHONPATH", "")])}


def worktrees_of(checkout: Checkout) -> list[str]:
    return [
        line for line in checkout.git("worktree", "list", "--porcelain").splitlines() if line.startswith("worktree ")
    ]


def test_a_worktree_has_exactly_the_files_of_its_commit(checkout: Checkout, parent: Path) -> None:
    first = checkout.commit("a", apple_dot_txt="red", deep__pear="green")
    checkout.commit("b", apple_dot_txt="golden", plum="blue")
    (checkout.path / "untracked").touch()
    with Worktrees(Repository.open(checkout.path), parent) as trees, trees.checkout(first) as path:
        files = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
        assert files == {".git", "apple.txt", "deep/pear"}
        assert (path / "apple.txt").read_text() == "red"
        assert Checkout(path).git("rev-parse", "HEAD") == first
        assert Checkout(path).git("status", "--porcelain") == ""
        assert path.name == "fruit"


def test_nothing_is_left_of_a_worktree(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit(file="text")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        with trees.checkout(commit) as path:
            (path / "built").mkdir()
            (path / "file").write_text("changed")
            assert len(worktrees_of(checkout)) == 2
        assert not path.exists()
        assert len(worktrees_of(checkout)) == 1
    assert list(parent.iterdir()) == []


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_worktree_is_removed_when_its_use_fails(checkout: Checkout, parent: Path, fault: type[BaseException]) -> None:
    commit = checkout.commit(file="text")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        with pytest.raises(fault), trees.checkout(commit) as path:
            raise fault
        assert not path.exists()
        assert len(worktrees_of(checkout)) == 1


def test_folders_that_were_made_read_only_are_removed_too(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit(file="text")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        with trees.checkout(commit) as path:
            cache = path / "cache" / "module"
            cache.mkdir(parents=True)
            (cache / "source").touch()
            (path / "link").symlink_to(checkout.path)
            for folder in (cache, cache.parent):
                folder.chmod(0o500)
        assert not path.exists()
    assert (checkout.path / "file").exists()


def test_the_users_own_checkout_and_index_are_not_touched(checkout: Checkout, parent: Path) -> None:
    first = checkout.commit("a", file="one", other="one")
    checkout.commit("b", file="two")
    (checkout.path / "file").write_text("unsaved")
    (checkout.path / "other").write_text("staged")
    checkout.git("add", "other")
    index = (checkout.path / ".git" / "index").read_bytes()
    before = checkout.git("status", "--porcelain=v2", "--branch")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        trees.prune_stale()
        with trees.checkout(first):
            assert (checkout.path / ".git" / "index").read_bytes() == index
    assert (checkout.path / ".git" / "index").read_bytes() == index
    assert checkout.git("status", "--porcelain=v2", "--branch") == before
    assert (checkout.path / "file").read_text() == "unsaved"


def test_hooks_are_not_run(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit(file="text")
    hooks = checkout.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{parent}/hooked'\n")
        (hooks / name).chmod(0o755)
    with Worktrees(Repository.open(checkout.path), parent) as trees, trees.checkout(commit) as path:
        assert (path / "file").read_text() == "text"
    assert not (parent / "hooked").exists()


def test_a_sparse_checkout_does_not_thin_out_its_worktrees(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit(apples__file="a", pears__file="p")
    checkout.git("sparse-checkout", "set", "apples")
    assert not (checkout.path / "pears").exists()
    with Worktrees(Repository.open(checkout.path), parent) as trees, trees.checkout(commit) as path:
        assert (path / "pears" / "file").read_text() == "p"


def test_submodules_are_left_empty(checkout: Checkout, new_checkout: Callable[..., Checkout], parent: Path) -> None:
    inner = new_checkout("inner")
    inner.commit(file="text")
    checkout.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "part")
    commit = checkout.commit("with a part")
    checkout.git("config", "submodule.recurse", "true")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        with trees.checkout(commit) as path:
            assert list((path / "part").iterdir()) == []
        assert not path.exists()
        assert len(worktrees_of(checkout)) == 1


def test_a_bare_repository_has_worktrees_too(checkout: Checkout, parent: Path, tmp_path: Path) -> None:
    commit = checkout.commit(file="text")
    checkout.git("clone", "--quiet", "--bare", ".", str(tmp_path / "store.git"))
    with Worktrees(Repository.open(tmp_path / "store.git"), parent) as trees, trees.checkout(commit) as path:
        assert (path / "file").read_text() == "text"
        assert path.name == "store"
    assert len(worktrees_of(Checkout(tmp_path / "store.git"))) == 1


def test_an_unknown_commit_is_refused(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit(file="text")
    tree = checkout.git("rev-parse", f"{commit}^{{tree}}")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        for unknown in ("0" * 40, tree, "main", "--force"):
            with pytest.raises(InvalidArgument), trees.checkout(unknown):
                pass


def test_a_failing_filter_is_told_and_leaves_nothing(checkout: Checkout, parent: Path) -> None:
    checkout.git("config", "filter.broken.smudge", "false")
    checkout.git("config", "filter.broken.clean", "cat")
    checkout.git("config", "filter.broken.required", "true")
    commit = checkout.commit(file="text", _dot_gitattributes="file filter=broken\n")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        with pytest.raises(Unavailable, match="smudge filter broken failed"), trees.checkout(commit):
            pass
        assert len(worktrees_of(checkout)) == 1


def test_a_parent_folder_that_is_not_there_is_refused(checkout: Checkout, parent: Path) -> None:
    checkout.commit()
    with pytest.raises(InvalidArgument, match="name another"):
        Worktrees(Repository.open(checkout.path), parent / "missing")


def test_closed_worktrees_check_nothing_out(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit()
    trees = Worktrees(Repository.open(checkout.path), parent)
    trees.close()
    trees.close()
    with pytest.raises(Closed), trees.checkout(commit):
        pass


def test_a_folder_that_was_cleaned_away_does_no_harm(checkout: Checkout, parent: Path) -> None:
    commit = checkout.commit()
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        for folder in parent.iterdir():
            shutil.rmtree(folder)
        with pytest.raises(Unavailable, match="no folder can be made"), trees.checkout(commit):
            pass


def test_what_a_killed_process_left_is_pruned(
    checkout: Checkout, parent: Path, hold: Callable[[], tuple[subprocess.Popen[str], Path]]
) -> None:
    checkout.commit(file="text")
    process, path = hold()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (path / "file").exists()
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        assert trees.prune_stale() == 1
        assert trees.prune_stale() == 0
    assert not path.exists()
    assert len(worktrees_of(checkout)) == 1
    assert list(parent.iterdir()) == []


def test_what_was_left_in_another_parent_folder_is_found_through_git(
    checkout: Checkout, tmp_path: Path, hold: Callable[[], tuple[subprocess.Popen[str], Path]]
) -> None:
    checkout.commit(file="text")
    process, path = hold()
    process.kill()
    process.wait()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Worktrees(Repository.open(checkout.path), elsewhere) as trees:
        assert trees.prune_stale() == 1
    assert not path.exists()


def test_the_worktrees_of_a_live_process_are_left_alone(
    checkout: Checkout, parent: Path, hold: Callable[[], tuple[subprocess.Popen[str], Path]]
) -> None:
    commit = checkout.commit(file="text")
    _, path = hold()
    with Worktrees(Repository.open(checkout.path), parent) as trees, trees.checkout(commit) as own:
        with Worktrees(Repository.open(checkout.path), parent) as second:
            assert second.prune_stale() == 0
        assert trees.prune_stale() == 0
        assert (path / "file").exists()
        assert (own / "file").exists()


def test_the_users_own_worktrees_are_left_alone(checkout: Checkout, parent: Path, tmp_path: Path) -> None:
    checkout.commit(file="text")
    checkout.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "mine"))
    checkout.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "unplugged"))
    shutil.rmtree(tmp_path / "unplugged")
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        assert trees.prune_stale() == 0
    assert (tmp_path / "mine" / "file").exists()
    assert len(worktrees_of(checkout)) == 3


def test_a_link_in_a_common_temporary_folder_is_not_followed(checkout: Checkout, parent: Path, tmp_path: Path) -> None:
    checkout.commit()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "lock").touch()
    (precious / "diary").touch()
    with Worktrees(Repository.open(checkout.path), parent) as trees:
        (own,) = parent.iterdir()
        (parent / f"{own.name}x").symlink_to(precious)
        assert trees.prune_stale() == 0
    assert (precious / "diary").exists()


def test_threads_check_out_side_by_side(checkout: Checkout, parent: Path) -> None:
    commits = [checkout.commit(str(number), file=str(number)) for number in range(3)]
    with Worktrees(Repository.open(checkout.path), parent) as trees, ThreadPoolExecutor(4) as pool:

        def content(number: int) -> str:
            with trees.checkout(commits[number % 3]) as path:
                return (path / "file").read_text()

        assert list(pool.map(content, range(12))) == [str(number % 3) for number in range(12)]
    assert len(worktrees_of(checkout)) == 1


@pytest.mark.slow
def test_processes_check_out_side_by_side(checkout: Checkout, parent: Path) -> None:
    for number in range(3):
        checkout.commit(str(number), file=str(number))
    command = [sys.executable, "-c", HAMMER, str(checkout.path), str(parent)]
    processes = [subprocess.Popen(command, env=with_sources()) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(worktrees_of(checkout)) == 1
    assert list(parent.iterdir()) == []
