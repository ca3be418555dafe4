"""Completion in the shells themselves: the script that is printed, and the names it offers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.client.cli import completion
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

BIN = Path(sys.executable).parent
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders", "other", "parcels")
        for group in ("packers", "painters", "shippers"):
            shell.ok("share", "reset", group, "--topic", "orders", "--to", "0", "--yes")
        shell.ok("groups", "reset", "payers", "--topic", "orders", "--to", "0", "--yes")
        yield broker


def run(shell: str, script: str, bootstrap: str) -> list[str]:
    """The lines that a script of a shell prints; nothing may come on standard error."""
    environment = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "SHAREQ_BOOTSTRAP_SERVERS": bootstrap,
        "XDG_CONFIG_HOME": "/nonexistent",
    }
    command = [shell, *(("--norc", "--noprofile") if shell == "bash" else ()), "-c", script]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


def in_bash(words: str, bootstrap: str) -> list[str]:
    """What bash offers for the last word."""
    given = words.split(" ")
    script = (
        'eval "$(shareq completion bash)"\n'
        f"COMP_WORDS=({' '.join(map(shlex.quote, given))})\nCOMP_CWORD={len(given) - 1}\n"
        f"_shareq_completion shareq {shlex.quote(given[-1])} {shlex.quote(given[-2])}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run("bash", script, bootstrap)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("shareq to", ["topics", "top"]),
        ("shareq dlq re", ["redrive", "redrives"]),
        ("shareq topics describe o", ["orders", "other"]),
        ("shareq consume parcels o", ["orders", "other"]),
        ("shareq share describe pa", ["packers", "painters"]),
        ("shareq share records packers --topic pa", ["parcels"]),
        ("shareq groups describe p", ["payers"]),
        ("shareq configs describe topic pa", ["parcels"]),
        ("shareq configs describe group pa", ["packers", "painters"]),
        ("shareq configs describe broker 1", []),
        ("shareq topics create o", []),
        ("shareq share records --stat", ["--state"]),
    ],
)
def test_bash_completes_commands_options_topics_and_groups(broker: Broker, words: str, offered: list[str]) -> None:
    assert sorted(in_bash(words, broker.bootstrap)) == sorted(offered)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_cluster_that_is_not_there_offers_nothing_soon(broker: Broker) -> None:
    began_s = time.monotonic()
    assert in_bash("shareq share describe pa", NOWHERE) == []
    assert in_bash(f"shareq topics describe -b {broker.bootstrap} pa", NOWHERE) == ["parcels"]
    assert time.monotonic() - began_s < 30


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_topics(broker: Broker) -> None:
    script = "shareq completion fish | source; complete -C 'shareq topics describe o'"
    assert run("fish", script, broker.bootstrap) == ["orders", "other"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_script_and_gets_topics(broker: Broker) -> None:
    script = (
        'autoload -Uz compinit; compinit -u -D; eval "$(shareq completion zsh)"; print ${_comps[shareq]}\n'
        "COMP_WORDS='shareq topics describe o' COMP_CWORD=3 _SHAREQ_COMPLETE=zsh_complete shareq"
    )
    found = run("zsh", script, broker.bootstrap)
    assert found[0] == "_shareq_completion"
    assert {"orders", "other"} <= set(found)


def test_no_more_names_than_a_person_reads(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "MOST", 1)
    assert len(in_process("shareq topics describe o", broker.bootstrap)) == 1


def in_process(words: str, bootstrap: str) -> list[str]:
    """What is offered for the last word, asked in this process."""
    from click.shell_completion import ShellComplete

    from shareq.broker.cli import main

    *before, incomplete = words.split(" ")[1:]
    asked = [*before, "-b", bootstrap]
    return [item.value for item in ShellComplete(main, {}, "shareq", "_X").get_completions(asked, incomplete)]
