"""The command line: imports at start, errors in one line, confirmations, exit codes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shareq.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    Disconnected,
    Unreachable,
    UnsupportedApi,
)
from shareq.ops.cli import COMMANDS, command_of
from shareq.ops.cli.output.schema import fields
from shareq.ops.cli.shared.failures import exit_code
from shareq.protocol.errors import ErrorCode
from shareq.testing import Broker
from tests.support.clients.shareq_cli import LEAVES, SCHEMAS, Shell
from tests.support.each import for_each
from tests.support.processes import finished

NOWHERE = "127.0.0.1:1"
SHAREQ = (sys.executable, "-m", "shareq")


@pytest.fixture
def shell() -> Shell:
    return Shell(NOWHERE)


@for_each("name", COMMANDS)
def test_help_says_what_the_command_itself_says_of_it(name: str) -> None:
    found = command_of(name)
    assert (found.name, found.get_short_help_str(1_000)) == (name, COMMANDS[name].summary)


@pytest.mark.parametrize(
    ("line", "not_wanted"),
    [
        (["--help"], ("shareq.client", "shareq.broker", "shareq.protocol.generated", "asyncio", "javaproperties")),
        (["serve", "--help"], ("shareq.client", "shareq.broker", "asyncio", "javaproperties", "rich")),
        (["topics", "--help"], ("shareq.broker", "shareq.worker", "asyncio", "javaproperties", "rich")),
    ],
    ids=" ".join,
)
def test_only_what_a_command_needs_is_imported(line: list[str], not_wanted: tuple[str, ...]) -> None:
    code = f"""
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from shareq.__main__ import main
main({line})
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ran.stderr.split()
    assert "shareq.ops.cli.main" in loaded
    assert [name for name in loaded if name.startswith(not_wanted)] == []


@for_each("name", sorted(LEAVES))
def test_every_command_has_help_with_an_example_and_its_exit_codes(shell: Shell, name: str) -> None:
    help_text = "\n".join(shell.ok(*name.split(), "--help"))
    assert f"shareq {name}" in help_text.partition("Examples:")[2]
    assert "Exit codes: 0 done" in help_text
    assert ("--bootstrap-server" in help_text) == (name != "migrate")  # which is about two clusters
    row = LEAVES[name].row
    assert row is not None
    assert all(fields(row).values())


@for_each("name", COMMANDS)
def test_no_line_of_an_example_is_folded_into_the_next(name: str) -> None:
    for words, command in commands_below((name,), command_of(name)):
        folded = [each for each in (command.epilog or "").split("\n\n") if "\n  " in each and "\b" not in each]
        assert not folded, words


def commands_below(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands_below((*words, name), each)


def test_what_destroys_asks_and_can_be_tried(shell: Shell) -> None:
    asking = {name for name, command in LEAVES.items() if any(one.name == "yes" for one in command.params)}
    tried = {name for name, command in LEAVES.items() if any(one.name == "dry_run" for one in command.params)}
    assert asking == {
        *("topics delete", "topics trim", "share reset", "share delete", "share delete-offsets"),
        *("groups reset", "groups delete", "groups delete-offsets", "dlq redrive", "dlq cancel", "dlq drop"),
        *("acls delete", "users delete", "features set", "transactions abort"),
    }
    assert asking - tried == set()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("topics bogus", "topics: No such command 'bogus'. There are alter, create, delete, describe, list, trim."),
        ("topics create", "topics create: Missing argument 'TOPIC...'."),
        ("topics create t --partitions none", "'none' is not a valid integer range"),
        ("topics create t --set retention.ms", "--set retention.ms: must be KEY=VALUE"),
        ("topics list --bogus", "No such option"),
        ("topics alter t", "topics alter: give --partitions, --set or --unset"),
        ("topics trim t --before never", "--before never: must be earliest, latest, an offset"),
        ("share reset g --to earliest", "share reset: give either --topic or --all-topics"),
        ("share consume g --topic t --then eat", "'eat' is not one of 'accept', 'release', 'reject'"),
        ("configs describe nonsense x", "'nonsense' is not one of 'topic'"),
        ("configs alter topic t", "configs alter: give --set"),
        ("acls create --principal p --resource topic --name t --operation read", "--principal p: must be User:NAME"),
        ("acls create --principal User:p --resource topic --operation read", "--name of the topic is missing"),
        ("quotas alter --set a=1", "quotas alter: give --user"),
        ("quotas alter --user u --set a=b", "--set a=b: must be NAME=NUMBER"),
        ("features set x=y", "features set x=y: must be NAME=LEVEL"),
        ("transactions abort", "give either ID, or --topic and --first-offset"),
        ("dlq redrive n q --died-from soon", "--died-from soon: must be a time as 2026-03-01T12:00"),
        ("dlq redrive n q --to-group", "dlq redrive: --to-group needs --group"),
        ("dlq show q --from soon", "--from soon: must be earliest, latest, an offset"),
        ("topics list --timeout -1", "--timeout -1: must be above 0"),
        ("topics list --property nonsense=1", "nonsense: is not a property of this client"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_value(shell: Shell, line: str, said: str) -> None:
    ran = shell.run(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.startswith("shareq: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("words", [("topics", "list"), ("share", "lag"), ("produce", "t", "--value", "x")])
def test_a_cluster_that_is_not_there(shell: Shell, words: tuple[str, ...]) -> None:
    ran = shell.run(*words, "--timeout", "0.5")
    assert (ran.code, ran.out) == (3, "")
    assert NOWHERE in ran.err
    assert ran.err.count("\n") == 1


def test_a_subject_alone_shows_its_commands(shell: Shell) -> None:
    ran = shell.run("topics")
    assert ran.code == 2
    assert "trim" in ran.out + ran.err


def test_schemas_are_printed_and_each_is_one(shell: Shell) -> None:
    assert json.loads("\n".join(shell.ok("json-schema"))) == SCHEMAS
    assert json.loads("\n".join(shell.ok("json-schema", "share", "offsets"))) == SCHEMAS["share offsets"]
    assert shell.run("json-schema", "bogus").code == 4


@pytest.mark.parametrize("which", ["bash", "zsh", "fish"])
def test_completion_scripts_call_back(shell: Shell, which: str) -> None:
    assert "_SHAREQ_COMPLETE" in "\n".join(shell.ok("completion", which))


def test_commands_and_options_are_completed() -> None:
    def completed(line: str) -> list[str]:
        environment = {**os.environ, "_SHAREQ_COMPLETE": "bash_complete", "COMP_WORDS": line}
        environment["COMP_CWORD"] = str(len(line.split()) - (not line.endswith(" ")))
        code = "from shareq.__main__ import main; main(prog_name='shareq')"
        ran = finished([sys.executable, "-c", code], env=environment)
        return [each.partition(",")[2] for each in ran.stdout.splitlines()]

    assert "topics" in completed("shareq to")
    assert completed("shareq share pe") == ["peek"]
    assert "--dry-run" in completed("shareq topics delete --d")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (Unreachable("x"), 3),
        (Disconnected("x"), 3),
        (AuthenticationFailed("x"), 3),
        (UnsupportedApi("x"), 1),
        (BrokerError(ErrorCode.GROUP_ID_NOT_FOUND, "x"), 4),
        (BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "x"), 4),
        (BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "x"), 1),
        (BrokerError(ErrorCode.NON_EMPTY_GROUP, "x"), 1),
    ],
)
def test_every_failure_has_its_exit_code(error: ClientError, code: int) -> None:
    assert exit_code(error) == code


