"""docs/taskiq.md: its example runs as shown, and its options are the code's."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from tests.support.processes import finished

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "taskiq.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
OUTPUT = [
    text for language, text in re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if not language
]
PATIENCE_S = 60.0


def test_the_example(broker: Broker, tmp_path: Path) -> None:
    tasks, sending, _ = PYTHON
    install, serve = SHELL[0].splitlines()
    assert (install.split("#")[0].strip(), serve) == ("pip install '.[taskiq]'", "shareq serve"), "what was done here"
    (tmp_path / "tasks.py").write_text(tasks.replace("127.0.0.1:9092", broker.bootstrap))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    output = tmp_path / "output"
    with output.open("wb") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", *shlex.split(SHELL[1])],
            cwd=tmp_path,
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        done = finished([sys.executable, "-c", sending], cwd=tmp_path, env=environment, timeout_s=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        broker.wait_until(lambda: OUTPUT[0] in output.read_text(), PATIENCE_S, output.name)
        broker.assert_acknowledged("tasks", "tasks", 1)
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def test_the_options_of_the_page_are_those_of_the_code() -> None:
    names: dict[str, object] = {}
    exec(compile(PYTHON[2], "taskiq.md", "exec"), {"ShareqBroker": ShareqBroker}, names)
    assert isinstance(names["broker"], ShareqBroker)
    section = PAGE.split("## Options")[1]
    named = {
        name for row in re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    options = inspect.signature(ShareqBroker).parameters
    assert named == set(options) - {"bootstrap_servers"}
    assert [options[name].default for name in ("topic", "renew_s", "prefetch", "max_delay")] == [
        "taskiq",
        86_400,
        0,
        86_400,
    ]
