"""Compiles the passes (`protocol/passes/`) for this Python and platform, while shareq is installed (`hatch_build.py`).

mypyc makes C of a source, and a C compiler makes a module of that. A module that cannot be compiled runs as Python; the
others call it in the same way.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PASSES: Final = Path("protocol/passes")
SUFFIX: Final = str(sysconfig.get_config_var("EXT_SUFFIX"))
TIMEOUT_S: Final = 900


def _package() -> ModuleType:
    """Load `protocol/passes/__init__.py` of this checkout: an installed shareq may differ, and a build has none
    installed.
    """
    spec = importlib.util.spec_from_file_location("passes", ROOT / PASSES / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    logging.getLogger(spec.name).disabled = True  # what has changed is about to be compiled
    spec.loader.exec_module(module)
    return module


PACKAGE: Final = _package()


def why_not() -> str | None:
    """Return why nothing can be compiled here; None if nothing speaks against it."""
    if PACKAGE.wants_python():
        return "SHAREQ_PURE is set"
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no {compiler}"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not installed"
    return None


def place(root: Path) -> Path:
    """Return the folder in a checkout for modules compiled from its sources."""
    folder: Path = PACKAGE.compiled_folder(root / PASSES)
    return folder


def remove_compiled(root: Path) -> None:
    """Remove compiled modules from a checkout: those for this Python, and those of older sources."""
    for folder in (root / PASSES / "compiled").glob("*"):
        if folder != place(root):
            shutil.rmtree(folder)
        else:
            for built in folder.glob(f"*{SUFFIX}"):
                built.unlink()


def compile_all(root: Path, folder: Path) -> list[Path]:
    """Return the modules compiled from the sources in a checkout, in `folder`; print those that fail, and why."""
    failed: dict[str, str] = {}

    def attempt(source: Path) -> Path | None:
        try:
            return compiled(source, folder)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            failed[source.name] = str(error)
            return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(attempt, PACKAGE.sources(root / PASSES)))
    report(failed)
    return [each for each in built if each is not None]


def compiled(source: Path, folder: Path) -> Path:
    """Return the module made of `source`, in a folder in `folder`. Raises RuntimeError with the compiler's last
    line.
    """
    own = folder / source.stem  # mypyc leaves more than the module where it runs
    own.mkdir()
    shutil.copy(source, own)
    command = [sys.executable, "-c", "from mypyc.__main__ import main; main()", source.name]
    given = {**os.environ, "MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    if sys.platform == "linux":  # functions of one module may be inlined: a tenth less for a record
        given["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} -fno-semantic-interposition"
    done = subprocess.run(command, cwd=own, env=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    built = own / f"{source.stem}{SUFFIX}"
    if done.returncode or not built.is_file():
        said = (done.stderr + done.stdout).strip().splitlines()
        raise RuntimeError(said[-1] if said else f"mypyc ended with code {done.returncode}")
    return built


def report(failed: Mapping[str, str]) -> None:
    """Print in one line which modules are not compiled, and why; nothing if all are."""
    if failed:
        parts = "; ".join(f"{name} ({reason})" for name, reason in sorted(failed.items()))
        print(f"shareq: not compiled, so that it runs as Python, more slowly: {parts}", file=sys.stderr)
