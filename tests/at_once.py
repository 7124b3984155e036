"""A failure is printed when it happens, and so is a test that took long: a run that is cut off has told what it knew.

Loaded by `tests/conftest.py`. In a parallel run the process that starts the workers prints.
"""

from __future__ import annotations

import time

import pytest

LONG = 30.0
"""Seconds from which on a test's time is printed in a run of many."""


class AtOnce:
    """Writes each failure through the reporter of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.monotonic()

    def _write(self, text: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(text)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        since = f"{time.monotonic() - self._started:.0f} s"
        if report.failed:
            self._write(f"== {since}: {report.when} of {report.nodeid} failed\n{report.longreprtext}")
        elif report.duration >= LONG:
            self._write(f"== {since}: {report.when} of {report.nodeid} took {report.duration:.0f} s")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(config), "at-once")
