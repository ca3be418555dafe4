"""Compiles four files of `protocol/records/` while a wheel is built, or while shareq is installed from a checkout.

mypyc makes C of `record_walk.py`, and a C compiler makes `_record_walk` of that, which goes into the wheel; likewise of
the others in `SOURCES`. Such a wheel is for this Python and platform alone. Without a C compiler, or Python's headers,
or when anything goes wrong, one line says so and shareq runs from the source, more slowly. SHAREQ_PURE=1 asks for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = tuple(
    Path("protocol/records") / name for name in ("record_walk.py", "run_walk.py", "key_chains.py", "offset_walk.py")
)
TIMEOUT_S = 300


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
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                reason = str(error)
            else:
                for source, module in zip(SOURCES, built, strict=True):
                    self._take(module, root / source, version, build_data)
        if reason is not None:
            names = ", ".join(source.name for source in SOURCES)
            print(f"shareq: {names} are not compiled ({reason}); they run as Python, more slowly", file=sys.stderr)

    def _take(self, built: Path, source: Path, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            shutil.copy(built, source.with_name(built.name))
            return
        build_data["force_include"][str(built)] = f"shareq/protocol/records/{built.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After the wheel has been written."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()


def why_not() -> str | None:
    """Why nothing can be compiled here; None if it seems that it can."""
    if os.environ.get("SHAREQ_PURE", "0") not in ("", "0"):
        return "SHAREQ_PURE is set"
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no {compiler}"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not installed"
    return None


def compiled_name(source: Path) -> str:
    """The file name of the module made of it."""
    return f"_{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"


def compiled(source: Path, folder: Path) -> Path:
    """The module made of `source`, in `folder`. RuntimeError with the last line of the compiler's output."""
    plain = folder / f"_{source.stem}.py"
    text = source.read_bytes()
    plain.write_bytes(text + b"\nSOURCE_CRC32 = %d\n" % zlib.crc32(text))
    command = [sys.executable, "-c", "from mypyc.__main__ import main; main()", plain.name]
    given = {**os.environ, "MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    done = subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    built = folder / compiled_name(source)
    if done.returncode or not built.is_file():
        said = (done.stderr + done.stdout).strip().splitlines()
        raise RuntimeError(said[-1] if said else f"mypyc ended with code {done.returncode}")
    return built
