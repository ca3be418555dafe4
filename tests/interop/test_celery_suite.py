"""Celery's own integration tests, as released, on kafka-share:// and beside it on Redis.

docs/celery.md has the sums of the table. Results are in Redis with both, as Celery's tests want it.
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
from tests.interop.support.celery_suites import CELERY, LEFT_OUT, PAUSED, Outcome, run_celery

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on the PATH"),
]

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "celery.md").read_text()
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
    passed, failed, on_redis = (sum(column) for column in zip(*TABLE.values(), strict=True))
    assert f"| Celery's integration tests, {CELERY} | {passed} | {failed} | {on_redis} | {len(LEFT_OUT)} |" in PAGE
    assert [name for name in PAUSED if f"`{name}`" not in PAGE] == []
