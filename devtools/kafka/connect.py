"""Kafka Connect's workers and MirrorMaker 2, of the version of Kafka's tools, as child processes.

Their jars are fetched once by Maven into `.cache` (another folder: SHAREQ_CACHE).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devtools.kafka.apache_kafka import CACHE, QUICK_JVM, TOOLS_VERSION, class_path
from devtools.kafka.build_once import folder_made_once
from devtools.ports import free_port

POM: Final = Path(__file__).with_name("connect.pom.xml")
JARS: Final = CACHE / "connect" / TOOLS_VERSION
STANDALONE: Final = "org.apache.kafka.connect.cli.ConnectStandalone"
DISTRIBUTED: Final = "org.apache.kafka.connect.cli.ConnectDistributed"
MIRROR_MAKER: Final = "org.apache.kafka.connect.mirror.MirrorMaker"
_JVM: Final = ("-Xmx256M", QUICK_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


def why_no_connect() -> str | None:
    """Return why Kafka Connect and MirrorMaker cannot run here, or None."""
    if shutil.which("java") is None:
        return "java (17 or later) is not on the PATH"
    return None if JARS.exists() or shutil.which("mvn") else f"mvn is not on the PATH and the jars are not in {JARS}"


def _jars() -> Path:
    """Return the folder of the jars; RuntimeError with Maven's output if they cannot be fetched."""

    def fetch_into(fresh: Path) -> None:
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={fresh}", f"-Dkafka.version={TOOLS_VERSION}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=480)
        if done.returncode:
            raise RuntimeError(f"Maven could not fetch Kafka Connect:\n{done.stdout}{done.stderr}")

    return folder_made_once(JARS, fetch_into)


class ConnectProcess:
    """The process of one of the programs: class `main`, with a file for each of `properties`, in a folder of its
    own.
    """

    def __init__(self, folder: Path, main: str, *properties: Mapping[str, str]) -> None:
        self.folder: Final = folder
        self._main: Final = main
        self._files: Final = [folder / f"{number}.properties" for number in range(len(properties))]
        folder.mkdir(parents=True, exist_ok=True)
        for file, values in zip(self._files, properties, strict=True):
            file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """The output since the first start."""
        return (self.folder / "output.log").read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, and do not wait."""
        java = ["java", *_JVM, "-cp", f"{class_path()}:{_jars()}/*", self._main, *map(str, self._files)]
        with (self.folder / "output.log").open("ab") as log:
            self._process = subprocess.Popen(java, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)

    def stop(self, timeout_s: float = 60) -> None:
        """Send SIGTERM, then SIGKILL if that takes too long."""
        if self._process is not None and self.is_running:
            self._process.terminate()
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Worker(ConnectProcess):
    """A worker of Kafka Connect, and its REST interface on 127.0.0.1. `connectors`: those of a standalone one."""

    def __init__(self, folder: Path, main: str, properties: Mapping[str, str], *connectors: Mapping[str, str]) -> None:
        self._port: Final = free_port()
        own = {"listeners": f"HTTP://127.0.0.1:{self._port}", "plugin.discovery": "service_load"}
        super().__init__(folder, main, {**own, **properties}, *connectors)

    def ask(self, path: str, body: object = None, method: str | None = None) -> Any:  # JSON
        """Return the answer of the REST interface; OSError if it refuses, or does not listen."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def states(self, connector: str) -> list[str]:
        """Return the states of a connector and its tasks; none while the worker knows nothing of it."""
        try:
            status = self.ask(f"/connectors/{connector}/status")
        except OSError:
            return []
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
