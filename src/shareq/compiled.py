"""Modules that run compiled where that was done: mypyc makes one library of all of them while shareq is installed.

Their source is what it is for everybody, Python with types, and stands where it stands; the compiled forms are in the
folder `compiled_forms` beside this file, by Python and platform, with a list of what they were made of. They run if all
of it is still as it was: else, and with SHAREQ_PURE set, the sources run, more slowly. It is all of them or none, since
they know each other's insides.

What compiles them (`scripts/compile_forms.py`) loads this file by its path, to ask the same: so it imports nothing of
shareq.
"""

from __future__ import annotations

import logging
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

__all__ = ["FOLDER", "LIBRARY", "NAMES", "CompiledForms", "is_compiled", "prefer_compiled", "stay_pure"]

FOLDER: Final = Path(__file__).with_name("compiled_forms")
LIBRARY: Final = "shareq__mypyc"
"""The module that has the code of all of them; mypyc names it."""
NAMES: Final = "names.txt"
"""A line for each: the CRC-32 of the source, and the module's full name; of others with constants that are written into
the library, `SEEN` behind it."""
SEEN: Final = "seen"
_logger: Final = logging.getLogger(__name__)


class CompiledForms:
    """A finder for `sys.meta_path`: of the modules listed in `folder`, the compiled forms.

    Nothing is looked at before the first of them is imported. `root` is where the sources of the package `shareq` are.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self._suffix = EXTENSION_SUFFIXES[0]  # of this Python and platform
        self.folder: Final = folder / self._suffix.split(".")[1]
        self._root = root
        self._names: frozenset[str] | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The compiled form of the module, if there is one that may run."""
        if not name.startswith("shareq"):
            return None
        if self._names is None:
            self._names = self.usable()
        if name not in self._names:
            return None
        file = str(self.folder / f"{name}{self._suffix}")
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))

    def usable(self) -> frozenset[str]:
        """The names of all that may run, `LIBRARY` with them: of all that there are, or of none."""
        listed, seen = self.listed()
        if not listed:
            return frozenset()
        changed = next((name for name, crc in (*listed.items(), *seen.items()) if self._crc_of(name) != crc), None)
        if changed is not None:
            _logger.info(
                "%s has changed since it was compiled: the Python form of all modules runs, more slowly"
                " (install shareq again, or run `make compiled`)",
                changed,
            )
            return frozenset()
        return frozenset((*listed, LIBRARY))

    def listed(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The CRC-32 of the source that each was made of, by full name, and those of sources whose constants are in
        them; none where not all of them are there.
        """
        try:
            files = frozenset(os.listdir(self.folder))
            lines = (self.folder / NAMES).read_text("ascii").splitlines()
            rows = [line.split() for line in lines]
            listed = {name: int(crc) for crc, name in (row for row in rows if row[2:] != [SEEN])}
            seen = {row[1]: int(row[0]) for row in rows if row[2:] == [SEEN]}
        except (OSError, ValueError):
            return {}, {}
        if all(f"{name}{self._suffix}" in files for name in (LIBRARY, *listed)):
            return listed, seen
        return {}, {}

    def _crc_of(self, name: str) -> int:
        try:
            return zlib.crc32(self._root.joinpath(*name.split(".")[1:]).with_suffix(".py").read_bytes())
        except OSError:
            return -1

    def stay_pure(self) -> None:
        """Find none from now on."""
        self._names = frozenset()


_FORMS: Final = CompiledForms(FOLDER, Path(__file__).parent)


def prefer_compiled() -> None:
    """Have compiled forms run where they may."""
    if _FORMS not in sys.meta_path:
        sys.meta_path.insert(0, _FORMS)


def stay_pure() -> None:
    """Have the sources run in this process: for tests, which change them. RuntimeError when it is too late."""
    if LIBRARY in sys.modules:
        raise RuntimeError(f"{LIBRARY} is imported already")
    _FORMS.stay_pure()


def is_compiled() -> bool:
    """Whether compiled forms run in this process."""
    return LIBRARY in sys.modules
