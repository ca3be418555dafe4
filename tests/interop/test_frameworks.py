"""Suites with FastStream and Quix Streams: those of examples/testing/drop_in, and what docs/testing.md shows.

Both are fetched once into an environment of their own, in `.cache`: they are the dependency group `frameworks`.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from devtools.kafka.apache_kafka import CACHE
from devtools.kafka.build_once import folder_made_once
from shareq.testing.broker import child_environment
from tests.interop.support.broker_under_test import Kind
from tests.support.processes import finished

pytestmark = pytest.mark.interop

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUP: Final = PROJECT["dependency-groups"]["frameworks"]
PAGE: Final = (ROOT / "docs" / "testing.md").read_text()
_FETCH_S: Final = 400


@pytest.fixture(scope="module", autouse=True)
def _ours_alone(broker_kind: Kind) -> None:
    if broker_kind == "apache":
        pytest.skip("its suites start their brokers themselves")


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with both frameworks, and with what shareq depends on."""
    wanted = [*GROUP, *PROJECT["project"]["dependencies"]]
    digest = hashlib.sha256("\n".join([sys.version, *wanted]).encode()).hexdigest()[:12]

    def fill(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
        done = finished(command, timeout_s=_FETCH_S)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    try:
        return folder_made_once(CACHE / f"frameworks-{digest}", fill) / "bin" / "python"
    except RuntimeError as error:
        pytest.skip(f"FastStream and Quix Streams could not be fetched: {error}")


def run(python: Path, *arguments: str) -> str:
    """Return pytest's output for tests in that environment, with the sources of this checkout."""
    plugins = ["-p", "shareq.testing.plugin", "-p", "no:cacheprovider"]
    options = ["-q", "-rs", "--tb=short", "--import-mode=importlib", "-o", "asyncio_mode=auto", "-W", "ignore"]
    done = finished(
        [str(python), "-m", "pytest", "-c", "/dev/null", *plugins, *options, *arguments],
        cwd=ROOT,
        env={**child_environment(), "PYTHONPATH": str(ROOT / "src")},
        timeout_s=120,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["faststream", "quix"])
def test_a_suite_for_testcontainers_passes(python: Path, name: str) -> None:
    printed = run(python, f"--rootdir={ROOT}", f"examples/testing/drop_in/test_{name}.py")
    assert re.search(r"^1 passed", printed, re.MULTILINE), printed


@pytest.mark.parametrize("name", ["faststream", "quixstreams"])
def test_the_test_that_the_page_shows_passes(python: Path, name: str, tmp_path: Path) -> None:
    (shown,) = re.findall(rf"^```python\n(from {name}\b.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "test_shown.py").write_text(f"import pytest\n\n{shown}")
    printed = run(python, f"--rootdir={tmp_path}", str(tmp_path / "test_shown.py"))
    assert re.search(r"^1 passed", printed, re.MULTILINE), printed


def test_the_page_names_the_versions_that_are_tried() -> None:
    (tried,) = re.findall(r"Tried with FastStream (\S+) and Quix Streams (\S+):", PAGE)
    assert [f"faststream[kafka]=={tried[0]}", f"quixstreams=={tried[1]}"] == GROUP[-2:]
