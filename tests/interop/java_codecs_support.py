"""A runner of `java/CodecJudge.java` with Apache Kafka's jars, and a reader of their schemas."""

from __future__ import annotations

import shutil
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.kafka.apache_kafka import KAFKA_VERSION, broker_class_path, jars_of, why_unavailable
from tests.support.kafka.random_messages import KnownMessage
from tests.support.processes import finished

JUDGE = Path(__file__).with_name("java") / "CodecJudge.java"
SCHEMA_JARS = ("kafka-clients", "kafka-group-coordinator", "kafka-share-coordinator", "kafka-transaction-coordinator")
_RECORD_PACKAGES = {
    "ShareSnapshot": "org.apache.kafka.coordinator.share.generated",
    "ShareUpdate": "org.apache.kafka.coordinator.share.generated",
    "TransactionLog": "org.apache.kafka.coordinator.transaction.generated",
}


def why_no_judge() -> str | None:
    """Return the reason why Kafka's classes cannot be used, or None."""
    if shutil.which("javac") is None:
        return "javac (a JDK, 17 or later) is not on the PATH"
    return why_unavailable()


@dataclass(frozen=True)
class Case:
    message: KnownMessage
    version: int
    data: bytes


def java_class(message: KnownMessage) -> str:
    if message.kind.value in ("request", "response", "header"):
        return f"org.apache.kafka.common.message.{message.name}Data"
    if message.kind.value == "data":
        return f"org.apache.kafka.common.message.{message.name}"
    record = message.name.removesuffix("Key").removesuffix("Value")
    package = _RECORD_PACKAGES.get(record, "org.apache.kafka.coordinator.group.generated")
    return f"{package}.{message.name}"


def rewritten_by_kafka(cases: Sequence[Case], folder: Path) -> list[bytes | str]:
    """Return each case's bytes as re-encoded by Kafka's classes, or the text of their refusal."""
    with (folder / "cases").open("wb") as out:
        for case in cases:
            name = java_class(case.message).encode()
            out.write(struct.pack(">h", len(name)) + name + struct.pack(">hi", case.version, len(case.data)))
            out.write(case.data)
    run_judge("rewrite", str(folder / "cases"), str(folder / "answers"))
    answers = list(_answers((folder / "answers").read_bytes()))
    assert len(answers) == len(cases)
    return answers


def _answers(data: bytes) -> Iterator[bytes | str]:
    pos = 0
    while pos < len(data):
        (size,) = struct.unpack_from(">i", data, pos)
        pos += 4
        refused = size < 0
        if refused:
            (size,) = struct.unpack_from(">H", data, pos)
            pos += 2
        payload = data[pos : pos + size]
        pos += size
        yield payload.decode(errors="replace") if refused else payload


def run_judge(*arguments: str) -> str:
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", broker_class_path(), str(JUDGE), *arguments]
    done = finished(command, timeout_s=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kafka_schemas() -> Iterator[tuple[str, str]]:
    broker_class_path()
    for jar in SCHEMA_JARS:
        with zipfile.ZipFile(jars_of(KAFKA_VERSION) / f"{jar}-{KAFKA_VERSION}.jar") as archive:
            for name in archive.namelist():
                if name.startswith("common/message/") and name.endswith(".json"):
                    yield name, archive.read(name).decode()
