"""Make archives of loaded classes (JDK class data sharing), by which tests' JVMs start with half the CPU."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import KAFKA_VERSION, ApacheKafka, archive_of, class_path, quick_java, small_jvm
from devtools.kafka.build_once import build_once

_READ_S: Final = 120
_JVM: Final = small_jvm(128, 384)
_SETTINGS: Final = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}


def make_archives() -> None:
    """Make the archives of the broker, and of its tools and clients, unless they exist.

    Raises RuntimeError with the output of a JVM that fails.
    """
    broker, tools = archive_of("broker"), archive_of("tools")
    build_once(lambda: broker.exists() and tools.exists(), lambda: _make(broker, tools), broker.with_suffix(".lock"))


def _make(broker: Path, tools: Path) -> None:
    """Run a broker and a share consumer whose JVMs write their archives when they end."""
    for old in (broker, tools):  # a JVM that maps one writes none
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="shareq-archives-") as name:
        folder = Path(name)
        unfinished = folder / "broker.jsa", folder / "tools.jsa"
        kafka = ApacheKafka(folder, _SETTINGS, (*_JVM, f"-XX:ArchiveClassesAtExit={unfinished[0]}", "-Xlog:disable"))
        kafka.start()
        try:
            _consume(kafka.address, unfinished[1])
        finally:
            kafka.stop()
        for made, path in zip(unfinished, (broker, tools), strict=True):
            if not made.exists():
                raise RuntimeError(f"no {path.name} was written:\n{kafka.log_tail()}")
            moved = path.with_suffix(".new")  # on the file system of the cache
            moved.write_bytes(made.read_bytes())
            moved.rename(path)


def _consume(bootstrap: str, archive: Path) -> None:
    command = [*quick_java(), f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable", "-cp", class_path()]
    command += ["org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", bootstrap]
    command += ["--topic", "none", "--group", "archive", "--timeout-ms", "1500"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_READ_S)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    print(f"classes of Apache Kafka {KAFKA_VERSION}")
    make_archives()
