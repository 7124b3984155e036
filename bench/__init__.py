"""The benchmarks: Strongroom beside raw SQLite and raw drivers, beside itself at other sizes, and beside its peers.

``bin/bench`` runs them, ``docs/benchmarks.md`` says what each line means. Two ways of one job are always timed in
turns, in one process, on the same disk with the same flush at every commit: the machine's mood is then in both.
"""
