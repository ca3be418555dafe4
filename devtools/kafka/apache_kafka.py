"""One Apache Kafka 4.3.1 broker (KRaft, broker and controller in one process) as a child process.

The judge of the differential tests and the other column of the benchmark. Needs Java 17 and Maven, which fetches the
jars once into `.cache/jars` (another cache folder: SHAREQ_CACHE); `why_unavailable()` says what is missing.
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

from devtools.kafka.build_once import build_once

KAFKA_VERSION = "4.3.1"
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
_API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # size, key, version, correlation id, null client id


def why_unavailable() -> str | None:
    """What is missing to run Apache Kafka here, or None when nothing is (the jars may still have to be fetched)."""
    if shutil.which("java") is None:
        return "java (17 or later) is not on the PATH"
    if not _stamp().exists() and shutil.which("mvn") is None:
        return f"mvn is not on the PATH and the jars are not in {JARS}"
    return None


def class_path() -> str:
    """The class path of broker and tools, fetched by Maven on the first call. RuntimeError with Maven's output."""
    build_once(_stamp().exists, _fetch, JARS / "lock")
    return f"{JARS}/*"


def _fetch() -> None:
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command.append(f"-DoutputDirectory={JARS}")
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=480)
    if done.returncode:
        raise RuntimeError(f"Maven could not fetch Apache Kafka {KAFKA_VERSION}:\n{done.stdout}{done.stderr}")
    _stamp().touch()


def java_tool(main_class: str, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's command-line tools by its main class."""
    command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command += ["-cp", class_path(), main_class, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(port: int, timeout_s: float = 1.0, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a Kafka broker on 127.0.0.1 answers ApiVersions now, behind TLS if that is given."""
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


def new_cluster_id() -> str:
    """A random one, as Kafka's tool makes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


@dataclass(slots=True)
class ApacheKafka:
    """A broker process over `folder`. `start` may be called again after `stop` or `kill`: same data, same port.

    `format_options` are given to the tool that makes the data folder ready; `cluster_id`, for a node of several.
    `tls` where the listener at `port` has TLS.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = JVM_FLAGS
    port: int = field(default_factory=free_port)
    format_options: Sequence[str] = ()
    cluster_id: str = field(default_factory=new_cluster_id)
    tls: ssl.SSLContext | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, timeout_s: float = 60) -> float:
        """Start, wait until it answers. Seconds from exec to the first answer; formatting the disk apart."""
        properties = self.format()
        with (self.folder / "broker.log").open("ab") as log:
            command = ["java", *self.jvm_flags, "-cp", class_path(), "kafka.Kafka", str(properties)]
            started = time.perf_counter()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not answers(self.port, tls=self.tls):
            if self.process.poll() is not None or time.perf_counter() - started > timeout_s:
                self.kill()
                raise RuntimeError(f"Apache Kafka did not start:\n{self.log_tail()}")
            time.sleep(0.005)
        return time.perf_counter() - started

    def stop(self, timeout_s: float = 30) -> None:
        """SIGTERM, then SIGKILL when that takes too long."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def log_tail(self, size: int = 4000) -> str:
        """The end of what the process wrote."""
        return (self.folder / "broker.log").read_text(errors="replace")[-size:]

    def format(self) -> Path:
        """Make the data folder ready, unless it is; the property file."""
        properties = self.folder / "server.properties"
        data = self.folder / "data"
        if not properties.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            values = {**self._defaults(free_port()), "log.dirs": str(data), **self.settings}
            properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
            # With "=", since one id in 64 begins with "-" and would be taken for an option.
            arguments = (f"--cluster-id={self.cluster_id}", "-c", str(properties), *self.format_options)
            done = java_tool("kafka.tools.StorageTool", "format", *arguments)
            if done.returncode:
                raise RuntimeError(f"kafka.tools.StorageTool format failed:\n{done.stdout}{done.stderr}")
        return properties

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


def _stamp() -> Path:
    return JARS / f"broker-{KAFKA_VERSION}.stamp"


def unused_folder(name: str) -> Path:
    """A fresh folder for one broker under the cache folder; the caller removes it."""
    folder = CACHE / "apache-kafka" / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    folder.mkdir(parents=True)
    return folder
