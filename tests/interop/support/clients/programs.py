"""Clients in other languages: Java, franz-go, kafka-go, kafkajs, @platformatic/kafka. Built once into `.cache`.

`python -m tests.interop.support.clients.programs` builds them ahead of the tests, which otherwise do it themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import CACHE, why_unavailable
from devtools.kafka.build_once import folder_made_once
from devtools.kafka.class_archives import make_archives
from tests.interop.support.clients.commands import Unavailable
from tests.interop.support.java_driver import JavaProcess, why_no_java
from tests.interop.support.json_process import JsonProcess
from tests.support.processes import finished

HERE: Final = Path(__file__).parents[2]
TIMEOUT_S: Final = 60
KAFKA_GO: Final = "github.com/segmentio/kafka-go"
FRANZ_GO: Final = "github.com/twmb/franz-go"


def java() -> JsonProcess:
    """Start the Java client. Raise Unavailable if it cannot be built."""
    missing = why_no_java()
    if missing is not None:
        raise Unavailable(missing)
    return JavaProcess(HERE / "java" / "src" / "Clients.java", TIMEOUT_S)


def franz_go() -> JsonProcess:
    """Start the franz-go client. Raise Unavailable if it cannot be built."""
    return JsonProcess([str(_built(HERE / "go", _go_build) / "franz-go")], TIMEOUT_S)


def kafkajs() -> JsonProcess:
    """Start the kafkajs client. Raise Unavailable if it cannot be built."""
    return _node_program("kafkajs.js")


def platformatic() -> JsonProcess:
    """Start the @platformatic/kafka client. Raise Unavailable if it cannot be built."""
    return _node_program("platformatic.js")


def kafka_go() -> JsonProcess:
    """Start the kafka-go client. Raise Unavailable if it cannot be built."""
    return JsonProcess([str(_built(HERE / "kafka_go", _kafka_go_build) / "kafka-go")], TIMEOUT_S)


def kafka_go_suite() -> Path:
    """Return a folder with kafka-go's own tests, a program for each package that uses a broker.

    Raises Unavailable.
    """
    return _built(HERE / "kafka_go", _kafka_go_build)


def with_kafkajs() -> Path:
    """Return a folder whose `node_modules` contain kafkajs. Raises Unavailable."""
    return _built(HERE / "node", _npm_install)


def franz_go_suite() -> Path:
    """Return a folder with `kgo.test`, the program of franz-go's own tests. Raises Unavailable."""
    return _built(HERE / "go", _franz_go_suite_build, "go-suite")


def with_franz_go() -> Path:
    """Return a folder with a `go.mod` that has franz-go, fetched. Raises Unavailable."""
    return _built(HERE / "go", _go_build)


def main() -> None:
    """Build every client that can be built here, fetch Apache Kafka, and print what is missing."""
    builds = ((HERE / "go", _go_build), (HERE / "kafka_go", _kafka_go_build), (HERE / "node", _npm_install))
    for folder, build in builds:
        try:
            print(f"{folder.name}: {_built(folder, build)}")
        except (Unavailable, RuntimeError, subprocess.SubprocessError) as error:
            print(f"{folder.name}: {error}")
    if (missing := why_unavailable()) is not None:
        print(f"classes of Apache Kafka: {missing}")
    else:
        make_archives()


def _node_program(name: str) -> JsonProcess:
    return JsonProcess(["node", str(_built(HERE / "node", _npm_install) / name)], TIMEOUT_S)


def _built(source: Path, build: Callable[[Path], None], name: str = "") -> Path:
    """Return a cache folder with the sources and the output of `build`, remade when a source changes.

    `name` distinguishes several builds of the same sources.
    """
    files = sorted(path for path in source.iterdir() if path.is_file())
    digest = hashlib.sha256(b"\0".join(file.name.encode() + b"\0" + file.read_bytes() for file in files))
    folder = CACHE / f"interop-{name or source.name}" / digest.hexdigest()[:12]

    def fill(fresh: Path) -> None:
        for file in files:
            shutil.copy(file, fresh)
        build(fresh)

    return folder_made_once(folder, fill)


def _go_build(folder: Path) -> None:
    _need_go(folder, "franz-go")
    _run(["go", "build", "-mod=readonly", "-o", "franz-go", "."], folder, {"CGO_ENABLED": "0"})


def _franz_go_suite_build(folder: Path) -> None:
    _need_go(folder, "franz-go")
    command = ["go", "test", "-mod=readonly", "-c", "-o", "kgo.test", f"{FRANZ_GO}/pkg/kgo"]
    _run(command, folder, {"CGO_ENABLED": "0"})


def _kafka_go_build(folder: Path) -> None:
    _need_go(folder, "kafka-go")
    packages = [f"{KAFKA_GO}{name}" for name in ("", "/compress", "/sasl", "/topics")]
    _run(["go", "test", "-mod=readonly", "-c", "-o", f"{folder}{os.sep}", *packages], folder, {"CGO_ENABLED": "0"})
    _run(["go", "build", "-mod=readonly", "-o", "kafka-go", "."], folder, {"CGO_ENABLED": "0"})


def _need_go(folder: Path, client: str) -> None:
    found = _version_of("go", ["go", "env", "GOVERSION"])
    wanted = _go_directive(folder)
    if found < (1, 21) or (found < wanted and os.environ.get("GOTOOLCHAIN") == "local"):
        raise Unavailable(f"go {_dotted(found)} is too old: {client} needs {_dotted(wanted)}")


def _go_directive(folder: Path) -> tuple[int, ...]:
    for line in (folder / "go.mod").read_text().splitlines():
        if line.startswith("go "):
            return _numbers(line)
    raise ValueError("go.mod names no version of Go")


def _npm_install(folder: Path) -> None:
    found = _version_of("node", ["node", "--version"])
    if found < (20, 19, 4):
        raise Unavailable(f"node {_dotted(found)} is too old: @platformatic/kafka needs 20.19.4")
    _version_of("npm", ["npm", "--version"])
    _run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder, {})


def _version_of(program: str, command: Sequence[str]) -> tuple[int, ...]:
    if shutil.which(program) is None:
        raise Unavailable(f"{program} is not on the PATH")
    return _numbers(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = finished(command, cwd=folder, env={**os.environ, **environment}, timeout_s=400)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
