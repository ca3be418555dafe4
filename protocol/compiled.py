"""Which form of a module runs where there are two: compiled, or the same source as Python.

`hatch_build.py` compiles when shareq is installed, if it can. SHAREQ_PURE set to anything but the empty string or 0 has
the Python form run all the same: for tests, and to find out whether the compiled one is at fault. In a checkout whose
source has changed since, the compiled form is another program: then Python's runs, and one line says so.
"""

from __future__ import annotations

import logging
import os
import zlib
from importlib import import_module
from types import ModuleType

__all__ = ["is_made_of", "quickest", "wants_pure"]

logger = logging.getLogger(__name__)


def wants_pure() -> bool:
    """Whether SHAREQ_PURE asks for Python alone."""
    return os.environ.get("SHAREQ_PURE", "0") not in ("", "0")


def quickest(compiled: str, source: str) -> ModuleType:
    """The module `compiled` if it exists, was made of `source` as it is, and `wants_pure` does not say otherwise; else
    `source`. Both by full name."""
    if not wants_pure():
        try:
            form = import_module(compiled)
        except ImportError:  # built without a compiler, or for another Python
            return import_module(source)
        if is_made_of(form, source):
            return form
        logger.warning(
            "%s was compiled of another %s.py: the Python form runs, more slowly (install shareq again, or run make)",
            compiled,
            source.rpartition(".")[2],
        )
    return import_module(source)


def is_made_of(form: ModuleType, source: str) -> bool:
    """Whether the compiled `form` was made of the module `source` as it is now, a file beside it.

    Where there is no such file, nothing can have changed.
    """
    path = os.path.join(os.path.dirname(form.__file__ or ""), f"{source.rpartition('.')[2]}.py")
    try:
        with open(path, "rb") as file:
            return zlib.crc32(file.read()) == getattr(form, "SOURCE_CRC32", None)
    except FileNotFoundError:
        return True
