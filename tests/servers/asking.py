"""How these tests talk to a server: by its driver, with nothing in between."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pymysql

from servers import Address


def ask(address: Address, statement: str) -> list[Any]:
    """The rows that the server at an address answers, in a connection of their own."""
    if address.scheme == "postgresql":
        with psycopg.connect(address.url(), autocommit=True) as postgres:
            answer = postgres.execute(statement.encode())
            return answer.fetchall() if answer.description else []
    mysql = pymysql.connect(
        host=address.host, port=address.port, user=address.user, autocommit=True, connect_timeout=3, read_timeout=30
    )
    with mysql, mysql.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def lives(pid: int) -> bool:
    """Whether a process of that number is there, and not only waiting to be buried."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(so: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that is to be; fail when it takes longer than anything should."""
    deadline = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.02)


def processes_in(folder: str) -> list[int]:
    """The processes that work in a folder, or below it."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            where = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if where.removesuffix(" (deleted)").startswith(folder):
            found.append(int(pid))
    return found
