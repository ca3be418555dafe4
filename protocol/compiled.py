"""Which form of a module runs where there are two: compiled, or the same source as Python.

`hatch_build.py` compiles when shareq is installed, if it can. SHAREQ_PURE set to anything but the empty string or 0 has
the Python form run all the same: for tests, and to find out whether the compiled one is at fault.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

__all__ = ["quickest", "wants_pure"]


def wants_pure() -> bool:
    """Whether SHAREQ_PURE asks for Python alone."""
    return os.environ.get("SHAREQ_PURE", "0") not in ("", "0")


def quickest(compiled: str, source: str) -> ModuleType:
    """The module `compiled` if it exists and `wants_pure` does not say otherwise, else `source`; both by full name."""
    if not wants_pure():
        try:
            return import_module(compiled)
        except ImportError:  # built without a compiler, or for another Python
            pass
    return import_module(source)
