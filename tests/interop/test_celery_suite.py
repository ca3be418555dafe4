"""Celery's own integration tests, as released, on kafka-share:// and, to compare, on Redis.

docs/celery.md has the totals. Results are stored in Redis in both cases, as Celery's tests require.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench.queues.servers import redis
from devtools.ports import free_port
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.celery_suites import Outcome, run_celery

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on the PATH"),
]

TABLE: Final = {
    "test_canvas.py": (170, 2, 171),  # one more is run than on Redis, which it leaves out
    "test_tasks.py": (33, 1, 34),
    "test_inspect.py": (11, 0, 11),
    "test_dedup_chain_dispatch.py": (4, 0, 4),
    "test_loader.py": (2, 0, 2),
    "test_prefork_shutdown.py": (1, 0, 1),
    "test_serialization.py": (1, 0, 1),
    "test_worker.py": (1, 0, 1),
}
"""File -> passed and failed on shareq, passed on Redis."""
REFUSED: Final = {
    "test_chord::test_priority",
    "test_chord::test_priority_chain",
    "test_tasks::test_task_retried_priority",
}
"""The tests that fail because priorities are refused."""
QUICK: Final = ("test_dedup_chain_dispatch.py", "test_inspect.py", "test_worker.py")
"""The files about redelivery, remote control and the command; all others take a quarter of an hour."""


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    port = free_port()
    server = redis(port, tmp_path)
    server.start()
    yield port
    server.stop()


def on_shareq(broker: BrokerUnderTest, redis_port: int, folder: Path, file: str) -> Outcome:
    url = f"kafka-share://{broker.bootstrap}//"
    return run_celery(url, protocol.properties(broker.bootstrap), redis_port, folder / "shareq.xml", file)


def check(outcome: Outcome, file: str) -> None:
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
