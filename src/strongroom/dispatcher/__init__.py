"""A dispatcher that really runs: it claims runs of a workspace, runs each one's command, and keeps what came of it.

- `jobs` says what a job's command is, as its release keeps it;
- `attempts` are the folders that commands run in, each used once;
- `performance` is one attempt: the command, and the line that tells of it;
- `holds` are the claims that are being worked on, and their heartbeat;
- `crew` claims, performs and finishes, until it is told to stop or nothing is left;
- `audit` holds each run's state to the journal.
"""
