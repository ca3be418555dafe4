"""Pages about other programs' workers on shareq: an example to run, and a table of options."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from shareq.testing import Broker
from tests.support.processes import finished

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


class WorkerPage:
    """docs/NAME.md, whose Python blocks are tasks, sending, and a broker with options."""

    def __init__(self, name: str) -> None:
        text = (ROOT / "docs" / f"{name}.md").read_text()
        self._name = name
        self._options = text.split("## Options")[1]
        self._tasks, self._sending, self._with_options = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self._shell = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        self.output = next(block for language, block in blocks if not language)

    def run_example(self, broker: Broker, folder: Path, is_done: Callable[[str], bool]) -> None:
        """Run the example until `is_done` of the worker's output; the worker then has to end by SIGTERM."""
        install, serve = self._shell[0].splitlines()
        assert (install.split("#")[0].strip(), serve) == (f"pip install '.[{self._name}]'", "shareq serve")
        (folder / "tasks.py").write_text(self._tasks.replace("127.0.0.1:9092", broker.bootstrap))
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path}
        output = folder / "output"
        command = [sys.executable, "-m", *shlex.split(self._shell[1])]
        with output.open("wb") as file:
            worker = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True
            )
        try:
            sent = finished([sys.executable, "-c", self._sending], cwd=folder, env=environment, timeout_s=PATIENCE_S)
            assert sent.returncode == 0, sent.stderr
            broker.wait_until(lambda: is_done(output.read_text()), PATIENCE_S, output.name)
            worker.terminate()
            assert worker.wait(PATIENCE_S) == 0
        finally:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()

    def check_options(self, broker_class: type, **defaults: object) -> None:
        names: dict[str, object] = {}
        exec(compile(self._with_options, f"{self._name}.md", "exec"), {"ShareqBroker": broker_class}, names)
        assert isinstance(names["broker"], broker_class)
        rows = re.findall(r"^\| (`[^|]*) \|", self._options, re.MULTILINE)
        options = inspect.signature(broker_class).parameters
        assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(options) - {"bootstrap_servers"}
        assert {name: options[name].default for name in defaults} == defaults