def started(broker: Broker, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "XDG_CONFIG_HOME": "/nonexistent"}
    pipe = subprocess.PIPE
    return subprocess.Popen([*SHAREQ, *words], stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.mark.parametrize("words", [("tail", "t", "-f"), ("consume", "t", "--follow")])
def test_what_follows_prints_what_comes_until_interrupted(words: tuple[str, ...]) -> None:
    with Broker() as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "t")
        shell.ok("produce", "t", "--value", "before")
        environment = {**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "XDG_CONFIG_HOME": "/nonexistent"}
        command = [*SHAREQ, *words]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as ran:
            assert ran.stdout is not None
            assert ran.stderr is not None
            assert ran.stdout.readline().endswith("\t-\tbefore\n")
            shell.ok("produce", "t", "--value", "after")
            assert ran.stdout.readline().endswith("\t-\tafter\n")
            ran.send_signal(signal.SIGINT)
            assert ran.wait(20) == 130
            assert ran.stderr.read() == ""


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """A reader such as head closes the pipe after a line."""
    with Broker() as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "t")
        shell.ok("produce", "t", stdin="x\n" * 20_000)
        environment = {**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "XDG_CONFIG_HOME": "/nonexistent"}
        command = [*SHAREQ, "consume", "t"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as ran:
            assert ran.stdout is not None
            assert ran.stderr is not None
            assert ran.stdout.readline().startswith("t-0:0\t")
            ran.stdout.close()
            assert ran.wait(20) == 0
            assert ran.stderr.read() == ""


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    """After "no" nothing is done, and the exit code is 5. The test uses a broker."""
    with Broker() as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "t")
        environment = {**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "HOME": str(tmp_path)}
        for answer, code, left in (("n", 5, 1), ("y", 0, 0)):
            master, slave = pty.openpty()
            command = [*SHAREQ, "topics", "delete", "t"]
            os.write(master, f"{answer}\n".encode())
            ran = subprocess.run(command, stdin=slave, capture_output=True, text=True, env=environment, check=False)
            os.close(slave)
            os.close(master)
            assert ran.returncode == code, ran.stderr
            assert "delete t with all records? [y/N]" in ran.stderr
            assert len(shell.json("topics", "list", "t")) == left


@pytest.mark.parametrize(
    ("word", "said"),
    [("topic", "did you mean topics? "), ("zzz", "")],
)
def test_a_command_that_does_not_exist_is_one_line(shell: Shell, word: str, said: str) -> None:
    ran = shell.run(word, "list")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"shareq: there is no command {word}; {said}--help shows them all\n"


def test_help_cuts_nothing_off(shell: Shell) -> None:
    for words in ((), ("share",), ("dlq",), ("transactions",)):
        assert "..." not in "\n".join(shell.ok(*words, "--help")).partition("Commands:")[2]
