"""docs/cli.md: every command in it runs as written, in its order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.testing import Broker
from tests.support.clients.shareq_cli import LEAVES, Shell
from tests.support.processes import finished

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "cli.md"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
NOT_IN_A_BLOCK = {"transactions describe", "transactions abort", "migrate"}
"""The commands that no block of a document can prepare for; `docs/moving.md` has two clusters."""


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker(config={"authorizer.class.name": STANDARD, "super.users": "User:ANONYMOUS"}) as broker:
        yield broker.bootstrap


def test_the_first_block_runs_in_a_shell(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    shareq = bin_folder / "shareq"
    shareq.write_text(f'#!/bin/sh\nexec {sys.executable} -m shareq "$@"\n')
    shareq.chmod(0o755)
    with Broker() as broker:
        environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap,
        }
        command = ["sh", "-e", "-u", "-x", "-c", blocks()[0]]
        ran = finished(command, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "apples" in ran.stdout


def test_every_command_of_the_document_runs(bootstrap: str) -> None:
    """Commands run in order in this process; an interpreter for each would take a minute.

    A shell produces their input.
    """
    shell = Shell(bootstrap)
    printed = ""
    for line in "".join(blocks()).replace("\\\n", "").splitlines():
        before, _, call = line.rpartition(" | ")
        stdin = subprocess.run(["sh", "-c", before], capture_output=True, text=True, check=True).stdout
        name, *words = shlex.split(call.partition(" > ")[0])
        assert name == "shareq"
        printed += "\n".join(shell.ok(*words, stdin=stdin)) + "\n"
    assert {"apples", "pears"} <= set(printed.split())


def test_the_document_shows_every_command() -> None:
    text = "".join(blocks())
    assert {name for name in LEAVES if f"shareq {name}" not in text} == NOT_IN_A_BLOCK
    for name in NOT_IN_A_BLOCK:
        assert f"`{name}" in DOCUMENT.read_text()
