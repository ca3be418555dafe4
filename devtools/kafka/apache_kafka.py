"""One Apache Kafka broker (KRaft, broker and controller in one process) as a child process, and Kafka's tools.

The reference of the differential tests and of the benchmark. KAFKA_VERSION in the environment is the broker's version,
by default 4.4.0; 4.3.1 works as well. Tools and Java clients are always 4.3.1, because 4.4.0's tools were not
published. Needs Java 17 and Maven, which fetches the jars once into `.cache/jars`, a folder for each version (another
cache folder: SHAREQ_CACHE); `why_unavailable()` names what is missing.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from devtools.kafka.build_once import build_once
from devtools.ports import free_port

KAFKA_VERSION = os.environ.get("KAFKA_VERSION") or "4.4.0"
"""The version of the broker."""
TOOLS_VERSION = "4.3.1"
"""The version of the command-line tools and the Java clients."""
ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("SHAREQ_CACHE", ROOT / ".cache"))
JARS = CACHE / "jars"
POM = Path(__file__).with_name("apache_kafka.pom.xml")

# bin/kafka-server-start.sh's own flags; logging goes to standard error, warnings only.
JVM_FLAGS = (
    "-server",
    "-Xms1G",
    "-Xmx1G",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
QUICK_JVM = "-XX:TieredStopAtLevel=1"
"""The JVM flag for a quick start; it makes the JVM slower later."""
META_PROPERTIES = "meta.properties"
"""The file of a data folder that names its cluster, itself and its node."""
_FIRST_WITH_SHARE_GROUPS = (4, 1)
_API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # size, key, version, correlation id, null client id


def why_unavailable(*versions: str) -> str | None:
    """Return why Apache Kafka, in `KAFKA_VERSION` or the given versions, cannot run here, or None.

    Even if it can, the jars may still have to be fetched.
    """
    if shutil.which("java") is None:
        return "java (17 or later) is not on the PATH"
    for version in (*(versions or (KAFKA_VERSION,)), TOOLS_VERSION):
        if not _stamp(version).exists() and shutil.which("mvn") is None:
            return f"mvn is not on the PATH and the jars are not in {jars_of(version)}"
    return None


def small_jvm(least_mb: int, most_mb: int) -> tuple[str, ...]:
    """Return JVM flags for a quick start and a heap within these bounds."""
    return (
        f"-Xms{least_mb}M",
        f"-Xmx{most_mb}M",
        "-XX:+UseSerialGC",
        QUICK_JVM,
        "-Djava.awt.headless=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    )


def without_share_groups(version: str) -> tuple[str, ...]:
    """Return the options that format a release's data folder for a cluster without share groups."""
    major, minor, *_ = map(int, version.split("."))
    return ("--feature", "share.version=0") if (major, minor) >= _FIRST_WITH_SHARE_GROUPS else ()


def class_path() -> str:
    """Return the class path of tools and clients, fetched by Maven on the first call.

    RuntimeError with Maven's output.
    """
    return _class_path(TOOLS_VERSION)


def broker_class_path(version: str = KAFKA_VERSION) -> str:
    """Return the class path of the broker, and of the clients of its version."""
    return _class_path(version)


def jars_of(version: str) -> Path:
    """Return the folder with a version's jars, which exist once its class path was requested."""
    return JARS / version


def archive_of(program: Literal["broker", "tools"]) -> Path:
    """Return the file in which `class_archives` puts the classes of the broker, or of tools and clients."""
    version = KAFKA_VERSION if program == "broker" else TOOLS_VERSION
    return JARS / f"{version}-{program}.jsa"


def _mapped(program: Literal["broker", "tools"]) -> tuple[str, ...]:
    """Return the JVM flags that use an archive of classes; none if it is missing.

    A JVM silently ignores an archive that was made for another JVM.
    """
    archive = archive_of(program)
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable") if archive.exists() else ()


def quick_java() -> list[str]:
    """Return the command of a JVM for one of Kafka's tools or clients, whose class path begins with `class_path()`."""
    return ["java", "-Xmx256M", QUICK_JVM, *_mapped("tools")]


def _class_path(version: str) -> str:
    folder = jars_of(version)
    build_once(_stamp(version).exists, lambda: _fetch(version), JARS / f"{version}.lock")
    return f"{folder}/*"


def _fetch(version: str) -> None:
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DoutputDirectory={jars_of(version)}", f"-Dkafka.version={version}"]
    if version == TOOLS_VERSION:
        command.append("-Ptools")
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=480)
    if done.returncode:
        raise RuntimeError(f"Maven could not fetch Apache Kafka {version}:\n{done.stdout}{done.stderr}")
    _stamp(version).touch()


