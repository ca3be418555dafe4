"""Apache Kafka's own tools and Java share consumer on a broker that requires a login."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.kafka.apache_kafka import class_path
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.commands import SCRAM_MODULE
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker
from tests.interop.support.java_driver import JavaDriver
from tests.support.clients.sasl import PLAIN_MODULE

pytestmark = pytest.mark.interop


def client_properties(folder: Path, user: str, mechanism: str, password: str = PASSWORD) -> Path:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    path = folder / f"{user}-{mechanism}.properties"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={module} required username="{user}" password="{password}";\n'
    )
    return path


class Tools:
    def __init__(self, java: JavaDriver, broker: BrokerUnderTest, folder: Path) -> None:
        self.java = java
        self.bootstrap = broker.bootstrap
        self.folder = folder
        self.log = broker

    def run(self, tool: str, *arguments: str, user: str = "admin", mechanism: str = "SCRAM-SHA-512") -> str:
        config = str(client_properties(self.folder, user, mechanism))
        result = self.java.tool(tool, "--bootstrap-server", self.bootstrap, "--command-config", config, *arguments)
        return result.output


@pytest.fixture(scope="module")
def tools(broker_kind: Kind, java: JavaDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    settings = {"connections.max.reauth.ms": "2000"}
    users = ["root", "admin"]
    with guarded_broker(broker_kind, plain=users[:1], scram=users[1:], super_users=users, settings=settings) as broker:
        yield Tools(java, broker, tmp_path_factory.mktemp("tools"))


@pytest.mark.parametrize(("user", "mechanism"), [("root", "PLAIN"), ("admin", "SCRAM-SHA-512")])
def test_topics(tools: Tools, user: str, mechanism: str) -> None:
    topic = f"topic-of-{user}"
    assert f"Created topic {topic}." in tools.run(
        "TopicCommand", "--create", "--topic", topic, user=user, mechanism=mechanism
    )
    assert topic in tools.run("TopicCommand", "--list", user=user, mechanism=mechanism).split()


def test_users(tools: Tools) -> None:
    """kafka-configs --entity-type users."""
    alter = ("kafka.admin.ConfigCommand", "--alter", "--entity-type", "users", "--entity-name", "erin")
    described = ("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users", "--entity-name", "erin")
    output = tools.run(*alter, "--add-config", f"SCRAM-SHA-256=[iterations=8192,password={PASSWORD}]")
    assert "Completed updating config for user erin" in output
    assert "SCRAM-SHA-256=iterations=8192" in tools.run(*described)
    assert "SCRAM-SHA-256" in tools.run("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users")
    listed = tools.run("TopicCommand", "--list", user="erin", mechanism="SCRAM-SHA-256")
    assert "topic-of" not in listed, "no ACL lets erin describe one"
    assert "failed" not in listed.lower()
    assert "Completed" in tools.run(*alter, "--delete-config", "SCRAM-SHA-256")
    assert "SCRAM-SHA-256=" not in tools.run(*described)
    refused = tools.run("TopicCommand", "--list", user="erin", mechanism="SCRAM-SHA-256")
    assert "invalid credentials with SASL mechanism SCRAM-SHA-256" in refused


def test_acls(tools: Tools) -> None:
    """kafka-acls: add, list, remove; `--consumer` and `--producer` make several at a time."""
    add = ("AclCommand", "--add", "--allow-principal", "User:frank")
    tools.run(*add, "--consumer", "--topic", "orders", "--group", "g")
    tools.run(*add, "--producer", "--topic", "pre", "--resource-pattern-type", "prefixed")
    listed = tools.run("AclCommand", "--list")
    assert "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)" in listed
    assert "ResourcePattern(resourceType=TOPIC, name=pre, patternType=PREFIXED)" in listed
    assert "principal=User:frank, host=*, operation=READ, permissionType=ALLOW" in listed
    match = ("AclCommand", "--list", "--topic", "prefix-1", "--resource-pattern-type", "match")
    assert "name=pre, patternType=PREFIXED" in tools.run(*match)
    remove = ("AclCommand", "--remove", "--force")
    tools.run(*remove, "--allow-principal", "User:frank", "--consumer", "--topic", "orders", "--group", "g")
    tools.run(*remove, "--topic", "pre", "--resource-pattern-type", "prefixed")
    assert "frank" not in tools.run("AclCommand", "--list")


def test_without_rights_tools_are_refused(tools: Tools) -> None:
    add = ("kafka.admin.ConfigCommand", "--alter", "--entity-type", "users", "--entity-name", "gina")
    tools.run(*add, "--add-config", f"SCRAM-SHA-512=[password={PASSWORD}]")
    for arguments in (
        ("AclCommand", "--list"),
        ("TopicCommand", "--create", "--topic", "ginas"),
        ("kafka.admin.ConfigCommand", "--describe", "--entity-type", "brokers", "--entity-name", "1"),
    ):
        output = tools.run(*arguments, user="gina")
        assert "AuthorizationException" in output or "Authorization failed" in output, output


def console_share_consumer(tools: Tools, topic: str, group: str) -> list[str]:
    """Return the lines that kafka-console-share-consumer prints until two records have come."""
    config = client_properties(tools.folder, "admin", "SCRAM-SHA-512")
    command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-cp", class_path()]
    command += ["org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", tools.bootstrap]
    command += ["--topic", topic, "--group", group, "--command-config", str(config), "--max-messages", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.strip())
        lines.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        return list(iter(lambda: lines.get(timeout=60), None))
    finally:
        process.kill()
        process.wait()
        reader.join()
        if process.stdout is not None:
            process.stdout.close()


def test_console_share_consumer(tools: Tools) -> None:
    """The tool re-authenticates repeatedly: the broker's sessions last two seconds."""
    from confluent_kafka import Producer

    configs = ("kafka.admin.ConfigCommand", "--alter", "--entity-type", "groups", "--entity-name", "console")
    tools.run(*configs, "--add-config", "share.auto.offset.reset=earliest")
    tools.run("TopicCommand", "--create", "--topic", "console")
    producer = Producer(
        {
            "bootstrap.servers": tools.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "root",
            "sasl.password": PASSWORD,
            "log_level": 0,
        }
    )
    for value in (b"one", b"two"):
        producer.produce("console", value)
    assert producer.flush(20) == 0
    assert [line for line in console_share_consumer(tools, "console", "console") if line in ("one", "two")] == [
        "one",
        "two",
    ]


def test_java_share_consumer_authenticates_again_while_it_works(tools: Tools) -> None:
    """KIP-368: the session lasts two seconds, the consumer longer."""
    tools.run("TopicCommand", "--create", "--topic", "long")
    consumer = tools.java.consumer(
        tools.bootstrap,
        "long",
        "long",
        **{
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM_MODULE} required username="admin" password="{PASSWORD}";',
        },
    )
    for _ in range(8):
        consumer.poll(1000)
    consumer.close()
    assert "expired" not in tools.log.log
