"""The one kind of exception for what a broker stands on when it cannot be used. Pure."""

from __future__ import annotations


class GroundError(Exception):
    """Storage or a cluster that the broker is to stand on cannot be used; says why, for the operator."""
