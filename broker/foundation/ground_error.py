"""The one kind of exception for a ground (storage, or a cluster) that a broker cannot use. Pure."""

from __future__ import annotations


class GroundError(Exception):
    """The broker cannot use its storage or its cluster; the text says why, for the operator."""
