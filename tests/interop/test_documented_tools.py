"""The documented uses of Apache Kafka's tools, run as written on this broker, in the order of the page."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

import tests.fixtures.data_folders.contents as old_folder
from devtools.clients.requests import create_topic, produce
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import class_path
from devtools.kafka.certificates import why_unavailable as why_no_certificates
from shareq.protocol.records.batch import build_batch
from shareq.testing import Broker
from tests.interop.support.java_driver import JavaDriver, ToolResult, why_no_java
from tests.interop.support.tool_session import SCRIPTS
from tests.support.archives import unpack
from tests.support.clients.shareq_cli import Shell
from tests.support.worlds.redrives import letter
from tests.wire.test_documents import DOCS, ENVIRONMENT, Document, serving, sh
from tests.wire.test_released_data_folders import level

pytestmark = pytest.mark.interop

TOOLS: Final = {
    **SCRIPTS,
    "kafka-acls.sh": "AclCommand",
    "kafka-console-producer.sh": "ConsoleProducer",
    "kafka-features.sh": "FeatureCommand",
}
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ADDRESS: Final = re.compile(r"\b(?:localhost|127\.0\.0\.1):9092\b")


def blocks(page: str, begin: str) -> list[str]:
    return [text for _, text in _BLOCK.findall((DOCS / page).read_text()) if text.startswith(begin)]


def commands(block: str) -> Iterator[tuple[list[str], str]]:
    """Yield each command of a block, continuation lines joined, and the output shown below it."""
    for part in re.split(r"^(?=\$ |kafka-|shareq )", block.replace("\\\n", " "), flags=re.MULTILINE):
        line, _, shown = part.partition("\n")
        if line:
            yield shlex.split(line.removeprefix("$ ")), shown


def tool(java: JavaDriver, bootstrap: str, words: list[str]) -> ToolResult:
    name, *arguments = [_ADDRESS.sub(bootstrap, word) for word in words]
    result = java.tool(TOOLS[name], *arguments)
    assert result.code == 0, f"{words}: {result.output}"
    return result


def test_quotas(java: JavaDriver) -> None:
    ((put,), (shown,)) = blocks("quotas.md", "kafka-configs.sh"), blocks("quotas.md", "$ kafka-configs.sh")
    with Broker() as broker:
        for words, _ in commands(put):
            tool(java, broker.bootstrap, words)
        ran = 0
        for words, expected in commands(shown):
            assert expected
            assert tool(java, broker.bootstrap, words).out == expected
            ran += 1
        assert ran == 2
        gone = ["kafka-configs.sh", "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "users"]
        (deletion,) = re.findall(r"`(--delete-config \w+)` in place of", (DOCS / "quotas.md").read_text())
        tool(java, broker.bootstrap, [*gone, "--entity-name", "alice", *deletion.split()])
        rows = Shell(broker.bootstrap).json("quotas", "list")
        assert {"entity": {"user": "alice"}, "limits": {"consumer_byte_rate": 2097152.0}} in rows


@pytest.mark.parametrize(
    ("page", "group"), [("redelivery.md", "packers"), ("order-by-key.md", "workers"), ("dead-letters.md", "packers")]
)
def test_properties_of_a_group(java: JavaDriver, page: str, group: str) -> None:
    with Broker() as broker:
        given: dict[str, str] = {}
        for block in blocks(page, "kafka-"):
            for words, _ in commands(block):
                tool(java, broker.bootstrap, words)
                if group in words:
                    given |= dict(pair.split("=") for pair in words[-1].split(","))
        assert given
        rows = Shell(broker.bootstrap).json("configs", "describe", "group", group)
        assert given.items() <= {row["name"]: row["value"] for row in rows}.items()


def test_letters_are_listed_and_sent_back(java: JavaDriver) -> None:
    """docs/dead-letters.md runs: the queue, the program, the redrives."""
    ((queue,), (program,), (redrives,)) = (
        blocks("dead-letters.md", "shareq topics create"),
        blocks("dead-letters.md", "from confluent_kafka"),
        blocks("dead-letters.md", "shareq dlq redrive"),
    )
    with Broker() as broker, WireClient(broker.address) as client:
        create_topic(client, "orders", 1)
        shell = Shell(broker.bootstrap)
        for words, _ in commands(queue):
            shell.ok(*words[1:])
        why = "Offset delivery count exceeded the threshold."
        died = [letter(b"%d" % n, n, topic="orders", group="packers", message=why) for n in range(100)]
        assert produce(client, "dlq.orders", bytes(build_batch(died, timestamp_ms=1))).error_code == 0
        folder = Path(broker.data_dir).parent
        (folder / "letters.py").write_text(_ADDRESS.sub(broker.bootstrap, program))
        assert "__dlq.errors.group" in sh("python letters.py", folder)
        ran = 0
        for words, _ in commands(redrives):
            shell.ok(*words[1:])
            ran += 1
        assert ran == 6
        states = {row["redrive"]: row["state"] for row in shell.json("dlq", "redrives")}
        assert (states["monday"], states["slowly"]) == ("DONE", "CANCELLED")


def test_levels_of_an_old_folder(java: JavaDriver, tmp_path: Path) -> None:
    """docs/kafka-4.4.md raises the level, and lowers it again."""
    (block,) = blocks("kafka-4.4.md", "kafka-features.sh")
    with tarfile.open(Path(old_folder.__file__).with_name("format-1-clean.tar.gz")) as packed:
        unpack(packed, tmp_path)
    with old_folder.broker_on(str(tmp_path / "data")) as broker:
        for (words, _), expected in zip(commands(block), (2, 1), strict=True):
            tool(java, broker.bootstrap, words)
            with WireClient(broker.address) as client:
                assert level(client) == expected


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
def test_a_broker_with_users(tmp_path: Path) -> None:
    """docs/security.md makes users, grants a right, and sends a record from the admin to carol."""
    document = Document("security.md", 9092, 9093)
    (tmp_path / "server.properties").write_text(document.block("listeners=PLAINTEXT://"))
    login = document.block("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256")
    (tmp_path / "admin.properties").write_text(login)
    (tmp_path / "carol.properties").write_text(
        re.sub(r"username=.*", 'username="carol" password="looking-glass";', login)
    )
    sh(document.command("(umask 077"), tmp_path)
    path = f"{scripts(tmp_path / 'bin')}:{ENVIRONMENT['PATH']}"
    # The consumer ends when it has a record, where the page's goes on.
    administration, consume = document.block("kafka-topics.sh --bootstrap-server localhost").split("kafka-console-", 1)
    consume = f"kafka-console-{consume.strip()} --max-messages 1 --timeout-ms 60000"
    with serving(document.command("shareq serve --config server.properties"), tmp_path):
        assert "User:carol" in sh(administration, tmp_path, PATH=path)
        with ThreadPoolExecutor(1) as pool:
            taken = pool.submit(sh, consume, tmp_path, PATH=path)
            while not taken.done():  # a group begins where the topic ends when it comes: the first may be too early
                sh(document.block("echo apples |"), tmp_path, PATH=path)
    assert taken.result().splitlines()[0] == "apples"


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
def test_a_broker_with_certificates(tmp_path: Path) -> None:
    """docs/security.md: alice, by certificate, gives dora a right, who logs in over TLS."""
    for missing in filter(None, (why_no_certificates(), None if shutil.which("kcat") else "kcat is missing")):
        pytest.skip(missing)
    document = Document("security.md", 9094, 9095, 9464)
    sh(document.block("openssl req -x509"), tmp_path)
    (tmp_path / "tls.properties").write_text(document.block("listeners=SECURE://"))
    (tmp_path / "alice-tls.properties").write_text(document.block("security.protocol=SSL\n"))
    (tmp_path / "dora.properties").write_text(document.block("security.protocol=SASL_SSL\n"))
    sh(document.inline("cat alice.crt"), tmp_path)
    path = f"{scripts(tmp_path / 'bin')}:{ENVIRONMENT['PATH']}"
    with serving(document.command("shareq serve --config tls.properties"), tmp_path):
        shown = sh(document.block("kcat -b localhost:"), tmp_path, PATH=path)
        assert "kafka_server_socket_server_metrics_successful_authentication_total" in shown
        check = document.command("shareq check localhost:")
        sh(f"! {check}", tmp_path, PATH=path)
        sh(document.block("kafka-configs.sh --bootstrap"), tmp_path, PATH=path)


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
def test_a_broker_with_tokens(tmp_path: Path) -> None:
    """docs/security.md uses keys and a token, made by the page's issuer."""
    document = Document("security.md", 9096)
    document.text = document.text.replace("/tmp/tokens", str(tmp_path / "tokens"))
    (tmp_path / "issuer.py").write_text(document.block("import json, pathlib, time"))
    (tmp_path / "tokens.properties").write_text(document.block("listeners=TOKENS://"))
    (tmp_path / "alice.properties").write_text(document.block("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTH"))
    sh("python issuer.py", tmp_path)
    path = f"{scripts(tmp_path / 'bin')}:{ENVIRONMENT['PATH']}"
    with serving(document.command("shareq serve --config tokens.properties"), tmp_path):
        assert "Created topic orders." in sh(document.block("export KAFKA_OPTS="), tmp_path, PATH=path)


def scripts(folder: Path) -> Path:
    """Return a folder like Apache Kafka's `bin`: a script for each tool."""
    folder.mkdir()
    for name, main_class in TOOLS.items():
        full = main_class if main_class.startswith("kafka.") else f"org.apache.kafka.tools.{main_class}"
        script = folder / name
        script.write_text(
            "#!/bin/sh\nexec java $KAFKA_OPTS -Xmx256M -XX:TieredStopAtLevel=1 "
            f"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '{class_path()}' {full} \"$@\"\n"
        )
        script.chmod(0o755)
    return folder
