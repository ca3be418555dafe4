"""Passes over the records of a batch and over the offsets in flight: the one part of shareq that is compiled.

A pass is a loop over bytes or flat lists. It has no rules of its own: its callers make the decisions. Each module here
is Python with types, and imports nothing of shareq. Where there is a C compiler, `scripts/compile_passes.py` has mypyc
compile them. Compiled modules have the names of their sources, and lie in a folder named after the CRC-32 of all
sources. This package looks for its modules there first. So the sources run if nothing was compiled, if one of them has
changed since, and if SHAREQ_PURE is set to anything but the empty string or 0.

`scripts/compile_passes.py` loads this file by its path, so this file must not import shareq either.

Rules for the sources: machine integers (`i64`) wrap around in C, so they must stay small. Annotations must be true:
compiled code relies on some without a check. Nothing but `typing` is imported at run time. No tuple is built from
conditional expressions, because mypyc makes objects of these.
"""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "compiled_folder", "sources", "wants_python"]

FOLDER: Final = Path(__file__).parent
_logger: Final = logging.getLogger(__name__)


def wants_python() -> bool:
    """Return True if the environment variable SHAREQ_PURE asks for Python alone."""
    return os.environ.get("SHAREQ_PURE", "0") not in ("", "0")


def sources(package: Path) -> list[Path]:
    """Return the modules with passes in `package`, a folder like this one."""
    return sorted(path for path in package.glob("*.py") if path.name != "__init__.py")


def compiled_folder(package: Path) -> Path:
    """Return the folder for compiled modules of the present sources in `package`."""
    crc = 0
    for source in sources(package):
        crc = zlib.crc32(source.read_bytes(), crc)
    return package / "compiled" / f"{crc:08x}"


def search_path(package: Path) -> list[str]:
    """Return the folders that have modules of `package`, the compiled ones first if they may run.

    Logs a warning if the sources have changed since they were compiled.
    """
    compiled = compiled_folder(package)
    if wants_python() or not compiled.parent.is_dir():
        return [str(package)]
    if compiled.is_dir():
        return [str(compiled), str(package)]
    _logger.warning(
        "%s has changed since it was compiled: it runs as Python, more slowly (install shareq again, or run make)",
        package,
    )
    return [str(package)]


__path__ = search_path(FOLDER)
