"""Validating a trunk: every commit of a branch checked by one command, oldest first.

Some of its modules know git and test reports, and no store:

- `repository` reads the history of a git repository;
- `worktrees` gives clean checkouts of single commits;
- `junit` reads the test reports that the command leaves;
- `projects` derives projects, tasks, units and failed shares from them.
"""
