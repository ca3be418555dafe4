"""docs/testing.md: its code runs. Recipes: test_recipes.py; frameworks: tests/interop/test_frameworks.py."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import TestCase

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.testing import Broker, KafkaContainer
from shareq.testing.broker import child_environment
from tests.support.processes import finished
from tests.wire.test_documents import ENVIRONMENT

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
SNIPPETS: Final = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOP: Final = """
import pytest
from confluent_kafka import Producer

producers = []


@pytest.fixture(autouse=True)
def a_shop(shareq_broker):
    producers.append(Producer({"bootstrap.servers": shareq_broker.bootstrap}))


def place_order():
    producers[-1].produce("orders", "a vase")
    assert producers[-1].flush(20) == 0


"""
"""The definitions that the page's test of a shop expects from the shop."""


def snippet(begin: str) -> str:
    (found,) = [each for each in SNIPPETS if each.startswith(begin)]
    return str(found)


def pytest_of(folder: Path, *texts: str, code: int = 0) -> str:
    """Return pytest's output for tests, in default mode without a configuration."""
    for number, text in enumerate(texts):
        (folder / f"test_shown_{number}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "shareq.testing.plugin", "-p", "no:cacheprovider"]
    environment = {**child_environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # where shareq is installed, it is one
    done = finished(command, cwd=folder, env=environment, timeout_s=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def thread_broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        yield running


def test_each_snippet_is_run_here_or_with_its_framework() -> None:
    begins = ("import pytest\n", "broker.clock", "def test_orders", "from faststream", "from quix", "from unittest")
    assert [
        each for each in SNIPPETS if not each.startswith((*begins, "from shareq.testing import KafkaContainer"))
    ] == []
    assert len(SNIPPETS) == len(begins) + 1


def test_the_tests_pass(tmp_path: Path) -> None:
    shown = pytest_of(tmp_path, snippet("import pytest\n"), SHOP + snippet("def test_orders"))
    assert re.search(r"^2 passed", shown, re.MULTILINE), shown


def test_a_failure_shows_the_line_that_the_page_shows(tmp_path: Path) -> None:
    """The time, the connection's number and the client's versions are ignored."""
    ((heading, line),) = re.findall(r"^(-+ shareq broker: transcript -+)\n +\S+ (#.*)$", PAGE, re.MULTILINE)
    failing = snippet("import pytest\n").replace('["a vase"]', '["another vase"]')
    shown = pytest_of(tmp_path, failing, code=1)
    assert heading.strip("- ") in shown
    pattern = re.sub(r"\\#\d+|v\d+\\? \d+|\d+\\? bytes|\d+\\.\d+", ".+", re.escape(line))
    assert re.search(pattern, shown), (pattern, shown)


def test_time_is_moved(thread_broker: Broker) -> None:
    before = thread_broker.clock.time()
    exec(snippet("broker.clock"), {"broker": thread_broker})
    assert 31 <= thread_broker.clock.time() - before < 61


def test_a_case_of_unittest_has_a_broker_and_stops_it() -> None:
    names: dict[str, Any] = {}
    exec(snippet("from unittest"), names)
    case = names["Orders"]("setUp")
    assert isinstance(case, TestCase)
    case.setUp()
    assert case.broker.topic("t") == "t"  # type: ignore[attr-defined]
    case.doCleanups()
    with pytest.raises(RuntimeError, match="not running"):
        case.broker.pid  # type: ignore[attr-defined]  # noqa: B018


def test_a_container_is_a_broker_to_connect_to() -> None:
    connected: list[str] = []

    def connect(bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        with WireClient((host, int(port))) as client:
            create_topic(client, "t")
        connected.append(bootstrap)

    names: dict[str, Any] = {"connect": connect}
    exec(snippet("from shareq.testing import KafkaContainer"), names)
    kafka = names["kafka"]
    assert isinstance(kafka, KafkaContainer)
    assert connected == [kafka.get_bootstrap_server()]


def test_the_command_prints_the_line_that_the_page_shows() -> None:
    ((command, line),) = re.findall(r"^```sh\n(shareq serve --ephemeral)\n```\n\n```\n(.*?)\n```", PAGE, re.MULTILINE)
    broker = subprocess.Popen(
        ["sh", "-c", f"exec {command}"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert broker.stdout is not None
    printed = json.loads(broker.stdout.readline())
    broker.terminate()
    assert broker.wait(30) == 0
    broker.communicate()
    shown = json.loads(line)
    assert list(printed) == list(shown)
    assert (printed["pid"], printed["metrics"]) == (broker.pid, shown["metrics"])
