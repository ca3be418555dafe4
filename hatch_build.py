"""Compiles what a record passes through while a wheel is built, or while shareq is installed from a checkout.

What is made, and how: `scripts/compile_forms.py`. A wheel with it is for this Python and platform alone. Without a C
compiler, or Python's headers, or when anything goes wrong, one line says so and shareq runs from the source, more
slowly. SHAREQ_PURE=1 asks for that.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "scripts"))

from compile_forms import FORMS, SOURCES, compiled, compiled_name, compiled_together, is_current, put, why_not


class RecordWalkHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls around each build; editable ones keep the compiled module beside its source."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs besides: nothing where nothing can be compiled."""
        return ["mypy[mypyc]>=2.3,<2.5", "setuptools>=75"] if why_not() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before files are collected."""
        root = Path(self.root)
        for source in SOURCES:
            (root / source).with_name(compiled_name(source)).unlink(missing_ok=True)
        reason = why_not()
        if reason is None:
            self._folder = tempfile.TemporaryDirectory(prefix="shareq-build-")
            try:
                built = [compiled(root / source, Path(self._folder.name)) for source in SOURCES]
                if version != "editable" or not is_current(root):
                    self._take_together(compiled_together(root, Path(self._folder.name)), root, version, build_data)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                reason = str(error)
            else:
                for source, module in zip(SOURCES, built, strict=True):
                    self._take(module, root / source, version, build_data)
        if reason is not None:
            shutil.rmtree(root / FORMS, ignore_errors=True)
            print(f"shareq: nothing is compiled ({reason}); it runs as Python, more slowly", file=sys.stderr)

    def _take(self, built: Path, source: Path, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            shutil.copy(built, source.with_name(built.name))
            return
        build_data["force_include"][str(built)] = f"shareq/protocol/records/{built.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _take_together(self, forms: Path, root: Path, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            put(forms, root / FORMS)
            return
        for file in sorted(forms.iterdir()):
            build_data["force_include"][str(file)] = f"{FORMS.relative_to('src')}/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After the wheel has been written."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()
