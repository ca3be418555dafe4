"""The error that a simulation raises when an invariant is broken."""

from __future__ import annotations


class InvariantBroken(AssertionError):
    """An error: the broker did something it must never do."""
