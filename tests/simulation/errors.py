"""The error that a simulation raises when it has found something."""

from __future__ import annotations


class InvariantBroken(AssertionError):
    """The broker did what it must never do."""
