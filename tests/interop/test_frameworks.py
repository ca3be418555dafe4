"""Test suites with FastStream and Quix Streams: examples/testing/drop_in, docs/testing.md, and FastStream's contract.

Both frameworks (dependency group `frameworks`) are fetched once into an environment of their own in `.cache`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from devtools.kafka.apache_kafka import CACHE
from devtools.kafka.build_once import folder_made_once
from shareq.testing import Broker
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
    """Return the interpreter of an environment with both frameworks and shareq's dependencies."""
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


def test_the_contract_of_faststreams_brokers(python: Path, tmp_path: Path) -> None:
    """docs/faststream.md has the table of results."""
    shutil.copy(ROOT / "tests" / "interop" / "support" / "faststream_contract.py", tmp_path)  # away from our conftest
    printed = run(python, "-vv", f"--rootdir={tmp_path}", str(tmp_path / "faststream_contract.py"))
    passed = Counter(re.findall(r"::test_([a-z]+)_\S* PASSED", printed))
    page = (ROOT / "docs" / "faststream.md").read_text()
    table = {name: int(number) for name, number in re.findall(r"^\| (\w+) \| (\d+) \|", page, re.MULTILINE)}
    assert passed == table, printed


def test_the_example_of_the_page_of_faststream(python: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "faststream.md").read_text()
    (shown,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (line,) = re.findall(r"^```\n\n```\n(.*)\n```$", page, re.MULTILINE)
    output = tmp_path / "output"
    with Broker() as broker, output.open("wb") as file:
        (tmp_path / "app.py").write_text(shown.replace("127.0.0.1:9092", broker.bootstrap))
        environment = {**child_environment(), "PYTHONPATH": str(ROOT / "src")}
        app = subprocess.Popen([str(python), tmp_path / "app.py"], stdout=file, stderr=file, env=environment)
        try:
            broker.wait_until(lambda: line in output.read_text().splitlines(), 60, output.name)
            broker.assert_acknowledged("packers", "orders", 1)
            app.terminate()
            assert app.wait(60) == 0
        finally:
            app.kill()
            app.wait()


def test_the_page_names_the_versions_that_are_tried() -> None:
    (tried,) = re.findall(r"Tried with FastStream (\S+) and Quix Streams (\S+):", PAGE)
    assert [f"faststream[kafka]=={tried[0]}", f"quixstreams=={tried[1]}"] == GROUP[-2:]
