"""Every command about a cluster, on a broker that lies: each ends in time, with error lines and no traceback."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner

from shareq.ops.cli.main import main
from shareq.protocol.api_keys import ApiKey
from shareq.testing import Broker
from tests.support.clients.shareq_cli import LEAVES, Shell
from tests.support.fakes.false_broker import FalseBroker
from tests.support.fakes.scram_peer import SCRAM_LOGIN, wants_iterations
from tests.support.fakes.scripted_peer import ScriptedBroker

TIMEOUT_S = 0.3
PATIENCE_S = 10.0  # of a machine that is busy
SEEDS = 3
NAMED = {
    "kind": "topic",
    "kinds": "topic",
    "levels": "share.version=1",
    "queue": "letters",
    "group": "workers",
    "groups": "workers",
}
GIVEN = {
    "topics trim": ["--before", "latest"],
    "topics alter": ["--set", "retention.ms=1000"],
    "configs alter": ["--set", "retention.ms=1000"],
    "acls create": ["--principal", "User:a", "--resource", "topic", "--name", "orders", "--operation", "read"],
    "acls delete": ["--principal", "User:a"],
    "share reset": ["--topic", "orders", "--to", "earliest"],
    "groups reset": ["--topic", "orders", "--to", "earliest"],
    "quotas alter": ["--user", "a", "--set", "producer_byte_rate=1000"],
    "share consume": ["--topic", "orders", "-n", "2"],
    "produce": ["--value", "x"],
    "top": ["--once"],
    "transactions abort": [],
}
"""The options that a command needs to do something. A command that is not listed is called with its required
options.
"""
BESIDE = frozenset({"check", "worker run", "console", "export"})
"""The commands that ask a cluster and have tests of their own, below."""
ASK_NO_CLUSTER = {
    "serve": "it is a broker; the console that it may start is `console`",
    "verify": "it reads a data folder",
    "backup": "it reads a data folder, beside the broker and not by way of it",
    "restore": "it reads a folder of backups",
    "import-logs": "it reads a data folder of Apache Kafka",
    "export-logs": "it writes one",
    "json-schema": "it is about the commands",
    "completion": "it prints a script; what that asks for is asked for below",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread", config={"errors.deadletterqueue.topic.name.prefix": "let"}) as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders", "letters")
        shell.ok("configs", "alter", "topic", "letters", "--set", "errors.deadletterqueue.group.enable=true")
        shell.ok("configs", "alter", "group", "workers", "--set", "share.auto.offset.reset=earliest")
        shell.ok("configs", "alter", "group", "workers", "--set", "errors.deadletterqueue.topic.name=letters")
        shell.run("share", "consume", "workers", "--topic", "orders", "-n", "1", "--timeout", "5")
        yield broker


@pytest.fixture(autouse=True)
def filled(broker: Broker) -> None:
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", "orders", "letters", "--if-not-exists")
    shell.ok("produce", "orders", "--header", "a=b", stdin="one\ntwo\n")
    shell.ok("produce", "letters", stdin="one\n")


def words_of(name: str, address: str, timeout_s: float = TIMEOUT_S) -> list[str]:
    """Return a command's required arguments and options.

    `address`: the broker's, for a command that names both of its clusters.
    """
    command, words = LEAVES[name], name.split()
    for each in command.params:
        if isinstance(each, click.Argument):
            words.append(address if each.name in ("source", "target") else NAMED.get(each.name or "", "orders"))
            if name.startswith("configs ") and each.name == "kind":
                words[-1] = "topic"
        elif each.required and name not in GIVEN:
            choices = getattr(each.type, "choices", None)
            words += [each.opts[0], str(choices[0]) if choices else "earliest"]
        elif each.name == "yes":
            words.append("--yes")
    return [*words, *GIVEN.get(name, []), "--timeout", str(timeout_s)]


@pytest.mark.parametrize("name", LEAVES)
def test_a_lying_broker_gets_one_line_and_no_trace(broker: Broker, name: str) -> None:
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        honest = frozenset([ApiKey.API_VERSIONS, ApiKey.METADATA]) if seed else frozenset[int]()
        with FalseBroker(broker.address, rng.randrange(1 << 30), 0.5, honest) as false:
            began = time.monotonic()
            ran = Shell(false.bootstrap).run(
                *words_of(name, false.bootstrap), *(["--json"] if seed == 1 else []), stdin="password\n"
            )
            took_s = time.monotonic() - began
        assert took_s < PATIENCE_S, ran
        assert ran.code in range(6), ran
        lied_about = "is no dead-letter queue" in ran.err  # a property that was changed
        assert ran.code != 2 or lied_about, f"the command was not called as it should be: {ran.err}"
        assert all(line.startswith("shareq: ") for line in ran.err.splitlines() if line.strip()), ran.err


def commands_of(group: click.Group, context: click.Context, words: str = "") -> Iterator[str]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands_of(found, context, f"{words}{name} ")
        else:
            yield words + name


def test_every_command_is_called_or_asks_no_cluster() -> None:
    found = list(commands_of(main, click.Context(main)))
    assert sorted(found) == sorted([*LEAVES, *BESIDE, *ASK_NO_CLUSTER])
    assert (len(LEAVES), len(BESIDE), len(ASK_NO_CLUSTER)) == (56, 4, 8)


def false_brokers(broker: Broker, name: str, seeds: int = SEEDS) -> Iterator[FalseBroker]:
    """Yield brokers that lie; every other one is honest about versions and brokers."""
    for seed in range(seeds):
        rng = Random(f"{name} {seed}")
        honest = frozenset([ApiKey.API_VERSIONS, ApiKey.METADATA]) if seed % 2 else frozenset[int]()
        with FalseBroker(broker.address, rng.randrange(1 << 30), 0.5, honest) as false:
            yield false


@pytest.mark.parametrize("as_client", [False, True])
def test_check(broker: Broker, as_client: bool) -> None:
    more = ["--command-property", "client.id=me"] if as_client else []
    for false in false_brokers(broker, f"check {as_client}", 10):
        ran = Shell("").run("check", false.bootstrap, "--timeout", str(TIMEOUT_S), *more)
        assert ran.code in (0, 1), ran
        assert len(ran.err.splitlines()) == ran.code, ran
        assert ran.err.startswith("shareq: ") or not ran.code, ran


@pytest.fixture
def login(tmp_path: Path) -> str:
    file = tmp_path / "client.properties"
    file.touch(0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in SCRAM_LOGIN.items()))
    return str(file)


@pytest.mark.parametrize("name", LEAVES)
def test_a_broker_that_wants_ten_million_hashes_gets_one_line(name: str, login: str) -> None:
    with ScriptedBroker(wants_iterations(10_000_000)) as false:
        ran = Shell(false.bootstrap).run(
            *words_of(name, false.bootstrap, PATIENCE_S), "--config", login, stdin="password\n"
        )
    assert (ran.code, ran.out) == (3, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("shareq: ")
    assert "10000000 iterations; 4096 to 16384 are taken" in line


def test_check_of_a_broker_that_wants_ten_million_hashes(login: str) -> None:
    with ScriptedBroker(wants_iterations(10_000_000)) as false:
        ran = Shell("").run("check", false.bootstrap, "--command-config", login)
    assert ran.code == 1
    assert "10000000 iterations; 4096 to 16384 are taken" in ran.err


WORKER = """
import asyncio
from shareq.worker import Worker

