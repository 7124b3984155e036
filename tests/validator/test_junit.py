from __future__ import annotations

import codecs
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from strongroom.errors import InvalidArgument
from strongroom.validator import junit
from strongroom.validator.junit import (
    Case,
    discard_reports,
    find_reports,
    fit,
    merge,
    parse_pattern,
    read,
)

SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="surefire.xsd"
    version="3.0" name="com.acme.CartTest" time="1,234.5" tests="5" errors="1" skipped="1" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="com.acme.CartTest" time="1,234.5"/>
  <testcase name="removes" classname="com.acme.CartTest" time="0.01">
    <failure message="expected 1" type="AssertionError"><![CDATA[at <CartTest>]]></failure>
    <rerunFailure message="again"/>
  </testcase>
  <testcase name="pays" classname="com.acme.CartTest" time="0"><error type="IOException">no bank</error></testcase>
  <testcase name="ships" classname="com.acme.CartTest" time="0"><skipped message="later"/></testcase>
  <testcase name="flickers" classname="com.acme.CartTest" time="0"><flakyFailure message="once"/></testcase>
  <testcase name="" classname="com.acme.CartTest" time="0"><error message="@BeforeAll failed"/></testcase>
</testsuite>"""

GOTESTSUM = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0" time="0.5">
  <testsuite tests="2" failures="1" name="example.org/fruit/store" timestamp="2024-01-01T00:00:00Z">
    <properties><property name="go.version" value="go1.22"></property></properties>
    <testcase classname="example.org/fruit/store" name="TestKeep" time="0.100000"></testcase>
    <testcase classname="example.org/fruit/store" name="TestSell/twice" time="0.200000">
      <failure message="Failed" type="">=== RUN</failure>
    </testcase>
  </testsuite>
</testsuites>"""

JEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.2">
  <testsuite name="cart" errors="0" failures="1" skipped="0" tests="2">
    <testcase classname="cart adds" name="cart adds" time="0.004" file="web/src/cart.test.ts"></testcase>
    <testcase classname="cart pays" name="cart pays" time="0.004" file="web/src/cart.test.ts">
      <failure>Error: no bank</failure>
    </testcase>
  </testsuite>
</testsuites>"""

NESTED = """<testsuites>
  <testsuite name="outer" file="tests/OuterTest.php">
    <testsuite name="inner"><testcase name="one"/></testsuite>
    <testsuite name="other" file="tests\\OtherTest.php"><testcase name="two" file="./tests/./x.php"/></testsuite>
    <testcase name="three" classname="C"/>
  </testsuite>
  <testcase name="four"/>
</testsuites>"""

LAUGHS = """<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuite><testcase name="&b;"/></testsuite>"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.xml"


def outcomes(report: Path, text: str | bytes) -> dict[str, str]:
    report.write_bytes(text.encode() if isinstance(text, str) else text)
    return {case.name: case.outcome for case in read(report)}


def test_a_surefire_report_is_read(report: Path) -> None:
    assert outcomes(report, SUREFIRE) == {
        "adds": "passed",
        "removes": "failed",
        "pays": "error",
        "ships": "skipped",
        "flickers": "passed",
        "com.acme.CartTest": "error",
    }
    assert read(report)[0] == Case("", "com.acme.CartTest", "adds", "passed", 1234.5)


def test_a_gotestsum_report_is_read(report: Path) -> None:
    report.write_text(GOTESTSUM)
    assert read(report) == [
        Case("", "example.org/fruit/store", "TestKeep", "passed", 0.1),
        Case("", "example.org/fruit/store", "TestSell/twice", "failed", 0.2),
    ]


def test_a_jest_report_is_read(report: Path) -> None:
    report.write_text(JEST)
    assert read(report) == [
        Case("web/src/cart.test.ts", "cart adds", "cart adds", "passed", 0.004),
        Case("web/src/cart.test.ts", "cart pays", "cart pays", "failed", 0.004),
    ]


