"""Modules that run on Windows, tested on a system without the names that only Unix has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from shareq.broker.foundation.systems import NOT_ON_WINDOWS
from shareq.ops.cli.main import main
from shareq.testing import Broker, BrokerFailed
from tests.support.each import for_each

ROOT: Final = Path(__file__).parents[2]
LIKE_WINDOWS: Final = """
import importlib.abc, os, signal, sys
import click, dramatiq, kombu, pytest, shareq, taskiq  # what others and Python itself do on Windows is not looked at

class NoUnix(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoUnix())
sys.platform = "win32"
for of, names in (
    (os, "fork getuid geteuid killpg pread pwrite register_at_fork setsid statvfs sysconf writev O_NOFOLLOW"),
    (signal, "SIGHUP SIGKILL SIGUSR1 SIGSTOP SIGCONT SIGPIPE setitimer"),
):
    for name in names.split():
        delattr(of, name)
"""


def test_clients_commands_workers_and_the_helpers_for_tests_are_imported_there() -> None:
    modules = (
        "shareq.aio, shareq.dramatiq, shareq.kombu, shareq.ops.cli.main, shareq.taskiq, shareq.testing.plugin,"
        " shareq.worker"
    )
    commands = "from shareq.ops.cli import COMMANDS, command_of; [command_of(name) for name in COMMANDS]"
    code = f"{LIKE_WINDOWS}import {modules}\n{commands}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


@for_each(
    "line",
    [
        "serve",
        "verify DATA",
        "backup DATA BACKUPS",
        "restore BACKUPS DATA",
        "import-logs KAFKA DATA",
        "export-logs DATA KAFKA",
    ],
)
def test_what_has_a_data_folder_says_in_one_line_what_it_wants(
    line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", "win32")
    ran = CliRunner().invoke(main, line.split())
    assert (ran.exit_code, ran.stderr) == (2, f"shareq: {NOT_ON_WINDOWS}\n")
    assert list(tmp_path.iterdir()) == []
    assert CliRunner().invoke(main, [*line.split(), "--help"]).exit_code == 0


@for_each("mode", ["process", "thread", "command"])
def test_a_broker_for_a_test_says_the_same(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(mode=mode)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(BrokerFailed, match="Linux or macOS"):
        broker.start()
    monkeypatch.undo()
    broker.close()
