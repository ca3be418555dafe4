"""docs/cli.md: every command in it, run as written and in its order; and the fields it lists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from scripts import cli_reference
from shareq.testing import Broker
from tests.support.clients.shareq_cli import LEAVES

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "cli.md"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
NOT_IN_A_BLOCK = {"dlq cancel", "transactions describe", "transactions abort"}
"""Commands that need what a document cannot have ready."""


def script() -> str:
    """All blocks of shell, one after the other."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL))


def test_every_command_of_the_document_runs(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    shareq = bin_folder / "shareq"
    shareq.write_text(f'#!/bin/sh\nexec {sys.executable} -m shareq "$@"\n')
    shareq.chmod(0o755)
    with Broker(config={"authorizer.class.name": STANDARD, "super.users": "User:ANONYMOUS"}) as broker:
        environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap,
        }
        command = ["sh", "-e", "-u", "-x", "-c", script()]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert {"apples", "pears"} <= set(re.split(r"\s+", ran.stdout))


def test_the_document_shows_every_command() -> None:
    text = script()
    assert {name for name in LEAVES if f"shareq {name}" not in text} == NOT_IN_A_BLOCK
    for name in NOT_IN_A_BLOCK:
        assert f"`{name}" in DOCUMENT.read_text()


def test_the_fields_are_those_of_the_commands() -> None:
    written = DOCUMENT.read_text().partition(f"{cli_reference.BEGIN}\n")[2].partition(f"\n{cli_reference.END}")[0]
    assert written.splitlines() == "\n".join(cli_reference.lines()).splitlines()