def test_suites_in_suites_pass_on_their_names_and_files(report: Path) -> None:
    report.write_text(NESTED)
    assert [(case.file, case.classname, case.name) for case in read(report)] == [
        ("tests/OuterTest.php", "inner", "one"),
        ("tests/x.php", "other", "two"),
        ("tests/OuterTest.php", "C", "three"),
        ("", "", "four"),
    ]


@pytest.mark.parametrize(("family", "file"), [("xunit1", "tests/test_x.py"), ("xunit2", "")])
def test_a_report_of_pytest_itself_is_read(tmp_path: Path, report: Path, family: str, file: str) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pytest.ini").touch()
    (tests / "test_broken.py").write_text("import no_such_module\n")
    (tests / "test_x.py").write_text(
        "import pytest\n"
        "class TestA:\n"
        "    def test_good(self): pass\n"
        "def test_bad(): assert False\n"
        "@pytest.mark.xfail\n"
        "def test_known(): assert False\n"
        "@pytest.fixture\n"
        "def leaky():\n"
        "    yield\n"
        "    raise OSError\n"
        "def test_torn(leaky): pass\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, "-o", f"junit_family={family}"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, check=False)
    found = {(case.file, case.classname, case.name): case.outcome for case in read(report)}
    assert found == {
        (file, "tests.test_x.TestA", "test_good"): "passed",
        (file, "tests.test_x", "test_bad"): "failed",
        (file, "tests.test_x", "test_known"): "skipped",
        (file, "tests.test_x", "test_torn"): "error",
        (file and "tests/test_broken.py", "", "tests.test_broken"): "error",
    }


def test_the_worst_outcome_of_a_repeated_test_counts(report: Path) -> None:
    bad, skip = "<failure/>", "<skipped/>"
    cases = [("a", ""), ("b", bad), ("a", bad), ("b", ""), ("c", skip), ("c", ""), ("a", skip)]
    inner = "".join(
        f"<testcase classname='K' name='{name}' time='{at}'>{child}</testcase>"
        for at, (name, child) in enumerate(cases)
    )
    assert outcomes(report, f"<testsuite>{inner}</testsuite>") == {"a": "failed", "b": "failed", "c": "passed"}
    assert [(case.name, case.time) for case in read(report)] == [("a", 6), ("b", 3), ("c", 5)]


def test_tests_of_one_name_in_several_classes_or_files_are_several(report: Path) -> None:
    cases = [Case(file, classname, "t", "passed", 0) for file in "fg" for classname in "CD"]
    assert merge(cases) == cases


def test_one_case_may_have_several_outcomes(report: Path) -> None:
    def case(children: str) -> str:
        return f"<testsuite><testcase name='t'>{children}</testcase></testsuite>"

    assert outcomes(report, case("<skipped/><error/>")) == {"t": "error"}
    assert outcomes(report, case("<failure/><error/>")) == {"t": "error"}
    assert outcomes(report, case("<failure/><skipped/>")) == {"t": "failed"}
    assert outcomes(report, case("<system-out><failure/></system-out>")) == {"t": "passed"}


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ("status='notrun'", "skipped"),
        ("status='run' result='completed'", "passed"),
        ("status='notrun' result='suppressed'", "skipped"),
        ("status='FAILED'", "failed"),
        ("status='error'", "error"),
        ("status='anything'", "passed"),
    ],
)
def test_an_outcome_may_be_an_attribute(report: Path, attributes: str, outcome: str) -> None:
    assert outcomes(report, f"<testsuite><testcase name='t' {attributes}/></testsuite>") == {"t": outcome}


@pytest.mark.parametrize("time", ["", "soon", "nan", "inf", "-1", "1e999"])
def test_a_time_that_is_none_is_zero(report: Path, time: str) -> None:
    report.write_text(f"<testsuite><testcase name='t' time='{time}'/></testsuite>")
    assert read(report)[0].time == 0


def test_every_case_has_a_name(report: Path) -> None:
    assert outcomes(report, "<testsuite name='S'><testcase name=' '/></testsuite>") == {"S": "passed"}
    assert outcomes(report, "<testsuite><testcase/></testsuite>") == {"(unnamed)": "passed"}


