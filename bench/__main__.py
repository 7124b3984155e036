"""``python -m bench [NAME ...]``: run the benchmarks, or the groups and benchmarks that are named."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import dispatch, raw, scale, size
from bench.measure import Line
from bench.missing import Missing
from bench.peers import PEER_CASES, SERVER_PEER_CASES
from bench.remote import DYNAMODB, ETCD, MYSQL, POSTGRES, remote_cases
from bench.report import markdown, show
from bench.workshop import Case, Workshop

CASES: tuple[Case, ...] = (
    *raw.CASES,
    *size.CASES,
    *PEER_CASES,
    *remote_cases(POSTGRES),
    *SERVER_PEER_CASES,
    *remote_cases(MYSQL),
    *remote_cases(ETCD),
    *remote_cases(DYNAMODB),
    *scale.CASES,
    *dispatch.CASES,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when all that was asked for was measured, whatever came of it."""
    options = _parser().parse_args(arguments)
    cases = _chosen(options.names)
    if options.list:
        for case in cases:
            print(f"{case.group:8}  {case.name:32}  {case.says}")
        return 0
    lines, missing = _run(cases, quick=options.quick)
    if options.json:
        options.json.write_text("".join(json.dumps(line.as_json()) + "\n" for line in lines), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(lines), encoding="utf-8")
    show(lines)
    for problem in missing:
        print(f"bench: {problem}", file=sys.stderr)
    return 1 if missing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="Strongroom's benchmarks; prints a JSON line for each.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a group (raw, size, peers, postgres, mysql, etcd, dynamodb, scale, dispatch), a peer, or a benchmark",
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument("--quick", action="store_true", help="only see that they work: the numbers mean nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON lines to FILE as well")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE, in Markdown")
    return parser


def _chosen(names: Sequence[str]) -> list[Case]:
    """The cases that are named, by group, by name, or by the name's beginning words."""
    unknown = [name for name in names if not any(_is_named(case, name) for case in CASES)]
    if unknown:
        sys.exit(f"bench: no benchmark or group {', '.join(map(repr, unknown))}; --list shows them all")
    return [case for case in CASES if not names or any(_is_named(case, name) for name in names)]


def _is_named(case: Case, name: str) -> bool:
    return name in (case.group, case.name) or case.name.startswith(f"{name} ")


def _run(cases: Sequence[Case], *, quick: bool) -> tuple[list[Line], list[Missing]]:
    lines: list[Line] = []
    missing: list[Missing] = []
    with Workshop(quick=quick) as shop:
        for case in cases:
            try:
                with shop.case():
                    for line in case.measure(shop):
                        lines.append(line)
                        print(json.dumps(line.as_json()), flush=True)
            except Missing as problem:
                missing.append(problem)
    return lines, missing


if __name__ == "__main__":
    sys.exit(main())
