"""docs/celery.md: its example does what it shows, its options are those of the code."""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shareq.kombu.names import Options
from shareq.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "celery.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def test_the_example(broker: Broker, tmp_path: Path) -> None:
    tasks, sending, _ = PYTHON
    results = tmp_path / "results"
    results.mkdir()
    code = tasks.replace("127.0.0.1:9092", broker.bootstrap).replace("/tmp/results", str(results))
    (tmp_path / "tasks.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", *shlex.split(SHELL[1])]
    with open(tmp_path / "log", "wb") as log:
        worker = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        done = subprocess.run(
            [sys.executable, "-c", sending],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        shown = re.findall(r"```\n(\d+)\n```", PAGE)
        assert done.stdout.split() == shown, done.stderr + (tmp_path / "log").read_text()
        worker.terminate()
        assert worker.wait(60) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


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
