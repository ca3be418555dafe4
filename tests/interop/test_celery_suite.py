"""Celery's own integration tests, as released, on kafka-share:// and beside it on Redis.

docs/celery.md has the table, which these tests hold. Results are in Redis with both, as Celery's tests want it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench.queues.servers import redis
from devtools.ports import free_port
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.celery_suites import LEFT_OUT, PAUSED, Outcome, run_celery

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on the PATH"),
]

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "celery.md").read_text()
TABLE: Final = {
    f"{name}.py": tuple(map(int, numbers))
    for name, *numbers in re.findall(r"^\| \*(test_\w+)\* \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
}
"""File -> passed and failed on shareq, passed on Redis."""
REFUSED: Final = {
    "test_chord::test_priority",
    "test_chord::test_priority_chain",
    "test_tasks::test_task_retried_priority",
}
"""Failed: priorities."""
QUICK: Final = ("test_dedup_chain_dispatch.py", "test_inspect.py", "test_worker.py")
"""Redelivery, remote control, the command. The rest takes a quarter of an hour."""


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    """Start a Redis of the test's own, without anything in it. Return its port."""
    port = free_port()
    server = redis(port, tmp_path)
    server.start()
    yield port
    server.stop()


def on_shareq(broker: BrokerUnderTest, redis_port: int, folder: Path, file: str) -> Outcome:
    url = f"kafka-share://{broker.bootstrap}//"
    return run_celery(url, protocol.properties(broker.bootstrap), redis_port, folder / "shareq.xml", file)


def check(outcome: Outcome, file: str) -> None:
    """It is what the page says; only priorities fail."""
    assert (len(outcome.passed), len(outcome.failed)) == TABLE[file][:2], outcome.failed
    assert set(outcome.failed) <= REFUSED
    for text in outcome.failed.values():
        assert "a log has no priorities" in text


@pytest.mark.parametrize("file", QUICK)
def test_the_suite_of_celery(broker: BrokerUnderTest, redis_port: int, tmp_path: Path, file: str) -> None:
    check(on_shareq(broker, redis_port, tmp_path, file), file)


@pytest.mark.thorough
@pytest.mark.parametrize("file", sorted(TABLE.keys() - set(QUICK)))
def test_the_rest_of_it(broker: BrokerUnderTest, redis_port: int, tmp_path: Path, file: str) -> None:
    check(on_shareq(broker, redis_port, tmp_path, file), file)


@pytest.mark.thorough
@pytest.mark.parametrize("file", TABLE)
def test_the_same_on_redis(redis_port: int, tmp_path: Path, file: str) -> None:
    outcome = run_celery(f"redis://127.0.0.1:{redis_port}/0", {}, redis_port, tmp_path / "redis.xml", file)
    assert (len(outcome.passed), len(outcome.failed)) == (TABLE[file][2], 0), outcome.failed


def test_the_page_names_what_is_left_out_or_changed() -> None:
    section = PAGE.split("Celery's own integration tests")[1]
    refused = {name.partition("::")[2] for name in REFUSED}
    assert set(re.findall(r"`(test_\w+)`", section)) == {*LEFT_OUT, *PAUSED, *refused}