class Ending(Worker):
    async def serve(self, *, signals=False, stop=None, look=None):
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, stop.set)
        await super().serve(stop=stop, look=look)

app = Ending(group="workers", stop_s=1, properties={"default.api.timeout.ms": "300", "request.timeout.ms": "300"})

@app.handler("orders")
async def work(value):
    pass
"""


def test_worker_run(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "work_for_a_false_broker.py").write_text(WORKER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    codes = set()
    for false in false_brokers(broker, "worker run", 16):
        words = ["worker", "run", "work_for_a_false_broker:app", "--quiet", "-b", false.bootstrap]
        began = time.monotonic()
        ran = Shell("").run(*words)
        assert time.monotonic() - began < PATIENCE_S, ran
        assert ran.code in (0, 1), ran
        said = [line for line in ran.err.splitlines() if line.startswith("shareq: ")]
        assert len(said) == ran.code, ran
        assert not [each.getMessage() for each in caplog.records if each.exc_info], ran
        codes.add(ran.code)
    assert codes == {0, 1}


@pytest.mark.parametrize("words", ["topics describe ", "share describe ", "groups describe ", "configs alter topic "])
def test_what_a_shell_completes(broker: Broker, words: str) -> None:
    for false in false_brokers(broker, f"complete {words}"):
        shell = Shell(false.bootstrap, _SHAREQ_COMPLETE="bash_complete", COMP_WORDS=f"shareq {words}", COMP_CWORD="3")
        began = time.monotonic()
        result = CliRunner(env=shell.environment).invoke(main, [], prog_name="shareq")
        assert time.monotonic() - began < PATIENCE_S
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert not result.stderr
