"""What is looked at before the engine is asked: records as a whole, and the numbers that callers expect."""

from __future__ import annotations

from typing import TypeVar

from strongroom.domains.runners.attempts import RunnerAttempt, attempt_refusal
from strongroom.domains.runners.faults import UnrepresentableInteger, UnrepresentablePath
from strongroom.domains.runners.hosts import Host, host_refusal
from strongroom.domains.runners.policies import ScalePolicy, policy_refusal
from strongroom.domains.runners.refusals import Invalid
from strongroom.domains.runners.tables import ATTEMPTS, POLICIES
from strongroom.errors import InvalidArgument
from strongroom.patterns import ScopedTable
from strongroom.records import MAX_INTEGER, Record

R = TypeVar("R", bound=Record)


def check_host(hosts: ScopedTable[Host], host: Host) -> None:
    """Raises `ScopeMismatch` for another fleet's host (S2), `Invalid` and `InvalidArgument` for what can't be one."""
    _check(hosts, host)
    _raise(host_refusal(host))


def check_policy(policies: ScopedTable[ScalePolicy], policy: ScalePolicy) -> None:
    """As `check_host`, and `UnrepresentableInteger`."""
    POLICIES.check_type(policy)
    check_integer(f"{POLICIES.name}.installation_id", policy.installation_id)
    check_integer(f"{POLICIES.name}.revision", policy.revision)
    _check(policies, policy)
    _raise(policy_refusal(policy))


def check_attempt(attempts: ScopedTable[RunnerAttempt], attempt: RunnerAttempt) -> None:
    """As `check_host`, and `UnrepresentableInteger` and `UnrepresentablePath`."""
    ATTEMPTS.check_type(attempt)
    check_integer(f"{ATTEMPTS.name}.github_runner_id", attempt.github_runner_id)
    path: object = attempt.runtime_path
    if isinstance(path, str) and any("\ud800" <= letter <= "\udfff" for letter in path):
        raise UnrepresentablePath(attempt.id)
    _check(attempts, attempt)
    _raise(attempt_refusal(attempt))


def check_integer(what: str, value: int | None) -> None:
    """Raises `UnrepresentableInteger` for an integer that 63 bits don't hold."""
    if isinstance(value, int) and value > MAX_INTEGER:
        raise UnrepresentableInteger(what, value)


def check_revision(expected: int) -> None:
    """Raises `InvalidArgument` for what is no revision, `UnrepresentableInteger` for one that none can have."""
    check_integer(f"{POLICIES.name}.revision", expected)
    POLICIES.check_value("revision", expected)


def check_count(expected: int) -> None:
    """Raises `InvalidArgument` for what is no count of attempts."""
    if type(expected) is not int or expected < 0:
        raise InvalidArgument("a count of attempts is an integer, 0 or more")


def _check(table: ScopedTable[R], record: R) -> None:
    table.check_scope(record)
    for column in table.table.columns:
        table.table.check_value(column.name, getattr(record, column.name))


def _raise(refusal: Invalid | None) -> None:
    if refusal is not None:
        raise refusal
