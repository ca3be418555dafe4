"""Compiles what a record passes through while a wheel is built, or while shareq is installed from a checkout.

What is made, and how: `scripts/compile_forms.py`; as many parts at a time as there are cores. A wheel with any of it is
for this Python and platform alone. Without a C compiler, or Python's headers, nothing is compiled; what goes wrong for
one part leaves the others as they are. One line says which parts run from the source, more slowly. SHAREQ_PURE=1 asks
for that.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "scripts"))

import compile_forms
from compile_forms import FORMS, GROUP, SOURCES, announce, attempt, compile_group, compiled_name, report


class RecordWalkHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls around each build: what is compiled goes into the checkout, or the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs besides: nothing where nothing can be compiled."""
        return ["mypy[mypyc]>=2.3,<2.5", "setuptools>=75"] if compile_forms.why_not() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before files are collected."""
        root, editable = Path(self.root), version == "editable"
        if editable:
            for source in SOURCES:
                (root / source).with_name(compiled_name(source)).unlink(missing_ok=True)
        reason = compile_forms.why_not()
        if reason is not None:
            if editable:
                shutil.rmtree(root / FORMS, ignore_errors=True)
            print(f"shareq: nothing is compiled ({reason}); it runs as Python, more slowly", file=sys.stderr)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="shareq-build-")
        announce()
        failed: dict[str, str] = {}
        group = self._folder_of("together")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            if editable:
                parts = [pool.submit(compile_group, root, group, failed)]
            else:
                parts = [pool.submit(attempt, GROUP, partial(self._take_group, root, group, build_data), failed)]
            for source in SOURCES:
                take = partial(self._take_walk, root / source, self._folder_of(source.stem), version, build_data)
                parts.append(pool.submit(attempt, str(source), take, failed))
        for part in parts:
            part.result()
        report({part: failed[part] for part in (*map(str, SOURCES), GROUP) if part in failed})

    def _folder_of(self, part: str) -> Path:
        """Each has its own, for what mypyc leaves where it runs."""
        folder = Path(self._folder.name, part)
        folder.mkdir()
        return folder

    def _take_walk(self, source: Path, folder: Path, version: str, build_data: dict[str, Any]) -> None:
        built = compile_forms.compiled(source, folder)
        if version == "editable":
            shutil.copy(built, source.with_name(built.name))
        else:
            self._include({built: f"shareq/protocol/records/{built.name}"}, build_data)

    def _take_group(self, root: Path, folder: Path, build_data: dict[str, Any]) -> None:
        files = sorted(compile_forms.compiled_together(root, folder).iterdir())
        self._include({file: f"{FORMS.relative_to('src')}/{file.name}" for file in files}, build_data)

    def _include(self, files: dict[Path, str], build_data: dict[str, Any]) -> None:
        build_data["force_include"].update({str(file): place for file, place in files.items()})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After the wheel has been written."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()
