"""Nodes in processes of their own, as users start them, and clients that use them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from shareq.aio import Producer, ShareConsumer
from shareq.testing.broker import child_environment
from tests.support.waiting import until


class NodeProcess:
    def __init__(self, process: subprocess.Popen[str], folder: Path, log: Path) -> None:
        self.process = process
        self.folder = folder
        self._log = log
        self.line = ""

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def bootstrap(self) -> str:
        return self.line.split("listening on ")[1].partition(",")[0]

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        assert self.line, self.log

    def stop(self) -> tuple[int, float]:
        """Send SIGTERM; return the exit code, and how long the stop took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30), time.monotonic() - began


@contextlib.contextmanager
def node_process(tmp_path: Path, cluster: str) -> Iterator[NodeProcess]:
    with command_line(tmp_path, ["serve", "--cluster", cluster, "--listen", "127.0.0.1:0"]) as node:
        yield node


@contextlib.contextmanager
def command_line(tmp_path: Path, arguments: Sequence[str]) -> Iterator[NodeProcess]:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    log = folder.with_suffix(".log")
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "shareq", *arguments],
            cwd=folder,
            env=child_environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield NodeProcess(process, folder, log)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def produced(bootstrap: str, topic: str, *values: bytes) -> None:
    async with Producer(bootstrap) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def accepted(bootstrap: str, group: str, topic: str, count: int) -> list[bytes]:
    found: list[bytes] = []
    async with ShareConsumer(bootstrap, group, [topic], acknowledgement="explicit") as consumer:
        while len(found) < count:
            record = await consumer.getone(timeout_s=30)
            await record.accept()
            assert record.value is not None
            found.append(bytes(record.value))
        await consumer.commit()
    return found


def number(node: NodeProcess) -> int:
    return int(node.line.split(", node ")[1].partition(" ")[0])


def configure(bootstrap: str, group: str) -> None:
    shareq("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest", "-b", bootstrap)


def shareq(*arguments: str, stdin: str = "") -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "shareq", *arguments],
        env=child_environment(),
        check=True,
        timeout=60,
        input=stdin,
        stdout=subprocess.PIPE,
        text=True,
    )
    return ran.stdout


def owner_first(first: NodeProcess, second: NodeProcess) -> tuple[NodeProcess, NodeProcess]:
    """Return the node that serves all slots once both are members, then the other one."""

    def owners() -> list[NodeProcess]:
        return [node for node in (first, second) if "2 nodes, 96 slots here" in node.log]

    until(lambda: bool(owners()))
    owner = owners()[0]
    return (first, second) if owner is first else (second, first)
