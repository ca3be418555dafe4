"""docs/ci.md and action.yml: a broker for a job's tests, started by the action's own steps."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from devtools.ports import free_port
from tests.support.processes import finished
from tests.support.waiting import until

ROOT: Final = Path(__file__).parents[2]
ACTION: Final[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: Final = {step["name"]: step for step in ACTION["runs"]["steps"]}
BLOCKS: Final = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE | re.DOTALL)
BIN: Final = Path(sys.executable).parent


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """Return a runner's folder in which the first step has installed this environment's packages."""
    (tmp_path / "shareq").mkdir()
    (tmp_path / "shareq" / "bin").symlink_to(BIN)
    return tmp_path


def start(runner: Path, port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RUNNER_TEMP": str(runner), "PORT": str(port)}
    return finished(["bash", "-e", "-c", STEPS["start"]["run"]], cwd=runner, env=environment, timeout_s=60)


def test_the_action_starts_a_broker_that_outlives_its_step(runner: Path) -> None:
    port = free_port()
    begun = start(runner, port)
    try:
        assert (begun.returncode, begun.stdout) == (0, "")
        checked = finished([str(BIN / "shareq"), "check", f"127.0.0.1:{port}"], timeout_s=60)
        assert checked.returncode == 0, checked.stderr
    finally:
        process = int((runner / "shareq.pid").read_text())
        os.kill(process, signal.SIGTERM)
    until((runner / "data" / "clean-shutdown").exists)


def test_a_broker_that_does_not_start_fails_the_step_with_its_log(runner: Path) -> None:
    (runner / "data").write_text("a file, where the data folder has to be")
    begun = start(runner, free_port())
    assert begun.returncode == 1
    assert "data" in begun.stdout


def test_inputs_reach_the_steps_by_the_environment_alone() -> None:
    """A caller's text never gets into the script."""
    for step in STEPS.values():
        assert "${{" not in step["run"]
        assert step["env"].keys() <= {"VERSION", "PORT"}
    assert {name.upper() for name in ACTION["inputs"]} == {"VERSION", "PORT"}


def test_the_page_shows_what_the_action_and_the_command_have() -> None:
    (workflow,) = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
    (container,) = [json.loads(text) for kind, text in BLOCKS if kind == "json"]
    assert "${{ steps.shareq.outputs.bootstrap }}" in str(workflow)
    assert "bootstrap" in ACTION["outputs"]
    assert "shareq serve --data-dir" in container["postStartCommand"]
    assert container["forwardPorts"] == [9092]
