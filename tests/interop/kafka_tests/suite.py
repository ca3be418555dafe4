"""The selection of Apache Kafka's own tests and of their libraries, fetched once by Maven.

The tests are those of 4.3.1, the newest published ones. They run with that version's libraries, except the client
tests, which run with the clients of 4.4.0.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from devtools.kafka.apache_kafka import CACHE, JARS, ROOT, why_unavailable
from devtools.kafka.build_once import folder_made_once
from tests.support.processes import finished

SOURCES: Final = ROOT / "tests" / "interop" / "java" / "kafka_tests"
TESTS_VERSION: Final = "4.3.1"
_POM: Final = ROOT / "devtools" / "kafka" / "kafka_tests.pom.xml"
_OPENED: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.nio")


class Suite(NamedTuple):
    """The tests of a class with `named` in their lower-case name and not `but`, unless `but` is empty.

    `libraries`: the version of Apache Kafka's jars that they run with.
    """

    name: str
    libraries: str
    named: str = ""
    but: str = ""

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def has(self, test: str) -> bool:
        """Return whether a test, named `Class.test` as in the results, with or without `#2`, is one of these."""
        of_class, _, name = test.lower().partition(".")
        return of_class == self.short.lower() and self.named in name and not (self.but and self.but in name)


# 4.4.0's clients give up what they hold when a connection breaks; the tests are about what brokers say to it later.
_BROKEN_CONNECTIONS: Final = "testleaderrestart"
CLASSES: Final = (
    Suite("org.apache.kafka.clients.consumer.ShareConsumerTest", "4.4.0", but=_BROKEN_CONNECTIONS),
    Suite("org.apache.kafka.clients.consumer.ShareConsumerTest", TESTS_VERSION, _BROKEN_CONNECTIONS),
    Suite("org.apache.kafka.clients.consumer.ShareConsumerRackAwareTest", "4.4.0"),
    Suite("org.apache.kafka.clients.admin.DynamicGroupConfigIntegrationTest", "4.4.0"),
    Suite("kafka.server.ShareFetchAcknowledgeRequestTest", TESTS_VERSION),
    Suite("kafka.server.ShareGroupHeartbeatRequestTest", TESTS_VERSION),
    Suite("kafka.server.ShareGroupDescribeRequestTest", TESTS_VERSION),
    Suite("outside.PlaintextAdminIntegrationTest", TESTS_VERSION, "share"),
)

INSIDE_ONLY: Final = {
    Suite("kafka.api.AuthorizerIntegrationTest", TESTS_VERSION, "share"): (
        "starts a broker in its own JVM, with a class of its own for principals"
    ),
    Suite("kafka.server.RequestQuotaTest", TESTS_VERSION, "share"): (
        "starts a broker in its own JVM, and reads its metrics there"
    ),
}
"""The reason for which a class of tests cannot be given a broker process."""


def why_not() -> str | None:
    """Return the reason why the tests cannot run here, or None."""
    if shutil.which("javac") is None:
        return "javac (17 or later) is not on the PATH"
    if shutil.which("mvn") is None and not all(_folder(one.libraries).exists() for one in CLASSES):
        return "mvn is not on the PATH and Apache Kafka's tests are not in the cache"
    return why_unavailable()


def command(libraries: str, *arguments: str) -> list[str]:
    """Return the command that starts the runner with a version of Apache Kafka's jars."""
    flags = ["-Xmx320M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+EnableDynamicAgentLoading"]
    flags += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    flags += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    return ["java", *flags, "-cp", _class_path(libraries), "outside.Runner", *arguments]


def methods(suite: Suite) -> list[str]:
    """Return the methods of the class, as the runner takes them. Raise RuntimeError if it cannot be loaded."""
    done = finished(command(suite.libraries, "list"), stdin=suite.name, timeout_s=120)
    listed = (line for line in done.stdout.splitlines() if line.startswith(f"{suite.name}#"))
    found = sorted({line for line in listed if suite.has(name_of(line))})
    if done.returncode or not found:
        raise RuntimeError(f"the tests of {suite.name} cannot be listed:\n{done.stdout}{done.stderr}")
    return found


def name_of(method: str) -> str:
    """Turn `package.Class#test(Parameter)` into `Class.test`."""
    of_class, _, rest = method.partition("#")
    return f"{of_class.rpartition('.')[2]}.{rest.partition('(')[0]}"


def _folder(libraries: str) -> Path:
    return JARS / f"kafka-tests-{libraries}-{hashlib.sha256(_POM.read_bytes()).hexdigest()[:12]}"


def _class_path(libraries: str) -> str:
    """Return the class path; last a singleton that 4.4.0 lacks but a clean-up of the tests uses."""
    last = f"{_jars(TESTS_VERSION).removesuffix('*')}kafka_2.13-{TESTS_VERSION}.jar"
    return f"{_compiled(libraries)}:{_jars(libraries)}:{last}"


def _jars(libraries: str) -> str:
    def fetch(folder: Path) -> None:
        command = ["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={folder}", f"-Dkafka.version={libraries}"]
        done = finished(command, timeout_s=480)
        if done.returncode:
            raise RuntimeError(f"Maven could not fetch Apache Kafka's tests:\n{done.stdout}{done.stderr}")

    return f"{folder_made_once(_folder(libraries), fetch)}/*"


def _compiled(libraries: str) -> Path:
    """Return the folder of the runner's classes, compiled again if a source has changed."""
    sources = sorted(SOURCES.rglob("*.java"))
    digest = hashlib.sha256(libraries.encode() + b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]

    def compile_into(folder: Path) -> None:
        flags = ["-Xlint:all", "-Xlint:-classfile", "-Xlint:-path", "-Xlint:-processing", "-proc:none"]
        command = ["javac", *flags, "-d", str(folder), "-cp", _jars(libraries), *map(str, sources)]
        subprocess.run(command, check=True)

    return folder_made_once(CACHE / "interop-driver" / f"kafka-tests-{digest}", compile_into)
