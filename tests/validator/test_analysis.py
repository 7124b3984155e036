"""What a run's reports are taken to say: everything, too little, or nothing at all."""

from __future__ import annotations

from pathlib import Path

from strongroom.domains.stovepipe import Issue
from strongroom.validator.analysis import Analysis, analyse
from strongroom.validator.projects import parse_rule

MIXED = """<testsuite>
<testcase file="store/a.py" name="keep"><failure/></testcase>
<testcase file="store/a.py" name="sell"/>
<testcase file="web/b.py" name="shop"><error/></testcase>
<testcase file="web/b.py" name="later"><skipped/></testcase>
</testsuite>"""
GREEN = '<testsuite><testcase file="store/a.py" name="keep"/></testsuite>'


def test_a_report_shows_projects_and_issues(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(MIXED)
    shown = analyse(tmp_path, "junit.xml", None, succeeded=False)
    assert (shown.fault, shown.complete, shown.cases, shown.failures) == ("", True, 4, 2)
    assert shown.projects == {"store": 0.5, "web": 1.0}
    assert shown.issues == [Issue("store/a.py", "keep"), Issue("web/b.py", "shop")]


def test_a_rule_finds_the_projects(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(MIXED)
    shown = analyse(tmp_path, "junit.xml", parse_rule(r"^(store)/"), succeeded=False)
    assert shown.projects == {"store": 0.5}


def test_a_rule_that_gives_no_test_a_project_shows_of_how_many(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(MIXED)
    unplaced = [
        analyse(tmp_path, "junit.xml", rule, succeeded=False).unplaced
        for rule in (None, parse_rule(r"^(web)/"), parse_rule(r"^services/(\w+)/"))
    ]
    assert unplaced == [0, 0, 4]


def test_several_reports_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "TEST-a.xml").write_text(MIXED)
    (tmp_path / "TEST-b.xml").write_text(GREEN)
    shown = analyse(tmp_path, "TEST-*.xml", None, succeeded=False)
    assert (shown.cases, shown.failures) == (4, 2)


def test_one_broken_report_of_several_spoils_all(tmp_path: Path) -> None:
    (tmp_path / "TEST-a.xml").write_text(MIXED)
    (tmp_path / "TEST-b.xml").write_text("<testsuite>")
    shown = analyse(tmp_path, "TEST-*.xml", None, succeeded=False)
    assert shown == Analysis(fault=shown.fault)
    assert "TEST-b.xml" in shown.fault


def test_a_missing_report_is_the_analysis_fault(tmp_path: Path) -> None:
    assert analyse(tmp_path, "junit.xml", None, succeeded=True) == Analysis(fault="no report junit.xml was left")


def test_a_success_without_failures_is_complete(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(GREEN)
    assert analyse(tmp_path, "junit.xml", None, succeeded=True).complete


def test_a_failure_without_failed_tests_is_not_complete(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(GREEN)
    shown = analyse(tmp_path, "junit.xml", None, succeeded=False)
    assert (shown.complete, shown.projects, shown.fault) == (False, {"store": 0.0}, "")
