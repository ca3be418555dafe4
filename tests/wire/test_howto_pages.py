"""docs/howto/: the commands of each page, run as written and in order, do what the page promises."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from devtools.ports import free_port
from shareq.ops.export.metrics import EXPORTED
from shareq.testing import Broker
from tests.support.processes import finished
from tests.support.waiting import until
from tests.wire.test_documents import DOCS, ENVIRONMENT, sh
from tests.wire.test_pages import blocks

FOLDER: Final = DOCS / "howto"
PAGES: Final = sorted(path.name for path in FOLDER.glob("*.md"))
_FILE: Final = re.compile(r"\*(\w+\.py)\*:\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Page:
    """A page in a folder of its own, whose programs and commands use this broker."""

    def __init__(self, name: str, broker: Broker, folder: Path) -> None:
        self.folder = folder
        self.environment = ENVIRONMENT | {"SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap}
        for file, text in _FILE.findall((FOLDER / name).read_text()):
            (folder / file).write_text(text.replace("127.0.0.1:9092", broker.bootstrap))
        self.commands = [
            line for language, text in blocks(f"howto/{name}") if language == "sh" for line in text.splitlines()
        ]
        self.output = folder / "output"

    def run(self, command: str) -> str:
        return sh(command, self.folder, SHAREQ_BOOTSTRAP_SERVERS=self.environment["SHAREQ_BOOTSTRAP_SERVERS"])

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        with self.output.open("w") as file:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=file, stderr=file
            )
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(60) == 0, self.output.read_text()

    def shows(self, *texts: str) -> None:
        until(lambda: all(text in self.output.read_text() for text in texts), str(texts))


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Run a broker for each page, because their topics have the same names."""
    with Broker() as running:
        yield running


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_ends_in_a_command(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert len(text.split()) <= 200
    assert re.search(r"```sh\n[^\n]+\n```\n$", text), "one command, and nothing behind it"


def test_every_page_is_run_here() -> None:
    ran = re.findall(r'"([a-z-]+\.md)"', Path(__file__).read_text())
    assert set(ran) >= set(PAGES)


def test_a_celery_worker_goes_on_after_its_broker_was_killed(broker: Broker, tmp_path: Path) -> None:
    page = Page("celery-redis-stops-consuming.md", broker, tmp_path)

    def add(a: int, b: int) -> None:
        code = f"from tasks import add; add.delay({a}, {b})"
        done = finished([sys.executable, "-c", code], cwd=tmp_path, env=page.environment, timeout_s=60)
        assert done.returncode == 0, done.stderr

    (command,) = page.commands
    with page.running(command):
        add(1, 2)
        page.shows("1 + 2 = 3")
        broker.kill()
        broker.start()
        add(3, 4)
        page.shows("3 + 4 = 7")


def test_what_no_worker_can_do_becomes_a_dead_letter(broker: Broker, tmp_path: Path) -> None:
    page = Page("kafka-dead-letter-queue-python.md", broker, tmp_path)
    *before, worker, show = page.commands
    for command in before:
        page.run(command)
    with page.running(worker):
        until(lambda: "RuntimeError: no glue" in page.run(show), "a letter")


def test_a_retry_waits_and_holds_up_nothing(broker: Broker, tmp_path: Path) -> None:
    page = Page("kafka-retry-with-backoff-python.md", broker, tmp_path)
    *before, worker = page.commands
    for command in before:
        page.run(command)
    with page.running(worker):
        page.shows("vase, attempt 3")
    printed = re.findall(r"^\w+, attempt \d$", page.output.read_text(), re.MULTILINE)
    assert printed == ["vase, attempt 1", "apples, attempt 1", "vase, attempt 2", "vase, attempt 3"]


def test_a_test_moves_time(broker: Broker, tmp_path: Path) -> None:
    page = Page("local-queue-for-tests.md", broker, tmp_path)
    (command,) = page.commands
    assert "1 passed" in page.run(command)


def test_the_console_shows_a_cluster(broker: Broker, tmp_path: Path) -> None:
    page = Page("kafka-share-groups-ui.md", broker, tmp_path)
    (command,) = page.commands
    address = f"127.0.0.1:{free_port()}"
    with page.running(f"{command.replace('127.0.0.1:9092', broker.bootstrap)} --listen {address}"):
        page.shows("http://")
        with urllib.request.urlopen(f"http://{address}/", timeout=60) as answer:
            assert b"<html" in answer.read()


def test_prometheus_gets_what_the_page_asks_for(broker: Broker, tmp_path: Path) -> None:
    page = Page("kafka-share-group-lag-prometheus.md", broker, tmp_path)
    (command,) = page.commands
    for words in ("topics create a", "share consume g --topic a -n 1 --idle 0.1"):
        page.run(f"shareq {words}")
    address = f"127.0.0.1:{free_port()}"
    with page.running(f"{command.replace('127.0.0.1:9092', broker.bootstrap)} --listen {address} --every 0.1"):
        page.shows("/metrics")

        def text() -> str:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
                content: str = answer.read().decode()
                return content

        until(lambda: 'shareq_share_group_members{group="g"}' in text(), "a sample")
        declared = re.findall(r"^# TYPE (\w+) gauge$", text(), re.MULTILINE)
    assert declared == [each.name for each in EXPORTED]
    assert set(re.findall(r"\bshareq_\w+", (FOLDER / "kafka-share-group-lag-prometheus.md").read_text())) <= set(
        declared
    )


@pytest.mark.parametrize(
    ("name", "elsewhere"),
    [
        ("parallel-consumer-alternative.md", "queues.md"),  # run by tests/wire/test_queues.py
        ("pyspark-kafka-without-a-jar.md", "start/spark.md"),  # run by tests/spark/test_start_page.py
    ],
)
def test_a_command_is_one_that_the_test_of_another_page_runs(name: str, elsewhere: str) -> None:
    (command,) = [text for language, text in blocks(f"howto/{name}") if language == "sh"]
    assert any(text.endswith(command) for language, text in blocks(elsewhere) if language == "sh")
