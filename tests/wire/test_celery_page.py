"""docs/celery.md: its example runs as shown, and its options are the code's."""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shareq.kombu.names import Options
from shareq.testing import Broker
from tests.interop.support.celery_suites import KOMBU, KOMBU_TABLE
from tests.support.processes import finished

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "celery.md").read_text()
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PYTHON = BLOCK.findall(PAGE)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@contextmanager
def worker(folder: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Celery command in a folder, with its output in `log`."""
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
        process.terminate()
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(folder: Path, code: str) -> str:
    done = finished([sys.executable, "-c", code], cwd=folder, env=ENVIRONMENT, timeout_s=60)
    assert done.returncode == 0, done.stderr + (folder / "log").read_text()
    return done.stdout


def test_the_example(broker: Broker, tmp_path: Path) -> None:
    tasks, sending, _ = PYTHON
    results = tmp_path / "results"
    results.mkdir()
    code = tasks.replace("127.0.0.1:9092", broker.bootstrap).replace("/tmp/results", str(results))
    (tmp_path / "tasks.py").write_text(code)
    with worker(tmp_path, *shlex.split(SHELL[1])):
        assert run(tmp_path, sending).split() == re.findall(r"```\n(\d+)\n```", PAGE)


def test_a_countdown_as_those_who_come_from_celery_read_it(broker: Broker, tmp_path: Path) -> None:
    section = (ROOT / "docs" / "coming-from.md").read_text().split("## Celery")[1].split("\n## ")[0]
    tasks, sending = BLOCK.findall(section)
    (command,) = re.findall(r"`(celery [^`]*)`", section)
    (tmp_path / "mails.py").write_text(tasks.replace("127.0.0.1:9092", broker.bootstrap))
    with worker(tmp_path, *shlex.split(command)):
        began = time.monotonic()
        run(tmp_path, sending)
        while "a mail to ann@example.com" not in (tmp_path / "log").read_text():
            assert time.monotonic() - began < 60, (tmp_path / "log").read_text()
            time.sleep(0.02)
        assert time.monotonic() - began > 2


def test_the_options_of_the_page_are_those_of_the_code() -> None:
    (options,) = (node for node in ast.walk(ast.parse(PYTHON[2])) if isinstance(node, ast.Dict) and len(node.keys) == 5)
    Options.of(ast.literal_eval(options))
    section = PAGE.split("## Options")[1].split("## ")[0]
    named = {
        name for row in re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(Options.__dataclass_fields__)
    assert Options().renew_s == 86_400


@pytest.mark.parametrize("given", [{"properties": 5}, {"group_config": "x"}, {"partitions": "many"}])
def test_options_that_cannot_be_are_refused(given: dict[str, object]) -> None:
    from shareq.client.errors import ConfigError

    with pytest.raises(ConfigError, match="transport_options"):
        Options.of(given)


def test_the_sums_of_kombus_suite_are_those_of_its_table() -> None:
    passed, failed = (sum(column) for column in zip(*KOMBU_TABLE.values(), strict=True))
    assert f"| kombu's tests for all transports, {KOMBU} | {passed} | {failed} |" in PAGE
