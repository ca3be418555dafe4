"""The base class of errors about a ground (storage, or a cluster) that a broker cannot use. Pure."""

from __future__ import annotations


class GroundError(Exception):
    """Error: the broker cannot use its storage or its cluster. The text is the reason, for the operator."""
