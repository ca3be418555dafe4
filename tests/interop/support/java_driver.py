"""Apache Kafka's own share consumer and command-line tools, in one Java process that a test drives."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from devtools.kafka.apache_kafka import CACHE, class_path, quick_java, why_unavailable
from devtools.kafka.build_once import folder_made_once
from tests.interop.support.json_process import JsonProcess, ProgramError
from tests.interop.support.protocol import tool_arguments

SOURCE = Path(__file__).resolve().parents[1] / "java" / "src" / "Driver.java"


class JavaError(ProgramError):
    """An exception in Java: its class name and message."""


class Delivered(NamedTuple):
    partition: int
    offset: int
    delivery_count: int
    value: str


class ToolResult(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def output(self) -> str:
        return self.out + self.err


def why_no_java() -> str | None:
    """Return the reason why the driver cannot be compiled and run, or None."""
    if shutil.which("javac") is None:
        return "javac (17 or later) is not on the PATH"
    return why_unavailable()


def compiled(source: Path) -> Path:
    """Return the folder with a driver's classes, compiled again if the source has changed."""
    folder = CACHE / "interop-driver" / hashlib.sha256(source.read_bytes()).hexdigest()[:12]

    def compile_into(fresh: Path) -> None:
        command = ["javac", "-Xlint:all", "-Xlint:-classfile", "-Xlint:-path", "-d", str(fresh), "-cp", class_path()]
        subprocess.run([*command, str(source)], check=True)

    return folder_made_once(folder, compile_into)


class JavaProcess(JsonProcess):
    error = JavaError

    def __init__(self, source: Path, timeout_s: float = 90) -> None:
        command = [*quick_java(), "-XX:+UseSerialGC"]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]  # but what the tools themselves log is their output
        command += [f"-Dorg.slf4j.simpleLogger.log.{name}=error" for name in ("org.apache.kafka.tools", "kafka.admin")]
        command += ["-cp", f"{class_path()}:{compiled(source)}", source.stem]
        super().__init__(command, timeout_s)


class JavaDriver(JavaProcess):
    def __init__(self, timeout_s: float = 90) -> None:
        super().__init__(SOURCE, timeout_s)
        self._open: set[str] = set()

    @property
    def is_as_new(self) -> bool:
        """True while the process runs and has no open share consumer."""
        return self._process.poll() is None and not self._open

    def tool(self, main_class: str, *arguments: str) -> ToolResult:
        """Run a command-line tool by its main class, without the prefix `org.apache.kafka.tools.`."""
        name = main_class if main_class.startswith("kafka.") else f"org.apache.kafka.tools.{main_class}"
        answer = self.call("tool", main=name, args=tool_arguments(arguments))
        return ToolResult(answer["code"], answer["out"], answer["err"])

    def consumer(self, bootstrap: str, group: str, topic: str, **settings: object) -> JavaShareConsumer:
        config = {"bootstrap.servers": bootstrap, "group.id": group, "reconnect.backoff.max.ms": 250}
        config |= {name.replace("_", "."): str(value) for name, value in settings.items()}
        consumer = JavaShareConsumer(self, uuid.uuid4().hex)
        self._open.add(consumer.name)
        self.call("open", name=consumer.name, config=config, topics=[topic])
        return consumer

    def close_consumer(self, name: str) -> None:
        """Close a share consumer."""
        self.call("close", name=name)
        self._open.discard(name)


@dataclass(frozen=True, slots=True)
class JavaShareConsumer:
    driver: JavaDriver
    name: str

    def poll(self, ms: int = 500) -> list[Delivered]:
        return [Delivered(*row) for row in self.driver.call("poll", name=self.name, ms=ms)["records"]]

    def acknowledge(self, acks: Iterable[tuple[int, int, str]]) -> None:
        """Queue (partition, offset, ACCEPT | RELEASE | REJECT | RENEW) for the next poll or commit."""
        self.driver.call("acknowledge", name=self.name, acks=list(acks))

    def commit_sync(self) -> Mapping[int, str | None]:
        """Commit, and return the error class, or None, of each partition involved."""
        partitions = self.driver.call("commitSync", name=self.name)["partitions"]
        return {int(partition): error for partition, error in partitions.items()}

    def callbacks(self) -> list[tuple[int, int, str | None]]:
        """Return (partition, offset, error class or None) of each acknowledgement answered since the last call."""
        rows = self.driver.call("callbacks", name=self.name)["callbacks"]
        return [(partition, offset, error) for partition, offsets, error in rows for offset in offsets]

    def lock_timeout_ms(self) -> int | None:
        timeout: int | None = self.driver.call("lockTimeout", name=self.name)["ms"]
        return timeout

    def metrics(self, group: str) -> Mapping[str, float]:
        """Return the client's metrics of one group, by name; NaN for those without a value."""
        metrics = self.driver.call("metrics", name=self.name, group=group)["metrics"]
        return {name: float(value) for name, value in metrics.items()}

    def close(self) -> None:
        self.driver.close_consumer(self.name)


class JavaDrivers:
    """One driver for files of tests, one file after another: a JVM takes a second of CPU until it is quick.

    After a file that left a share consumer open, or whose driver ended, the next file gets another one.
    """

    def __init__(self) -> None:
        self._driver: JavaDriver | None = None

    def driver(self) -> JavaDriver:
        """Return the driver that the last file left as new, or start one."""
        if self._driver is not None and not self._driver.is_as_new:
            self.close()
        if self._driver is None:
            self._driver = JavaDriver()
        return self._driver

    def close(self) -> None:
        """End the driver, if there is one."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None
