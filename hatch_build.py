"""Compiles the passes (`protocol/passes/`) while a wheel is built, or while shareq is installed from a checkout.

A wheel with any of them is for this Python and platform alone. Without a C compiler, or Python's headers, nothing is
compiled; what goes wrong for one module leaves the others as they are. One line says which run from the source, more
slowly. SHAREQ_PURE=1 asks for that.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "scripts"))

import compile_passes


class CompiledPassesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts what is compiled into the checkout, or the wheel; hatchling calls it around each build."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the further packages that the build needs: none where nothing can be compiled."""
        return ["mypy[mypyc]>=2.3,<2.5", "setuptools>=75"] if compile_passes.why_not() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before files are collected."""
        root, editable = Path(self.root), version == "editable"
        if editable:
            compile_passes.remove_compiled(root)
        reason = compile_passes.why_not()
        if reason is not None:
            print(f"shareq: nothing is compiled ({reason}); it runs as Python, more slowly", file=sys.stderr)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="shareq-build-")
        place = compile_passes.place(root)  # of the sources before they are compiled: one may be edited meanwhile
        for built in compile_passes.compile_all(root, Path(self._folder.name)):
            if editable:
                place.mkdir(parents=True, exist_ok=True)
                whole = shutil.copy(built, place / f".{built.name}.part")  # another process may import it meanwhile
                Path(whole).replace(place / built.name)
            else:
                inside = place.relative_to(root)
                build_data["force_include"][str(built)] = f"shareq/{inside}/{built.name}"
                build_data["pure_python"] = False
                build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Clean up after the wheel has been written."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()
