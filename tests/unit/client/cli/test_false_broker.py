"""Every command about a cluster on a broker that lies: it ends in time, with lines for what is wrong, and no trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

import click
import pytest

from shareq.protocol.api_keys import ApiKey
from shareq.testing import Broker
from tests.support.clients.shareq_cli import LEAVES, Shell
from tests.support.fakes.false_broker import FalseBroker

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
"""Where a command does nothing without. A command that is not named here is called with what it demands."""


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
    """Topics are there again after a command that deletes them."""
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", "orders", "letters", "--if-not-exists")
    shell.ok("produce", "orders", "--header", "a=b", stdin="one\ntwo\n")
    shell.ok("produce", "letters", stdin="one\n")


def words_of(name: str) -> list[str]:
    """What a command demands: its arguments, and options that have to be given."""
    command, words = LEAVES[name], name.split()
    for each in command.params:
        if isinstance(each, click.Argument):
            words.append(NAMED.get(each.name or "", "orders"))
            if name.startswith("configs ") and each.name == "kind":
                words[-1] = "topic"
        elif each.required and name not in GIVEN:
            choices = getattr(each.type, "choices", None)
            words += [each.opts[0], str(choices[0]) if choices else "earliest"]
        elif each.name == "yes":
            words.append("--yes")
    return [*words, *GIVEN.get(name, []), "--timeout", str(TIMEOUT_S)]


@pytest.mark.parametrize("name", LEAVES)
def test_a_lying_broker_gets_one_line_and_no_trace(broker: Broker, name: str) -> None:
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        honest = frozenset([ApiKey.API_VERSIONS, ApiKey.METADATA]) if seed else frozenset[int]()
        with FalseBroker(broker.address, rng.randrange(1 << 30), 0.5, honest) as false:
            began = time.monotonic()
            ran = Shell(false.bootstrap).run(*words_of(name), *(["--json"] if seed == 1 else []), stdin="password\n")
            took_s = time.monotonic() - began
        assert took_s < PATIENCE_S, ran
        assert ran.code in range(6), ran
        lied_about = "is no dead-letter queue" in ran.err  # a property that was bent
        assert ran.code != 2 or lied_about, f"the command was not called as it should be: {ran.err}"
        assert all(line.startswith("shareq: ") for line in ran.err.splitlines() if line.strip()), ran.err
