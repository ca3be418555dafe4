"""Completion in real shells: the printed script, and the names that it offers."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.ops.cli.shared import completion
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.processes import finished

BIN = Path(sys.executable).parent
NOWHERE = "127.0.0.1:1"
WITHOUT_FILES = {"bash": ("--norc", "--noprofile"), "zsh": ("-f",), "fish": ("--no-config",)}
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name} (Debian: {name})"))
    for name in WITHOUT_FILES
]


@pytest.fixture(scope="module", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give shells folders of their own, which fish would otherwise create."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders", "other", "parcels")
        for group in ("packers", "painters", "shippers"):
            shell.ok("share", "reset", group, "--topic", "orders", "--to", "0", "--yes")
        shell.ok("groups", "reset", "payers", "--topic", "orders", "--to", "0", "--yes")
        yield broker


def environment(bootstrap: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "SHAREQ_BOOTSTRAP_SERVERS": bootstrap,
    }


def run(shell: str, script: str, bootstrap: str) -> list[str]:
    """Return the words that a shell script prints; it must not write to standard error."""
    command = [shell, *WITHOUT_FILES[shell], "-c", script]
    ran = finished(command, env=environment(bootstrap), timeout_s=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


def in_bash(words: str, bootstrap: str) -> list[str]:
    given = words.split(" ")
    script = (
        'eval "$(shareq completion bash)"\n'
        f"COMP_WORDS=({' '.join(map(shlex.quote, given))})\nCOMP_CWORD={len(given) - 1}\n"
        f"_shareq_completion shareq {shlex.quote(given[-1])} {shlex.quote(given[-2])}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run("bash", script, bootstrap)


def in_zsh(words: str, bootstrap: str) -> list[str]:
    """Return zsh's completions of the last word; the test replaces the two functions by which zsh offers them."""
    given = words.split(" ")
    script = (
        "autoload -Uz compinit; compinit -u -D\n"
        'eval "$(shareq completion zsh)"\n'
        "[[ ${_comps[shareq]} == _shareq_completion ]] || exit 1\n"
        "compadd() { print -rl -- $completions }\n"
        "_describe() { print -rl -- ${completions_with_descriptions%%:*} }\n"
        f"words=({' '.join(map(shlex.quote, given))}) CURRENT={len(given)}\n"
        "_shareq_completion || true"
    )
    return run("zsh", script, bootstrap)


def in_fish(words: str, bootstrap: str) -> list[str]:
    """Return fish's completions of the last word, without the descriptions after a tab."""
    script = f"shareq completion fish | source; complete -C {shlex.quote(words)} | string replace -r '\\t.*' ''; true"
    return run("fish", script, bootstrap)


IN = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


OFFERED = {
    "shareq to": ["topics", "top"],
    "shareq dlq re": ["redrive", "redrives"],
    "shareq topics describe o": ["orders", "other"],
    "shareq consume parcels o": ["orders", "other"],
    "shareq share describe pa": ["packers", "painters"],
    "shareq share records packers --topic pa": ["parcels"],
    "shareq groups describe p": ["payers"],
    "shareq configs describe topic pa": ["parcels"],
    "shareq configs describe group pa": ["packers", "painters"],
    "shareq configs describe broker 1": [],
    "shareq topics create o": [],
    "shareq share records --stat": ["--state"],
}


@pytest.mark.parametrize("words", OFFERED)
def test_commands_options_topics_and_groups_are_completed(broker: Broker, words: str) -> None:
    assert sorted(in_process(words, broker.bootstrap)) == sorted(OFFERED[words])


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("words", ["shareq to", "shareq topics describe o", "shareq topics create o"])
def test_a_shell_offers_them(broker: Broker, shell: str, words: str) -> None:
    assert sorted(IN[shell](words, broker.bootstrap)) == sorted(OFFERED[words])


@pytest.mark.parametrize("shell", SHELLS)
def test_a_cluster_that_is_not_there_offers_nothing_soon(broker: Broker, shell: str) -> None:
    began_s = time.monotonic()
    assert IN[shell]("shareq share describe pa", NOWHERE) == []
    assert IN[shell](f"shareq topics describe -b {broker.bootstrap} pa", NOWHERE) == ["parcels"]
    assert time.monotonic() - began_s < 30


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh (Debian: zsh)")
def test_a_tab_in_zsh_completes_what_was_typed(broker: Broker, tmp_path: Path) -> None:
    """The printed script is installed in the function path, as the help says, and completes more than once."""
    typed = tmp_path / "typed"
    (tmp_path / "_shareq").write_text(run_text("shareq completion zsh", broker.bootstrap))
    (tmp_path / ".zshrc").write_text(
        f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -u -D\n"
        f"keep() {{ print -r -- $BUFFER >> {typed}; zle kill-buffer; print SHOWN }}\n"
        "zle -N keep; bindkey '^X' keep\n"
        "zle-line-init() { print READY }; zle -N zle-line-init\n"
    )
    child, terminal = pty.fork()
    if not child:
        os.execvpe("zsh", ["zsh", "-i"], {**environment(broker.bootstrap), "ZDOTDIR": str(tmp_path), "TERM": "dumb"})
    try:
        until(terminal, b"READY")
        for words in ("shareq topics describe pa", "shareq share describe s"):
            os.write(terminal, f"{words}\t\x18".encode())
            until(terminal, b"SHOWN")
    finally:
        os.close(terminal)  # hangs up
        os.waitpid(child, 0)
    assert typed.read_text().split("\n") == ["shareq topics describe parcels ", "shareq share describe shippers ", ""]


def run_text(command: str, bootstrap: str) -> str:
    ran = subprocess.run(
        command.split(), env=environment(bootstrap), capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout


def until(terminal: int, wanted: bytes) -> None:
    shown = b""
    while wanted not in shown:
        assert select.select([terminal], [], [], 30)[0], shown
        shown += os.read(terminal, 4096)


def test_no_more_names_than_a_person_reads(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "MOST", 1)
    assert len(in_process("shareq topics describe o", broker.bootstrap)) == 1


def in_process(words: str, bootstrap: str) -> list[str]:
    from click.shell_completion import ShellComplete

    from shareq.ops.cli.main import main

    *before, incomplete = words.split(" ")[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHAREQ_BOOTSTRAP_SERVERS", bootstrap)
        return [item.value for item in ShellComplete(main, {}, "shareq", "_X").get_completions(before, incomplete)]
