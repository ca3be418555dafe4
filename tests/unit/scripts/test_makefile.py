"""`make PYTHON=...` with an existing environment: rebuilt for another Python, kept for the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def python(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho Python {version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    passes = (str(path.relative_to(ROOT)) for path in (ROOT / "protocol" / "passes").glob("*.py"))
    made_of = ("pyproject.toml", "scripts/find_python.sh", "hatch_build.py", "scripts/compile_passes.py", *passes)
    for name in ("Makefile", *made_of):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (1, 1))
    for environment in (".venv", ".venv-spark"):
        python(tmp_path / environment / "bin" / "python", "3.11.7")
        (tmp_path / environment / ".ready").touch()
    return tmp_path


def makes_an_environment(checkout: Path, target: str, *arguments: str) -> bool:
    command = ["make", "--dry-run", "--directory", str(checkout), *arguments, target]
    return "-m venv" in subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("target", ["lint", "demo-spark"])
def test_another_python_makes_the_environment_again(checkout: Path, target: str) -> None:
    """`make PYTHON=... test` once reported on a Python that it had not used."""
    same, other = python(checkout / "same", "3.11.7"), python(checkout / "other", "3.12.1")
    assert not makes_an_environment(checkout, target)
    assert not makes_an_environment(checkout, target, f"PYTHON={same}")
    assert makes_an_environment(checkout, target, f"PYTHON={other}")
    assert makes_an_environment(checkout, target, f"PYTHON={checkout / 'none'}")
