"""Celery over share groups: workers in processes of their own at a real broker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shareq.testing import Broker
from tests.support.worlds.celery_workers import PATIENCE_S, CeleryWorkers


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {
        "group.share.min.record.lock.duration.ms": "1000",
        "errors.deadletterqueue.auto.create.topics.enable": "true",
    }
    with Broker(config=config) as running:
        yield running


@pytest.fixture
def celery(broker: Broker, tmp_path: Path) -> Iterator[Callable[..., CeleryWorkers]]:
    made: list[CeleryWorkers] = []

    def make(**group_config: str) -> CeleryWorkers:
        made.append(
            CeleryWorkers(broker.bootstrap, tmp_path, {k.replace("_", "."): v for k, v in group_config.items()})
        )
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_tasks_results_countdowns_retries_and_remote_control(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    running.start("-c", "2", "-E")
    assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
    began = time.monotonic()
    assert running.send("add", 3, 4, countdown=1).get(timeout=PATIENCE_S) == 7
    assert time.monotonic() - began >= 1
    assert running.send("fails_twice").get(timeout=PATIENCE_S) == 2
    assert running.seen == ["try 0", "try 1", "try 2"]
    node = f"w0@{running.name}"
    pong = running.app.control.broadcast("ping", reply=True, timeout=PATIENCE_S, limit=1)
    assert pong == [{node: {"ok": "pong"}}]
    running.send("work", "slow", 2)
    running.until(lambda: "begin slow" in running.seen)
    active = running.app.control.inspect(timeout=PATIENCE_S, limit=1).active()
    assert [task["name"] for task in active[node]] == ["tasks.work"]
    events: list[str] = []
    with running.app.connection_for_read() as connection:
        receiver = running.app.events.Receiver(connection, handlers={"*": lambda event: events.append(event["type"])})
        deadline = time.monotonic() + PATIENCE_S
        for _ in receiver.itercapture(limit=None, timeout=PATIENCE_S):
            if len(events) == 1:  # it listens
                running.send("add", 1, 1)
            if "task-succeeded" in events:
                break
            assert time.monotonic() < deadline, events
    running.app.control.broadcast("shutdown")
    assert running.workers[0].wait(PATIENCE_S) == 0


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_other_pools(celery: Callable[..., CeleryWorkers], pool: str) -> None:
    running = celery()
    running.start("-P", pool, "-c", "2")
    assert [running.send("add", n, n).get(timeout=PATIENCE_S) for n in range(3)] == [0, 2, 4]


def test_one_slow_task_delays_nobody(celery: Callable[..., CeleryWorkers]) -> None:
    """One partition, two workers: with positions, what comes after the slow task would wait or be lost with it."""
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


def test_a_slow_task_and_tasks_with_a_countdown_stop_nothing(celery: Callable[..., CeleryWorkers]) -> None:
    """KIP-932: a share partition hands out `share.partition.max.record.locks` records from the oldest unfinished one
    on, 2,000 by default. The transport asks for a wider window."""
    running = celery()
    running.start()
    running.start("-P", "solo")
    running.send("work", "slow", 600)
    running.until(lambda: running.seen == ["begin slow"])
    try:
        for number in range(2_100):
            running.send("add", number, 0, ignore_result=True, countdown=3600 if number % 2 else None)
        running.send("work", "last", 0)
        running.until(lambda: "end last" in running.seen)
        assert "end slow" not in running.seen
    finally:
        running.kill()


def test_what_a_killed_worker_had_is_done_by_another(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    first = running.start()
    running.send("work", "first", 3)
    running.until(lambda: "begin first" in running.seen)
    killed_at = time.monotonic()
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    running.start()
    running.until(lambda: "end first" in running.seen)
    assert time.monotonic() - killed_at < 29, "its lock would have lasted 30 s"
    assert running.seen == ["begin first", "begin first", "end first"]


def test_a_task_that_takes_longer_than_a_lock_is_done_once(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery(share_record_lock_duration_ms="1000")
    running.start()
    running.start()
    running.send("work", "long", 4)
    running.until(lambda: "end long" in running.seen)
    running.send("work", "next", 0)
    running.until(lambda: "end next" in running.seen)
    assert running.seen == ["begin long", "end long", "begin next", "end next"]


def test_tasks_reject_with_and_without_requeue(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery(errors_deadletterqueue_topic_name="dlq.rejected", errors_deadletterqueue_copy_record_enable="true")
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


def test_priorities_are_refused_where_a_task_is_sent(celery: Callable[..., CeleryWorkers]) -> None:
    with pytest.raises(NotImplementedError, match="a log has no priorities"):
        celery().send("add", 1, 2, priority=3)


def test_a_broker_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    with Broker() as broker:
        running = CeleryWorkers(broker.bootstrap, tmp_path, {})
        try:
            running.start()
            assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
            running.send("work", "at work", 4)
            running.until(lambda: running.seen == ["begin at work"])
            broker.kill()
            broker.start()
            results = [running.send("add", n, n) for n in range(3)]
            assert [result.get(timeout=PATIENCE_S) for result in results] == [0, 2, 4]
            assert "begin at work" in running.seen
        finally:
            running.stop()
