from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from strongroom.errors import InvalidArgument
from strongroom.validator.repository import QUEUE_LIMIT, Repository, commit_uri, run_git

from .conftest import Checkout

NOWHERE = "0" * 40


def test_the_history_is_the_first_parents_oldest_first(checkout: Checkout) -> None:
    first = checkout.commit("plant")
    checkout.git("switch", "--quiet", "--create", "side")
    side = checkout.commit("graft")
    checkout.git("switch", "--quiet", "main")
    second = checkout.commit("water")
    checkout.git("merge", "--quiet", "--no-ff", "--message", "join", "side")
    merge = checkout.git("rev-parse", "HEAD")

    history = Repository.open(checkout.path).first_parent("main", 10)

    assert [commit.id for commit in history] == [first, second, merge]
    assert [commit.parent for commit in history] == ["", first, second]
    assert [commit.subject for commit in history] == ["plant", "water", "join"]
    assert side not in {commit.id for commit in history}


def test_only_the_last_commits_are_listed(checkout: Checkout) -> None:
    commits = [checkout.commit(f"number {number}") for number in range(4)]
    history = Repository.open(checkout.path).first_parent("main", 2)
    assert [commit.id for commit in history] == commits[2:]


@pytest.mark.parametrize("last", [0, -1, 10**9])
def test_a_number_of_commits_out_of_range_is_refused(checkout: Checkout, last: int) -> None:
    checkout.commit()
    with pytest.raises(InvalidArgument, match="number of commits"):
        Repository.open(checkout.path).first_parent("main", last)


