"""A scenario's commands on one broker, recorded as a transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from devtools.clients import admin
from devtools.kafka.apache_kafka import java_tool
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaShareConsumer, ToolResult
from tests.interop.support.protocol import tool_arguments, without_config
from tests.interop.support.transcript import Names, Step, View, command_line, tidy
from tests.support.waiting import until

# Script in Apache Kafka's bin folder -> main class, and the option for the broker's address.
SCRIPTS: Final = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "consumer.ConsoleConsumer",
    "kafka-console-share-consumer.sh": "consumer.ConsoleShareConsumer",
    "kafka-consumer-groups.sh": "consumer.group.ConsumerGroupCommand",
    "kafka-delete-records.sh": "DeleteRecordsCommand",
    "kafka-dump-log.sh": "DumpLogSegments",
    "kafka-get-offsets.sh": "GetOffsetShell",
    "kafka-groups.sh": "GroupsCommand",
    "kafka-leader-election.sh": "LeaderElectionCommand",
    "kafka-log-dirs.sh": "LogDirsCommand",
    "kafka-metadata-quorum.sh": "MetadataQuorumCommand",
    "kafka-reassign-partitions.sh": "reassign.ReassignPartitionsCommand",
    "kafka-share-consumer-perf-test.sh": "ShareConsumerPerformance",
    "kafka-share-groups.sh": "consumer.group.ShareGroupCommand",
    "kafka-topics.sh": "TopicCommand",
    "kafka-verifiable-producer.sh": "VerifiableProducer",
    "kafka-verifiable-share-consumer.sh": "VerifiableShareConsumer",
}
"""The class of each script. `kafka-verifiable-share-consumer.sh` is our own name: its class has no script."""
_WITHOUT_ADDRESS: Final = {"kafka-dump-log.sh"}


class Session:
    """A runner of tools that records their output. `folder` is for files that options name."""

    def __init__(self, broker: BrokerUnderTest, java: JavaDriver, folder: Path) -> None:
        self.broker = broker
        self.java = java
        self.steps: list[Step] = []
        self._folder = folder
        self.names = Names(
            {
                **without_config(),
                f"127.0.0.1:{broker.port}": "BROKER",
                str(folder): "FILES",
                str(broker.folder): "BROKER",
            }
        )

    # -- tools

    def run(self, script: str, *arguments: str, view: View | None = None, differs: str | None = None) -> None:
        """Run a tool and record its output. `differs` names one of `DIFFERENCES`."""
        result = self.unrecorded(script, *arguments)
        out, err = self.names.replace(result.out), self.names.replace(result.err)
        lines = tidy(out, err, result.code)
        command = self.names.replace(command_line(script, arguments))
        self.steps.append(Step(command, tuple(lines if view is None else view(lines)), differs))

    def apart(self, script: str, *arguments: str, view: View) -> None:
        """Run a tool in a process of its own and record it: the tool finishes its work in the JVM's shutdown hooks."""
        given = tool_arguments(("--bootstrap-server", self.broker.bootstrap, *arguments))
        done = java_tool(f"org.apache.kafka.tools.{SCRIPTS[script]}", *given)
        lines = tidy(self.names.replace(done.stdout), self.names.replace(done.stderr), done.returncode)
        self.steps.append(Step(command_line(script, arguments), tuple(view(lines))))

    def unrecorded(self, script: str, *arguments: str) -> ToolResult:
        address = () if script in _WITHOUT_ADDRESS else ("--bootstrap-server", self.broker.bootstrap)
        return self.java.tool(SCRIPTS[script], *address, *arguments)

    def share_groups(self, *arguments: str, view: View | None = None, differs: str | None = None) -> None:
        self.run("kafka-share-groups.sh", *arguments, view=view, differs=differs)

    def configs(self, *arguments: str, view: View | None = None, differs: str | None = None) -> None:
        self.run("kafka-configs.sh", *arguments, view=view, differs=differs)

    def write(self, script: str, arguments: Sequence[str], lines: Sequence[str], differs: str | None = None) -> None:
        self.steps.append(Step(command_line(script, arguments), tuple(lines), differs))

    def file(self, name: str, text: str) -> str:
        path = self._folder / name
        path.write_text(text)
        return str(path)

    # -- what the tools find

    def topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic; its id is shown as `<id of NAME>`."""
        admin.create_topic(self.broker.bootstrap, name, partitions, **configs)
        describe = ("kafka-topics.sh", "--describe", "--topic", name)
        until(lambda: "TopicId: " in self.unrecorded(*describe).out)  # Apache Kafka's brokers learn of it later
        self.names.fixed[self.unrecorded(*describe).out.split("TopicId: ")[1].split()[0]] = f"<id of {name}>"

    def produce(self, topic: str, values: Iterable[tuple[int, bytes]], *, time_ms: int = 0) -> None:
        """Write (partition, value) records, one batch per partition. `time_ms` is their timestamp; 0: now."""
        failures: list[object] = []
        wait_for_all_ms = 60_000  # until `flush`, which waits no longer
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "linger.ms": wait_for_all_ms, **admin.QUIET})
        # librdkafka hands over one by one what it took before it knew the partitions, and may send in between.
        producer.list_topics(topic, timeout=30)
        for partition, value in values:
            producer.produce(
                topic,
                value,
                key=b"key-" + value,
                partition=partition,
                timestamp=time_ms,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert producer.flush(30) == 0
        assert not failures, failures[:3]

    def read_from_start(self, *groups: str) -> None:
        for group in groups:
            admin.read_from_start(self.broker.bootstrap, group)

    @contextmanager
    def member(self, group: str, topic: str, client_id: str, **settings: object) -> Iterator[JavaShareConsumer]:
        """Run a share consumer that leaves at the end. It is a member once it has polled."""
        config = {"client_id": client_id, "share_acknowledgement_mode": "explicit", **settings}
        consumer = self.java.consumer(self.broker.bootstrap, group, topic, **config)
        try:
            yield consumer
        finally:
            consumer.close()

    def finish(self, group: str, topic: str, records: int) -> None:
        arguments = ("--group", group, "--topic", topic, "--max-messages", str(records), "--timeout-ms", "20000")
        result = self.unrecorded("kafka-console-share-consumer.sh", *arguments)
        assert f"Processed a total of {records} messages" in result.err, result

    def until_members(self, group: str, partitions: int) -> None:
        until(lambda: sum(self.partitions_of(group)) == partitions)

    def partitions_of(self, group: str) -> list[int]:
        printed = self.unrecorded("kafka-share-groups.sh", "--describe", "--group", group, "--members").out
        return [int(line.split()[4]) for line in printed.splitlines() if line.startswith(group)]
