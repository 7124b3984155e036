"""Jobs: a name stands for one command, which is kept with the job's release and read again before it is run."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.dispatcher.jobs import NoCommand, command_of, create_job, find_job, jobs_named
from strongroom.domains import dispatch
from strongroom.errors import InvalidArgument, NotFound
from tests.domains.dispatch.samples import OWNER, WORKSPACE, a_release


@pytest.fixture
def workspace() -> dispatch.Workspace:
    return dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER)


def test_a_job_keeps_its_command_to_the_word(workspace: dispatch.Workspace) -> None:
    command = ("/bin/sh", "-c", 'echo "é\n"', "", " ", "--", '{"a":1}')
    job = create_job(workspace, "nightly", command).job
    assert (job.name, command_of(workspace.releases.get(job.release))) == ("nightly", command)


def test_the_same_job_again_is_the_one_that_is_there(workspace: dispatch.Workspace) -> None:
    first = create_job(workspace, "nightly", ["make", "test"])
    head = workspace.journal.head()
    again = create_job(workspace, "nightly", ["make", "test"])
    assert (first.replayed, again.replayed) == (False, True)
    assert again.job == first.job
    assert workspace.journal.head() == head


def test_a_job_that_was_made_half_way_is_made_whole(
    workspace: dispatch.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.delattr(dispatch.JobStore, "create")
        with pytest.raises(AttributeError):
            create_job(workspace, "nightly", ["make"])
    assert create_job(workspace, "nightly", ["make"]).replayed is False
    kinds = [entry.kind.value for entry in workspace.journal.page().items]
    assert kinds == ["journal.began", "release.previewed", "job.created"]


def test_a_name_stands_for_one_command_only(workspace: dispatch.Workspace) -> None:
    job = create_job(workspace, "nightly", ["make"]).job
    head = workspace.journal.head()
    with pytest.raises(InvalidArgument, match=f"runs another command \\({job.id}\\)"):
        create_job(workspace, "nightly", ["make", "test"])
    assert workspace.journal.head() == head
    create_job(workspace, "weekly", ["make", "test"])
    create_job(workspace, "night", ["make", "test"])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ([], "can't be empty"),
        ([""], "can't be empty"),
        (["bin/build"], "by its absolute path"),
        (["./build"], "by its absolute path"),
        (["make", "a\0b"], "NUL"),
        (["make", "\udcff"], "UTF-8"),
    ],
)
def test_a_command_that_no_attempt_could_run_is_refused_before_anything_is_written(
    workspace: dispatch.Workspace, command: list[str], why: str
) -> None:
    with pytest.raises(InvalidArgument, match=why):
        create_job(workspace, "nightly", command)
    assert workspace.journal.head() == 0


@pytest.mark.parametrize(
    "config", ["{}", "[]", '{"command":[]}', '{"command":"make"}', '{"command":[1]}', '{"command":["a/b"]}']
)
def test_a_release_without_a_command_that_can_be_run_says_so(config: str) -> None:
    with pytest.raises(NoCommand, match="'release_1' has no command that can be run"):
        command_of(a_release(config=config))


def test_what_else_a_config_holds_is_not_looked_at() -> None:
    assert command_of(a_release(config='{"command":["make"],"cpus":4}')) == ("make",)


def test_a_job_is_found_by_its_id_or_its_name(workspace: dispatch.Workspace) -> None:
    job = create_job(workspace, "nightly", ["make"]).job
    other = create_job(workspace, job.id, ["make"]).job
    assert find_job(workspace, "nightly") == job
    assert find_job(workspace, job.id) == job, "an id goes before a name"
    assert find_job(workspace, other.id) == other
    for unknown in ("night", "job_1"):
        with pytest.raises(NotFound, match=f"no job has the id or the name '{unknown}'"):
            find_job(workspace, unknown)


def test_a_name_that_several_jobs_have_is_refused(workspace: dispatch.Workspace) -> None:
    for release in ("release_1", "release_2"):
        workspace.releases.save(a_release(release))
        workspace.jobs.create("nightly", release)
    with pytest.raises(InvalidArgument, match="2 jobs have the name 'nightly': name one by its id"):
        find_job(workspace, "nightly")


def test_jobs_are_found_by_name_however_many_there_are(
    workspace: dispatch.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom.dispatcher.jobs._PAGE", 2)
    wanted = create_job(workspace, "build", ["make"]).job
    for number in range(5):
        create_job(workspace, f"build-{number}", ["make"])
    assert jobs_named(workspace, "build") == [wanted]