def test_times_are_in_milliseconds(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1600000000 +0200")
    checkout.commit()
    (commit,) = Repository.open(checkout.path).first_parent("main", 1)
    assert (commit.authored_ms, commit.committed_ms) == (1_600_000_000_000, 1_700_000_000_000)


def test_a_forged_date_does_not_overflow(checkout: Checkout) -> None:
    tree = checkout.git("rev-parse", f"{checkout.commit()}^{{tree}}")
    raw = checkout.path / "raw"
    raw.write_text(f"tree {tree}\nauthor A <a> 99999999999999999 +0000\ncommitter A <a> nonsense\n\nforged\n")
    checkout.git(
        "update-ref", "refs/heads/forged", checkout.git("hash-object", "-t", "commit", "-w", "--literally", str(raw))
    )
    (commit,) = Repository.open(checkout.path).first_parent("forged", 1)
    assert 0 <= commit.authored_ms <= 253_402_300_799_999
    assert commit.committed_ms == 0


def test_a_subject_is_one_line_of_any_text(checkout: Checkout) -> None:
    checkout.commit("été\r | \x01\n\nnot this")
    checkout.git("config", "i18n.logOutputEncoding", "latin1")
    (commit,) = Repository.open(checkout.path).first_parent("main", 1)
    assert commit.subject.startswith("été")
    assert "\n" not in commit.subject
    assert "not this" not in commit.subject


def test_replacement_references_do_not_change_history(checkout: Checkout) -> None:
    first, second, third = (checkout.commit(subject) for subject in "abc")
    checkout.git("replace", "--graft", third, first)
    history = Repository.open(checkout.path).first_parent("main", 10)
    assert [commit.id for commit in history] == [first, second, third]


def test_ancestry_follows_all_parents(checkout: Checkout) -> None:
    first = checkout.commit()
    checkout.git("switch", "--quiet", "--create", "side")
    side = checkout.commit("side")
    checkout.git("switch", "--quiet", "main")
    second = checkout.commit("trunk")
    checkout.git("merge", "--quiet", "--no-ff", "--message", "join", "side")
    merge = checkout.git("rev-parse", "HEAD")
    repository = Repository.open(checkout.path)

    assert repository.is_ancestor(side, merge)
    assert repository.is_ancestor(first, first)
    assert not repository.is_ancestor(second, side)
    with pytest.raises(InvalidArgument):
        repository.is_ancestor(first, NOWHERE)


def test_positions_grow_by_one_along_the_trunk(checkout: Checkout) -> None:
    commits = [checkout.commit(f"number {number}") for number in range(3)]
    repository = Repository.open(checkout.path)
    assert [repository.position(commit) for commit in commits] == [1, 2, 3]
    with pytest.raises(InvalidArgument, match="no commit"):
        repository.position(NOWHERE)


@pytest.mark.parametrize("text", ["HEAD", "main", "--all", "abc123", "", "A" * 40, f"{'a' * 40}\n"])
def test_a_commit_goes_by_its_full_hash_only(checkout: Checkout, text: str) -> None:
    checkout.commit()
    repository = Repository.open(checkout.path)
    for ask in (repository.position, commit_uri, lambda given: repository.is_ancestor(given, given)):
        with pytest.raises(InvalidArgument, match="full hash"):
            ask(text)


def test_a_commit_has_an_address() -> None:
    assert commit_uri("ab" * 20) == f"git:{'ab' * 20}"
    assert commit_uri("ab" * 32) == f"git:{'ab' * 32}"


def test_a_repository_of_the_newer_hashes_is_read(new_checkout: Callable[..., Checkout]) -> None:
    modern = new_checkout("modern", "--object-format=sha256")
    commit = modern.commit()
    assert len(commit) == 64
    assert [found.id for found in Repository.open(modern.path).first_parent("main", 5)] == [commit]


def test_the_branch_is_that_of_the_checkout(checkout: Checkout) -> None:
    checkout.commit()
    checkout.git("switch", "--quiet", "--create", "topic/one")
    checkout.git("tag", "topic/one")
    repository = Repository.open(checkout.path)
    assert repository.branch == "topic/one"
    assert repository.default_queue == "fruit/topic/one"


def test_a_detached_head_is_a_branch_of_its_own(checkout: Checkout) -> None:
    first, second = checkout.commit("a"), checkout.commit("b")
    checkout.git("checkout", "--quiet", "--detach", first)
    repository = Repository.open(checkout.path)
    assert (repository.branch, repository.tip("HEAD"), repository.tip("main")) == ("HEAD", first, second)


def test_local_remote_and_full_names_are_branches(checkout: Checkout) -> None:
    first = checkout.commit("a")
    checkout.git("update-ref", "refs/remotes/origin/main", first)
    second = checkout.commit("b")
    repository = Repository.open(checkout.path, "refs/heads/main")
    assert repository.branch == "main"
    assert repository.tip("origin/main") == first
    assert repository.tip("refs/heads/main") == second


def test_an_unknown_branch_is_refused_with_the_ones_there_are(checkout: Checkout) -> None:
    checkout.commit()
    with pytest.raises(InvalidArgument, match=r"'dev': name another, such as main"):
        Repository.open(checkout.path, "dev")


@pytest.mark.parametrize(
    "text", ["", "--all", "-h", "main~1", "main^{tree}", "a\0b", "\ud800", "x..y", "@{-1}", "refs/"]
)
def test_a_branch_name_is_never_an_option_or_an_expression(checkout: Checkout, text: str) -> None:
    checkout.commit("a")
    checkout.commit("b")
    with pytest.raises(InvalidArgument) as caught:
        Repository.open(checkout.path).first_parent(text, 1)
    assert "\n" not in str(caught.value)


def test_a_branch_may_look_like_an_option(checkout: Checkout) -> None:
    commit = checkout.commit()
    checkout.git("update-ref", "refs/heads/--all", commit)
    assert Repository.open(checkout.path, "--all").tip("--all") == commit


def test_any_folder_of_the_checkout_opens_it(checkout: Checkout) -> None:
    checkout.commit(deep__er__file="text")
    repository = Repository.open(checkout.path / "deep" / "er")
    assert repository == Repository.open(checkout.path)
    assert repository.path == checkout.path
    assert not repository.bare


def test_the_git_folder_opens_its_repository(checkout: Checkout) -> None:
    checkout.commit()
    repository = Repository.open(checkout.path / ".git")
    assert (repository.name, repository.branch, repository.bare) == ("fruit", "main", False)


def test_a_linked_worktree_opens_the_repository_for_its_own_branch(checkout: Checkout, tmp_path: Path) -> None:
    checkout.commit()
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    repository = Repository.open(tmp_path / "linked")
    assert (repository.branch, repository.git_dir) == ("side", checkout.path / ".git")


def test_a_bare_repository_is_read(checkout: Checkout, tmp_path: Path) -> None:
    commit = checkout.commit()
    checkout.git("clone", "--quiet", "--bare", ".", str(tmp_path / "store.git"))
    repository = Repository.open(tmp_path / "store.git")
    assert repository.bare
    assert repository.default_queue == "store/main"
    assert [found.id for found in repository.first_parent("main", 1)] == [commit]


def test_a_shallow_clone_is_refused_with_the_way_out(checkout: Checkout, tmp_path: Path) -> None:
    checkout.commit("a")
    checkout.commit("b")
    checkout.git("clone", "--quiet", "--depth=1", f"file://{checkout.path}", str(tmp_path / "shallow"))
    with pytest.raises(InvalidArgument, match=r"shallow clone.*git fetch --unshallow"):
        Repository.open(tmp_path / "shallow")
    Checkout(tmp_path / "shallow").git("fetch", "--quiet", "--unshallow")
    assert len(Repository.open(tmp_path / "shallow").first_parent("main", 9)) == 2


def test_a_repository_without_commits_is_refused(checkout: Checkout) -> None:
    with pytest.raises(InvalidArgument, match="no commits on any branch"):
        Repository.open(checkout.path)


def test_a_folder_outside_any_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not in a git repository"):
        Repository.open(tmp_path)


@pytest.mark.parametrize("name", ["missing", "file", "nul\0", "\ud800"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match="not a folder"):
        Repository.open(tmp_path / name)


def test_a_repository_of_another_user_is_refused_with_gits_way_out(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.commit()
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(InvalidArgument, match=r"git config --global --add safe\.directory \S+fruit'") as caught:
        Repository.open(checkout.path)
    assert "\n" not in str(caught.value)


def test_without_a_git_program_there_is_a_clear_refusal(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout.commit()
    monkeypatch.setenv("PATH", str(checkout.path))
    with pytest.raises(InvalidArgument, match="git program cannot be run"):
        Repository.open(checkout.path)


def test_the_variables_of_a_git_hook_do_not_redirect(
    checkout: Checkout, new_checkout: Callable[..., Checkout], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = checkout.commit("right")
    other = new_checkout("other")
    other.commit("wrong")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git" / "index"))
    repository = Repository.open(checkout.path)
    assert repository.path == checkout.path
    assert repository.tip("main") == commit


def test_a_long_queue_name_is_made_to_fit(new_checkout: Callable[..., Checkout]) -> None:
    long = new_checkout("ö" * 100)
    long.commit()
    long.git("switch", "--quiet", "--create", "/".join(["b" * 50] * 4))
    queue = Repository.open(long.path).default_queue
    assert queue.startswith("ö" * 100 + "/b")
    assert len(queue.encode()) <= QUEUE_LIMIT


def test_a_queue_name_is_valid_text_whatever_the_folder_is_called(new_checkout: Callable[..., Checkout]) -> None:
    odd = new_checkout(os.fsdecode(b"odd\xff"))
    odd.commit()
    assert Repository.open(odd.path).default_queue == "odd\ufffd/main"


def test_a_failure_of_git_is_told_in_one_line(checkout: Checkout) -> None:
    answer = run_git(checkout.path, "rev-parse", "--verify", "nothing")
    assert answer.code != 0
    assert answer.complaint.startswith("fatal: ")
    assert "\n" not in answer.complaint
