"""What can go wrong with a private server."""

from __future__ import annotations


class ServerFailed(Exception):
    """A server did not start, did not stop, or did not answer in time; the message has the end of its log."""


class Missing(Exception):
    """A kind of server can't be had on this machine; the message says why."""