def test_files_of_the_worktree_are_relative_to_it(tmp_path: Path) -> None:
    worktree, link = tmp_path / "worktree", tmp_path / "link"
    worktree.mkdir()
    link.symlink_to(worktree)
    files = [f"{worktree}/a/t.js", f"{link}/a/t.js", f"file://{worktree}/a/t.js", "./a/t.js", "a//t.js", "a\\t.js"]
    for file in files:
        (worktree / "report.xml").write_text(
            f"<testsuite><testcase name='t' classname='{link}/K' file='{file}'/></testsuite>"
        )
        assert [(case.file, case.classname) for case in read(link / "report.xml", link)] == [("a/t.js", "K")]
    (worktree / "report.xml").write_text("<testsuite><testcase name='t' file='/usr/lib/t.js'/></testsuite>")
    assert read(worktree / "report.xml", worktree)[0].file == "/usr/lib/t.js"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_are_understood(report: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?><testsuite><testcase name='été'/></testsuite>"
    assert outcomes(report, text.encode(encoding)) == {"été": "passed"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "report.xml, line 1, column 1: not well-formed XML: no element found"),
        (
            "<testsuite>\n  <testcase>\n</testsuite>",
            "report.xml, line 3, column 3: not well-formed XML: mismatched tag",
        ),
        ("<testsuite><testcase name='&bomb;'/></testsuite>", "undefined entity"),
        ("\n <html/>", "report.xml, line 2, column 2: not a JUnit report: it begins with 'html'"),
        ("<assemblies/>", "not a JUnit report"),
        ("<testsuite/><testsuite/>", "junk after document element"),
        (LAUGHS, "report.xml, line 1, column 16: a document type is not allowed"),
        ("<!DOCTYPE t SYSTEM 'file:///etc/passwd'><testsuite/>", "a document type is not allowed"),
        ("<?xml version='1.0' encoding='klingon'?><testsuite/>", "write the report in UTF-8"),
        ("<?xml version='1.0' encoding='gbk'?><testsuite/>", "write the report in UTF-8"),
        ("<testsuite>" * 1001, "nested more than 1000 deep"),
        ("<testsuite name='&#0;'/>", "invalid character number"),
        ("<testsuite name='&#xD800;'/>", "invalid character number"),
    ],
)
def test_what_is_no_report_is_refused_with_its_place(report: Path, text: str, message: str) -> None:
    report.write_text(text)
    with pytest.raises(InvalidArgument) as caught:
        read(report, report.parent)
    assert message in str(caught.value)
    assert str(caught.value).startswith("report.xml, line ")
    assert "\n" not in str(caught.value)


def test_a_report_over_the_limit_is_refused(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "REPORT_LIMIT", 1024)
    text = "<testsuite/>"
    assert outcomes(report, text + " " * (1024 - len(text))) == {}
    with pytest.raises(InvalidArgument, match="has over"):
        outcomes(report, text + " " * (1025 - len(text)))


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "fifo", Path("/dev/zero"), tmp_path / "nul\0"):
        with pytest.raises(InvalidArgument):
            read(path)


