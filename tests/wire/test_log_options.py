"""The effect of `--log-level` and `--log-format` on a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shareq.testing.broker import child_environment
from tests.support.processes import finished


def log_of(tmp_path: Path, *arguments: str, **variables: str) -> list[str]:
    command = [sys.executable, "-m", "shareq", "serve", "--listen", "127.0.0.1:0", *arguments]
    environment = {**child_environment(), **variables}
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("shareq ")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    return log.splitlines()


def objects(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_every_line_is_an_object(tmp_path: Path) -> None:
    events = objects(log_of(tmp_path, "--log-format", "json", "--set", "no.such.property=1"))
    assert {event["level"] for event in events} == {"INFO", "WARNING"}
    assert "SIGTERM: stopping" in [event["message"] for event in events]


def test_the_environment_sets_both_and_is_no_unknown_property(tmp_path: Path) -> None:
    lines = log_of(tmp_path, "--set", "no.such.property=1", SHAREQ_LOG_FORMAT="json", SHAREQ_LOG_LEVEL="warning")
    (event,) = objects(lines)
    assert (event["level"], "no.such.property" in event["message"]) == ("WARNING", True)


def test_an_option_wins_over_the_environment(tmp_path: Path) -> None:
    assert log_of(tmp_path, "--log-level", "ERROR", SHAREQ_LOG_LEVEL="DEBUG") == []


@pytest.mark.parametrize(
    ("option", "value"), [("--log-level", "loud"), ("--log-level", "INFO,a=1"), ("--log-format", "xml")]
)
def test_a_wrong_value_is_refused_in_one_line(tmp_path: Path, option: str, value: str) -> None:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(tmp_path / "data"), option, value]
    done = finished(command, env=child_environment(), timeout_s=30)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"shareq: {option} {value}: must be one of ")
    assert not (tmp_path / "data").exists()
