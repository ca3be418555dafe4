"""Every `shareq` command about a cluster, on our broker and on Apache Kafka; and Kafka's own tools, which must agree.

`--broker=apache` runs them on Apache Kafka. The scenes are those of `tests/unit/ops/cli`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.protocol import USER, tool_arguments
from tests.support import cli_scenes as scenes
from tests.support.clients.shareq_cli import LEAVES, Shell
from tests.support.waiting import until

pytestmark = pytest.mark.interop

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
BROKER_SETTINGS = {"authorizer.class.name": STANDARD, "super.users": f"User:ANONYMOUS;User:{USER}"}
OURS_ALONE = {"dlq redrive", "dlq redrives", "dlq cancel", "share pause", "share resume"}
"""Commands that Apache Kafka refuses by design: it has no redrives, and groups cannot be paused."""
WITH_QUEUES = {"dlq list", "dlq show", "dlq drop"}
"""Commands about dead-letter queues, which Apache Kafka has from share.version 2 on (4.4)."""
_CONFIG = "--command-config"


@pytest.fixture(scope="module")
def shell(broker: BrokerUnderTest) -> Shell:
    given = tool_arguments(("--bootstrap-server", broker.bootstrap))
    secured = {"SHAREQ_CLIENT_CONFIG": given[given.index(_CONFIG) + 1]} if _CONFIG in given else {}
    return Shell(broker.bootstrap, **secured)


def test_topics(shell: Shell) -> None:
    scenes.topics(shell)


def test_records(shell: Shell) -> None:
    scenes.records(shell)


def test_committed_records(shell: Shell) -> None:
    scenes.committed(shell)


def test_migration(shell: Shell, broker: BrokerUnderTest) -> None:
    scenes.migration(shell, broker.bootstrap)


def test_share_groups(shell: Shell) -> None:
    scenes.share_groups(shell)


def test_share_records(shell: Shell) -> None:
    scenes.share_records(shell)


def test_paused_groups(shell: Shell, broker: BrokerUnderTest) -> None:
    scenes.paused_groups(shell, known=broker.kind == "ours")


def test_consumer_groups(shell: Shell) -> None:
    scenes.consumer_groups(shell)


def test_configs(shell: Shell) -> None:
    scenes.configs(shell)


def test_access(shell: Shell, tmp_path: Path) -> None:
    scenes.access(shell, tmp_path)


def test_cluster(shell: Shell) -> None:
    scenes.cluster(shell)


def test_transactions(shell: Shell) -> None:
    scenes.transactions(shell)


def test_dead_letters(shell: Shell, broker: BrokerUnderTest) -> None:
    if not has_queues(shell):
        pytest.skip("the broker has no dead-letter queues")
    scenes.dead_letters(shell, redrives=broker.kind == "ours")


def has_queues(shell: Shell) -> bool:
    return any(row["feature"] == "share.version" and row["highest"] >= 2 for row in shell.json("features", "list"))


def test_no_command_is_left_out(shell: Shell, broker: BrokerUnderTest) -> None:
    if not {"topics list", "transactions abort"} <= shell.seen:
        pytest.skip("the other tests have not run")
    refused = OURS_ALONE if broker.kind == "apache" else set[str]()
    assert set(LEAVES) - shell.seen == (refused if has_queues(shell) else refused | WITH_QUEUES)


# -- Kafka's tools


def lines_of(java: JavaDriver, broker: BrokerUnderTest, tool: str, *arguments: str) -> list[list[str]]:
    done = java.tool(tool, "--bootstrap-server", broker.bootstrap, *arguments)
    assert done.code == 0, done.output
    return [line.split() for line in done.out.splitlines() if line.strip()]


def test_share_groups_are_as_kafkas_tool_has_them(
    shell: Shell, broker: BrokerUnderTest, java: JavaDriver, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    shell.ok("topics", "create", topic, "--partitions", "2")
    shell.ok("produce", topic, "--key-separator", ":", stdin="".join(f"{number}:x\n" for number in range(40)))
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    lines_of(java, broker, "consumer.group.ShareGroupCommand", *reset)
    shell.ok("share", "consume", group, "--topic", topic, "-n", "7")

    def said() -> list[tuple[str, str, int, int, int]]:
        rows = lines_of(java, broker, "consumer.group.ShareGroupCommand", "--describe", "--group", group)
        return sorted((row[0], row[1], int(row[2]), int(row[3]), int(row[4])) for row in rows[1:])

    until(lambda: sum(row[4] for row in said()) == 33)
    ours = shell.json("share", "offsets", group)
    assert [(row["group"], row["topic"], row["partition"], row["offset"], row["lag"]) for row in ours] == said()
    listed = {row[0] for row in lines_of(java, broker, "consumer.group.ShareGroupCommand", "--list")}
    assert listed == {row["group"] for row in shell.json("share", "list")}
    shell.ok("share", "reset", group, "--topic", f"{topic}:0", "--to", "3", "--yes")
    assert said()[0][2:4] == (0, 3)
    state = lines_of(java, broker, "consumer.group.ShareGroupCommand", "--describe", "--group", group, "--state")
    assert shell.json("share", "describe", group)[0]["state"] in state[1]


def test_consumer_groups_are_as_kafkas_tool_has_them(
    shell: Shell, broker: BrokerUnderTest, java: JavaDriver, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    shell.ok("topics", "create", topic, "--partitions", "3")
    shell.ok("produce", topic, "--key-separator", ":", stdin="".join(f"{number}:x\n" for number in range(40)))
    shell.ok("groups", "reset", group, "--topic", topic, "--to", "2", "--yes")
    rows = lines_of(java, broker, "consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    header = next(row for row in rows if row[0] == "GROUP")
    said = sorted(
        tuple(row[header.index(name)] for name in ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"))
        for row in rows
        if row[0] == group
    )
    ours = shell.json("groups", "offsets", group)
    assert [tuple(str(row[name]) for name in ("topic", "partition", "offset", "end", "lag")) for row in ours] == said
    listed = {row[0] for row in lines_of(java, broker, "consumer.group.ConsumerGroupCommand", "--list")}
    assert listed == {row["group"] for row in shell.json("groups", "list")}
    lines_of(java, broker, "consumer.group.ConsumerGroupCommand", "--delete", "--group", group)
    assert shell.run("groups", "describe", group).code == 4


def test_configs_are_as_kafkas_tool_has_them(
    shell: Shell, broker: BrokerUnderTest, java: JavaDriver, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    shell.ok("topics", "create", topic, "--set", "retention.ms=123456789", "--set", "cleanup.policy=compact,delete")
    shell.ok("configs", "alter", "group", group, "--set", "share.record.lock.duration.ms=20000")
    for kind, name in (("topic", topic), ("group", group)):
        arguments = ("--describe", "--all", "--entity-type", f"{kind}s", "--entity-name", name)
        done = java.tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, *arguments)
        said = dict(re.findall(r"^  (\S+?)=(.*) sensitive=", done.out, re.MULTILINE))
        ours = shell.json("configs", "describe", kind, name, "--all")
        assert {row["name"]: row["value"] for row in ours} == said
    set_here = {row["name"] for row in shell.json("configs", "describe", "topic", topic) if row["source"] == "topic"}
    assert set_here == {"retention.ms", "cleanup.policy"}


def test_acls_are_as_kafkas_tool_has_them(
    shell: Shell, broker: BrokerUnderTest, java: JavaDriver, unique: Callable[[str], str]
) -> None:
    name, user = unique("topic"), unique("User:packer")
    words = ("--principal", user, "--resource", "topic", "--name", name, "--pattern", "prefixed")
    shell.ok("acls", "create", *words, "--operation", "read", "--operation", "describe-configs", "--host", "10.0.0.1")
    shell.ok("acls", "create", *words, "--operation", "write", "--deny")

    def said() -> set[tuple[str, ...]]:
        arguments = ("--list", "--topic", name, "--resource-pattern-type", "prefixed")
        done = java.tool("AclCommand", "--bootstrap-server", broker.bootstrap, *arguments)
        pattern = r"\(principal=(\S+), host=(\S+), operation=(\S+), permissionType=(\S+)\)"
        return {(user, host, *map(_word, rest)) for user, host, *rest in re.findall(pattern, done.out)}

    until(lambda: len(said()) == 3)
    ours = shell.json("acls", "list", "--name", name)
    assert {(row["principal"], row["host"], row["operation"], row["permission"]) for row in ours} == said()
    shell.ok("acls", "delete", "--name", name, "--yes")
    until(lambda: not said())


def _word(name: str) -> str:
    return name.lower().replace("_", "-")
