"""Apache Kafka's command-line tools 4.3.1 against the broker: topics, configs, groups, the console share consumer."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Callable

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from devtools.kafka.apache_kafka import class_path
from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.protocol import tool_arguments
from tests.interop.support.share_ledger import Ledger, members, run_until

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]


class Tools:
    """The tools with `--bootstrap-server` set; a failing tool fails the test with its output."""

    def __init__(self, java: JavaDriver, broker: BrokerUnderTest) -> None:
        self._java = java
        self._bootstrap = broker.bootstrap

    def run(self, tool: str, *arguments: str, code: int = 0) -> str:
        result = self._java.tool(tool, "--bootstrap-server", self._bootstrap, *arguments)
        assert result.code == code, result.output
        return result.output

    def topics(self, *arguments: str, code: int = 0) -> str:
        return self.run("TopicCommand", *arguments, code=code)

    def configs(self, *arguments: str) -> str:
        return self.run("kafka.admin.ConfigCommand", *arguments)

    def share_groups(self, *arguments: str) -> list[list[str]]:
        output = self.run("consumer.group.ShareGroupCommand", *arguments)
        assert "Error:" not in output, output
        return [line.split() for line in output.splitlines() if line.strip()]


@pytest.fixture
def tools(java: JavaDriver, broker: BrokerUnderTest) -> Tools:
    return Tools(java, broker)


def share_some(broker: BrokerUnderTest, group: str, topic: str, partitions: int, records: int) -> None:
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, partitions)
    produce(broker.bootstrap, topic, ((number % partitions, b"%d" % number) for number in range(records)))
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger) as joined:
        run_until(joined, ledger.finished_at_least(records))


def test_topics(tools: Tools, unique: Unique) -> None:
    topic = unique("topic")
    assert f"Created topic {topic}." in tools.topics(
        "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=1000000"
    )
    assert "already exists" in tools.topics("--create", "--topic", topic, code=1)
    assert topic in tools.topics("--list").split()
    described = tools.topics("--describe", "--topic", topic)
    assert "PartitionCount: 2" in described
    assert "retention.ms=1000000" in described
    assert described.count("Leader: 1") == 2 or described.count("Leader: 0") == 2
    tools.topics("--alter", "--topic", topic, "--partitions", "5")
    assert "PartitionCount: 5" in tools.topics("--describe", "--topic", topic)
    tools.topics("--delete", "--topic", topic)
    assert topic not in tools.topics("--list").split()


def test_configs_of_topics_and_groups(tools: Tools, broker: BrokerUnderTest, unique: Unique) -> None:
    broker.require(ApiKey.LIST_GROUPS)  # ConfigCommand looks there whether the group is one of its own kind
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic)
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    of_group = ("--entity-type", "groups", "--entity-name", group)
    assert "Completed updating config" in tools.configs("--alter", *of_topic, "--add-config", "retention.ms=2000000")
    assert "retention.ms=2000000" in tools.configs("--describe", *of_topic)
    values = "share.auto.offset.reset=earliest,share.record.lock.duration.ms=20000"
    assert "Completed updating config" in tools.configs("--alter", *of_group, "--add-config", values)
    described = tools.configs("--describe", *of_group)
    assert "share.auto.offset.reset=earliest" in described
    assert "share.record.lock.duration.ms=20000" in described
    tools.configs("--alter", *of_group, "--delete-config", "share.record.lock.duration.ms")
    assert "share.record.lock.duration.ms=20000" not in tools.configs("--describe", *of_group)
    everything = tools.configs("--describe", "--all", "--entity-type", "topics", "--entity-name", topic)
    assert "cleanup.policy=delete" in everything


def test_share_group_with_a_member(tools: Tools, broker: BrokerUnderTest, unique: Unique) -> None:
    broker.require(ApiKey.LIST_GROUPS, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS)
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, ((number % 2, b"value") for number in range(20)))
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger) as joined:
        run_until(joined, ledger.finished_at_least(20))
        assert [group, "Stable"] in tools.share_groups("--list", "--state")
        state = tools.share_groups("--describe", "--group", group, "--state")
        assert state[-1][0] == group
        assert "Stable" in state[-1]
        assert state[-1][-1] == "1"  # members
        member = tools.share_groups("--describe", "--group", group, "--members")[-1]
        assert member[0] == group
        assert member[-1] == f"{topic}:0,1"
        offsets = tools.share_groups("--describe", "--group", group)
        rows = {int(row[2]): row[3:] for row in offsets if row[:2] == [group, topic]}
        assert set(rows) == {0, 1}
        assert all(row[1] == "0" for row in rows.values()), f"lag {rows}"
    assert [group, "Empty"] in tools.share_groups("--list", "--state")
    assert group in tools.run("GroupsCommand", "--list", "--share")
    assert group not in tools.run("GroupsCommand", "--list", "--consumer")


def test_reset_and_delete_offsets_then_the_group(tools: Tools, broker: BrokerUnderTest, unique: Unique) -> None:
    """All records come again after --to-earliest, none after --to-latest; the deleted group leaves no trace."""
    broker.require(ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey.ALTER_SHARE_GROUP_OFFSETS)
    broker.require(ApiKey.DELETE_SHARE_GROUP_OFFSETS, ApiKey.DELETE_GROUPS)
    topic, group = unique("topic"), unique("group")
    share_some(broker, group, topic, 2, 20)
    tools.share_groups("--reset-offsets", "--group", group, "--all-topics", "--to-earliest", "--execute")
    rows = [row for row in tools.share_groups("--describe", "--group", group) if row[0] == group]
    assert {(row[2], row[3]) for row in rows} == {("0", "0"), ("1", "0")}
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger) as joined:
        run_until(joined, ledger.finished_at_least(20))
    assert all(counts == [1] for counts in ledger.counts.values())
    tools.share_groups("--reset-offsets", "--group", group, "--topic", f"{topic}:1", "--to-latest", "--execute")
    rows = [row for row in tools.share_groups("--describe", "--group", group) if row[0] == group]
    assert ("1", "10") in {(row[2], row[3]) for row in rows}
    assert topic in str(tools.share_groups("--delete-offsets", "--group", group, "--topic", topic))
    assert not [row for row in tools.share_groups("--describe", "--group", group) if row[:2] == [group, topic]]
    tools.share_groups("--delete", "--group", group)
    assert [group] not in tools.share_groups("--list")


def console_share_consumer(broker: BrokerUnderTest, topic: str, group: str, *arguments: str) -> list[str]:
    """Return the tool's command line for a process of its own, as users run it."""
    command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command += ["-cp", class_path(), "org.apache.kafka.tools.consumer.ConsoleShareConsumer"]
    given = ["--bootstrap-server", broker.bootstrap, "--topic", topic, "--group", group, *arguments]
    return [*command, *tool_arguments(given)]