def test_a_glob_finds_several_reports(tmp_path: Path) -> None:
    for name in ("b/target/TEST-1.xml", "a/target/TEST-2.xml", "a/target/other.txt", "a/target/TEST-3.xml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "TEST-dir.xml").mkdir()

    def found(pattern: str) -> list[str]:
        return [str(path.relative_to(tmp_path)) for path in find_reports(tmp_path, pattern)]

    several = ["a/target/TEST-2.xml", "a/target/TEST-3.xml", "b/target/TEST-1.xml"]
    assert found("*/target/TEST-*.xml") == several
    assert found("**/TEST-*.xml") == several
    assert found("a/target/TEST-[3-9].xml") == ["a/target/TEST-3.xml"]
    assert found("a/target/TEST-2.xml") == ["a/target/TEST-2.xml"]
    assert found("missing.xml") == []
    assert found("x" * 300) == []


def test_a_file_name_with_the_signs_of_a_glob_is_found(tmp_path: Path) -> None:
    (tmp_path / "report[1].xml").touch()
    (tmp_path / "report1.xml").touch()
    assert find_reports(tmp_path, "report[1].xml") == [tmp_path / "report[1].xml"]


@pytest.mark.parametrize("pattern", ["", ".", "/tmp/report.xml", "../report.xml", "a/../../b", "**report.xml", "a\0b"])
def test_a_pattern_that_leads_astray_is_refused(tmp_path: Path, pattern: str) -> None:
    for use in (
        parse_pattern,
        lambda given: find_reports(tmp_path, given),
        lambda given: discard_reports(tmp_path, given),
    ):
        with pytest.raises(InvalidArgument):
            use(pattern)


def test_a_committed_report_is_discarded_before_a_run(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml", "kept.txt"):
        (tmp_path / name).touch()
    discard_reports(tmp_path, "*.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


@given(st.text(), st.integers(32, 300))
def test_a_name_that_fits_is_itself_and_another_is_cut(text: str, limit: int) -> None:
    name = fit(text, limit)
    assert len(name.encode()) <= limit
    assert name == fit(text, limit) == fit(name, limit)
    if len(text.encode()) <= limit:
        assert name == text
    else:
        start, mark = name[:-17], name[-17:]
        assert text.startswith(start)
        assert mark[0] == "~"
        assert len(start.encode()) > limit - 17 - 4


@given(st.text("aé😀", min_size=20), st.text("aé😀", min_size=20), st.integers(32, 40))
def test_two_names_never_become_one(one: str, other: str, limit: int) -> None:
    assert (fit(one, limit) == fit(other, limit)) == (one == other)


def test_a_name_cannot_be_made_to_fit_almost_nothing() -> None:
    with pytest.raises(InvalidArgument):
        fit("text", 31)


TAGS = st.sampled_from(
    ["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out", "x:testcase"]
)
NAMES = st.sampled_from(["name", "classname", "file", "time", "status", "result"])
VALUES = st.text("ab./\\ &#;é😀-1\t", max_size=8)


@st.composite
def nearly_reports(draw: st.DrawFn) -> bytes:
    """Text that has the words of a report, sometimes its grammar, and any encoding."""
    encoding = draw(
        st.sampled_from(["", "utf-8", "utf-16", "ascii", "cp437", "utf-7", "idna", "rot13", "unicode_escape"])
    )
    text = f"<?xml version='1.0' encoding='{encoding}'?>" if encoding else ""
    opened: list[str] = []
    bits = st.booleans()
    for _ in range(draw(st.integers(0, 12))):
        if draw(bits) and opened:
            text += f"</{opened.pop()}>"
        else:
            attributes = draw(st.dictionaries(NAMES, VALUES, max_size=4))
            opened.append(draw(TAGS))
            text += f"<{opened[-1]}" + "".join(f' {name}="{value}"' for name, value in attributes.items()) + ">"
    text += "".join(f"</{tag}>" for tag in reversed(opened)) if draw(bits) else ""
    return text.encode(draw(st.sampled_from(["utf-8", "utf-16", "utf-16-le"])))


@given(
    st.one_of(
        st.binary(),
        nearly_reports(),
        nearly_reports().flatmap(lambda text: st.binary(max_size=4).map(lambda end: text + end)),
    )
)
@example(LAUGHS.encode())
@example("<testsuite><testcase name='\ud800'/></testsuite>".encode("utf-16", "surrogatepass"))
@example(codecs.BOM_UTF16_LE + b"\x00\xd8")
@example(b"<?xml version='1.0' encoding='unicode_escape'?><testsuite/>")
@example(b"<?xml version='1.0' encoding='undefined'?><testsuite/>")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_either_a_report_or_refused(tmp_path: Path, content: bytes) -> None:
    report = tmp_path / "report.xml"
    report.write_bytes(content)
    try:
        cases = read(report, tmp_path)
    except InvalidArgument as fault:
        refusal = str(fault)
        assert refusal.isprintable()
        return
    for case in cases:
        assert case.name
        assert case.outcome in ("passed", "failed", "error", "skipped")
        assert case.time >= 0
        for text in (case.file, case.classname, case.name):
            assert "\0" not in text
            text.encode()
    assert len({(case.file, case.classname, case.name) for case in cases}) == len(cases)
