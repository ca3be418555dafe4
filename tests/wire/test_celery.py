"""Celery over share groups: workers in processes of their own, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from shareq.testing import Broker
from tests.support.scenarios.celery import BROKER_SETTINGS, CeleryScenarios
from tests.support.worlds.celery_workers import PATIENCE_S, CeleryWorkers

WAIT_S: Final = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker(config={**BROKER_SETTINGS, "errors.deadletterqueue.auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture
def kill_broker(cluster: Broker) -> Callable[[], None]:
    def kill() -> None:
        cluster.kill()
        cluster.start()

    return kill


class TestCelery(CeleryScenarios):
    def test_one_slow_task_delays_nobody(self, celery: Callable[..., CeleryWorkers]) -> None:
        """There is one partition with two workers: with committed positions, later tasks would wait or be lost."""
        running = celery()
        running.start()
        running.start()
        running.send("work", "slow", 600)
        running.until(lambda: running.seen == ["begin slow"])
        quick = [f"quick{n}" for n in range(30)]
        for name in quick:
            running.send("work", name, 0)
        running.until(lambda: len(running.seen) == 61)
        done = [f"{word} {name}" for name in quick for word in ("begin", "end")]
        assert sorted(running.seen) == sorted(["begin slow", *done])
        running.kill()

    def test_the_broker_keeps_tasks_until_their_times_and_so_does_one_that_is_killed(
        self, celery: Callable[..., CeleryWorkers], kill_broker: Callable[[], None]
    ) -> None:
        """A worker of a group with delays receives `countdown`, `eta` and `retry` in time, each once."""
        running = celery(shareq_delay_enable="true")
        running.start()
        running.send("work", "first", 0)
        running.until(lambda: "end first" in running.seen)
        due = time.time() + WAIT_S
        running.send("work", "counted", 0, countdown=WAIT_S)
        running.send("work", "dated", 0, eta=datetime.fromtimestamp(due, UTC))
        running.send("work", "meanwhile", 0)
        running.until(lambda: "end meanwhile" in running.seen)
        kill_broker()
        running.until(lambda: {"end counted", "end dated"} <= set(running.seen))
        assert running.send("fails_twice").get(timeout=PATIENCE_S) == 2
        assert running.seen[-3:] == ["try 0", "try 1", "try 2"]
        received = running.received_at
        in_time = [at for at in received if at >= due - 0.001]
        assert len(in_time) == 5, running.log  # of the two with a time, and three tries
        early = len(received) - len(in_time)
        assert early in (2, 3), "the worker got one early, and kept it itself"  # `meanwhile` may come again

    def test_a_rejected_task_is_a_dead_letter(self, celery: Callable[..., CeleryWorkers]) -> None:
        running = celery(
            errors_deadletterqueue_topic_name="dlq.rejected", errors_deadletterqueue_copy_record_enable="true"
        )
        running.start()
        running.send("rejects", True)
        running.until(lambda: running.seen == ["rejects False", "rejects True"])
        running.send("rejects", False)
        running.until(lambda: len(running.seen) == 3)
        with running.app.connection_for_read() as connection:
            channel = connection.default_channel
            running.until(lambda: channel._has_queue("dlq.rejected"))  # the broker makes it
            found = None
            deadline = time.monotonic() + PATIENCE_S
            while found is None:
                found = channel.basic_get("dlq.rejected")
                assert time.monotonic() < deadline
            assert found.headers["task"] == "tasks.rejects"
            found.ack()
        assert len(running.seen) == 3

    def test_priorities_are_refused_where_a_task_is_sent(self, celery: Callable[..., CeleryWorkers]) -> None:
        with pytest.raises(NotImplementedError, match="a log has no priorities"):
            celery().send("add", 1, 2, priority=3)
