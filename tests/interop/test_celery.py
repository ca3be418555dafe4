"""Celery's workers on kafka-share://, on a broker of either kind: what docs/celery.md says of both."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.worlds.celery_workers import PATIENCE_S, CeleryWorkers

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
MORE_THAN_THE_WINDOW_BY_DEFAULT = 2_100


@pytest.fixture
def celery(broker: BrokerUnderTest, tmp_path: Path) -> Iterator[Callable[..., CeleryWorkers]]:
    made: list[CeleryWorkers] = []

    def make(**group_config: str) -> CeleryWorkers:
        configs = {name.replace("_", "."): value for name, value in group_config.items()}
        made.append(CeleryWorkers(broker.bootstrap, tmp_path, configs, protocol.properties(broker.bootstrap)))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_tasks_countdowns_retries_and_remote_control(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    running.start("-c", "2")
    assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
    began = time.monotonic()
    assert running.send("add", 3, 4, countdown=1).get(timeout=PATIENCE_S) == 7
    assert time.monotonic() - began >= 1
    assert running.send("fails_twice").get(timeout=PATIENCE_S) == 2
    pong = running.app.control.broadcast("ping", reply=True, timeout=PATIENCE_S, limit=1)
    assert pong == [{f"w0@{running.name}": {"ok": "pong"}}]


def test_a_slow_task_and_tasks_with_a_countdown_stop_nothing(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    running.start()
    running.start("-P", "solo")
    running.send("work", "slow", 600)
    running.until(lambda: running.seen == ["begin slow"])
    try:
        for number in range(MORE_THAN_THE_WINDOW_BY_DEFAULT):
            running.send("add", number, 0, ignore_result=True, countdown=3600 if number % 2 else None)
        running.send("work", "last", 0)
        running.until(lambda: "end last" in running.seen)
        assert "end slow" not in running.seen
    finally:
        running.kill()


def test_a_task_that_takes_longer_than_a_lock_is_done_once(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery(share_record_lock_duration_ms="1000")
    running.start()
    running.start()
    running.send("work", "long", 4)
    running.until(lambda: "end long" in running.seen)
    running.send("work", "next", 0)
    running.until(lambda: "end next" in running.seen)
    assert running.seen == ["begin long", "end long", "begin next", "end next"]


def test_what_a_killed_worker_had_is_done_by_another(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    first = running.start()
    running.send("work", "first", 3)
    running.until(lambda: "begin first" in running.seen)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    running.start()
    running.until(lambda: "end first" in running.seen)
    assert running.seen == ["begin first", "begin first", "end first"]


def test_tasks_are_requeued_and_rejected(celery: Callable[..., CeleryWorkers]) -> None:
    running = celery()
    running.start()
    running.send("rejects", True)
    running.until(lambda: running.seen == ["rejects False", "rejects True"])
    running.send("rejects", False)
    running.send("work", "last", 0)
    running.until(lambda: "end last" in running.seen)
    assert running.seen.count("rejects False") == 2
    assert running.seen.count("rejects True") == 1