def test_console_share_consumer(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """The consumer is its own process: first it releases all records, then it accepts all."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, ((number % 2, b"value-%d" % number) for number in range(20)))

    def consume(*arguments: str) -> list[str]:
        options = ["--max-messages", "20", "--timeout-ms", "20000", "--formatter-property", "print.delivery=true"]
        command = console_share_consumer(broker, topic, group, *options, *arguments)
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        assert "Processed a total of 20 messages" in done.stderr, done.stderr
        return sorted(done.stdout.split("\n"))

    first = consume("--release")
    assert first == sorted(["", *(f"Delivery:1\tvalue-{number}" for number in range(20))])
    second = consume()
    assert second == sorted(["", *(f"Delivery:2\tvalue-{number}" for number in range(20))])


@pytest.mark.crash
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_console_share_consumer_over_a_restart(
    broker: BrokerUnderTest, java: JavaDriver, unique: Unique, kill: bool
) -> None:
    """The tool continues by itself after the restart, and gets every record."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, 2)
    values = {f"value-{number}" for number in range(20_000)}
    produce(broker.bootstrap, topic, ((number % 2, value.encode()) for number, value in enumerate(sorted(values))))
    with subprocess.Popen(
        console_share_consumer(broker, topic, group), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as console:
        assert console.stdout is not None
        printed: queue.Queue[str] = queue.Queue()

        def read() -> None:
            for line in console.stdout or ():
                printed.put(line.strip())

        reader = threading.Thread(target=read)
        reader.start()
        try:
            got = {printed.get(timeout=30) for _ in range(1_000)}
            assert got < values
            broker.restart(kill=kill)
            late = {f"late-{number}" for number in range(1_000)}
            produce(broker.bootstrap, topic, ((number % 2, value.encode()) for number, value in enumerate(late)))
            values |= late
            while got != values:
                got.add(printed.get(timeout=60))
                assert got <= values
        finally:
            console.terminate()
            console.wait(30)
            reader.join()