def java_tool(main_class: str, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's command-line tools by its main class."""
    return _run([*quick_java(), "-cp", class_path()], main_class, *arguments, timeout_s=timeout_s)


def _run(java: Sequence[str], main_class: str, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    command = [*java, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", main_class, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s)


def answers(port: int, timeout_s: float = 1.0, tls: ssl.SSLContext | None = None) -> bool:
    """Return whether a Kafka broker on 127.0.0.1 answers ApiVersions now, over TLS if given."""
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout_s))
            if tls is not None:
                connection = stack.enter_context(tls.wrap_socket(connection, server_hostname="127.0.0.1"))
            connection.settimeout(timeout_s)
            connection.sendall(_API_VERSIONS_V0)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def seconds_to_answer(
    process: subprocess.Popen[bytes], port: int, started: float, timeout_s: float, tls: ssl.SSLContext | None = None
) -> float | None:
    """Wait for the broker's first answer; return the seconds since `started` (`time.perf_counter`).

    None if it has ended, or does not answer in time.
    """
    while not answers(port, tls=tls):
        if process.poll() is not None or time.perf_counter() - started > timeout_s:
            return None
        time.sleep(0.005)
    return time.perf_counter() - started


def new_cluster_id() -> str:
    """Return a random id in the format of Kafka's tool."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


class FormattedFolders:
    """Data folders formatted by Kafka's tool, to copy for other brokers, which saves starting a JVM."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], dict[Path, bytes]] = {}

    def copy(self, kafka: ApacheKafka, data: Path) -> bool:
        """Create `data` as the tool would, with ids of its own; False if no matching folder is kept."""
        files = self._kept.get(_formatted_by(kafka))
        if files is None:
            return False
        for path, content in files.items():
            (data / path).parent.mkdir(parents=True, exist_ok=True)
            (data / path).write_bytes(content)
        ids = {"cluster.id": kafka.cluster_id, "directory.id": new_cluster_id()}
        lines = [line.partition("=") for line in (data / META_PROPERTIES).read_text().splitlines()]
        text = "".join(f"{key}{equals}{ids.get(key, value)}\n" for key, equals, value in lines)
        (data / META_PROPERTIES).write_text(text)
        return True

    def keep(self, kafka: ApacheKafka, data: Path) -> None:
        """Keep a folder that the tool formatted."""
        files = [path for path in data.rglob("*") if path.is_file()]
        self._kept[_formatted_by(kafka)] = {path.relative_to(data): path.read_bytes() for path in files}


def _formatted_by(kafka: ApacheKafka) -> tuple[object, ...]:
    """Return the settings that determine the files the tool writes, ids apart."""
    settings = {key: value for key, value in kafka.settings.items() if key.startswith(("unstable.", "node.id"))}
    return kafka.version, tuple(kafka.format_options), tuple(sorted(settings.items()))


@dataclass(slots=True)
class ApacheKafka:
    """A broker process over `folder`. `start` works again after `stop` or `kill`, with the same data and port.

    `format_options` are passed to the tool that formats the data folder; `cluster_id` is needed for a cluster of
    several nodes. `tls` is set if the listener at `port` uses TLS. `version`: the broker's. `formatted`: folders to
    copy from.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = JVM_FLAGS
    port: int = field(default_factory=free_port)
    format_options: Sequence[str] = ()
    cluster_id: str = field(default_factory=new_cluster_id)
    tls: ssl.SSLContext | None = None
    version: str = KAFKA_VERSION
    formatted: FormattedFolders = field(default_factory=FormattedFolders)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, timeout_s: float = 60) -> float:
        """Start and wait for the first answer; return the seconds since exec, without formatting."""
        properties = self.format()
        with (self.folder / "broker.log").open("ab") as log:
            mapped = self._mapped() if QUICK_JVM in self.jvm_flags else ()
            command = [
                "java",
                *mapped,
                *self.jvm_flags,
                "-cp",
                broker_class_path(self.version),
                "kafka.Kafka",
                str(properties),
            ]
            started = time.perf_counter()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        took = seconds_to_answer(self.process, self.port, started, timeout_s, self.tls)
        if took is None:
            self.kill()
            raise RuntimeError(f"Apache Kafka did not start:\n{self.log_tail()}")
        return took

    def stop(self, timeout_s: float = 30) -> None:
        """Send SIGTERM, then SIGKILL if that takes too long."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def log_tail(self, size: int = 4000) -> str:
        """Return the end of the process's output."""
        return (self.folder / "broker.log").read_text(errors="replace")[-size:]

    def format(self) -> Path:
        """Format the data folder if necessary; return the property file."""
        properties = self.folder / "server.properties"
        data = self.folder / "data"
        if not properties.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            values = {**self._defaults(free_port()), "log.dirs": str(data), **self.settings}
            properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
            if not self.formatted.copy(self, data):
                self._format_by_tool(properties)
                self.formatted.keep(self, data)
        return properties

    def _format_by_tool(self, properties: Path) -> None:
        # With "=", since one id in 64 begins with "-" and would be taken for an option.
        arguments = (f"--cluster-id={self.cluster_id}", "-c", str(properties), *self.format_options)
        java = ["java", "-Xmx256M", QUICK_JVM, *self._mapped(), "-cp", broker_class_path(self.version)]
        done = _run(java, "kafka.tools.StorageTool", "format", *arguments, timeout_s=60)
        if done.returncode:
            raise RuntimeError(f"kafka.tools.StorageTool format failed:\n{done.stdout}{done.stderr}")

    def _mapped(self) -> tuple[str, ...]:
        return _mapped("broker") if self.version == KAFKA_VERSION else ()

    def _defaults(self, controller_port: int) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }


def _stamp(version: str) -> Path:
    return jars_of(version) / "complete.stamp"


def unused_folder(name: str) -> Path:
    """Return a new folder for one broker in the cache folder; the caller removes it."""
    folder = CACHE / "apache-kafka" / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    folder.mkdir(parents=True)
    return folder
