"""The guarantees of docs/celery.md for Celery workers on kafka-share://, for any kind of broker.

A test module subclasses these scenarios and has two fixtures: `cluster`, and `kill_broker`, which kills the broker and
starts it again.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from shareq.testing.helpers import Helpers
from tests.support.worlds.celery_workers import PATIENCE_S, CeleryWorkers

WINDOW_BY_DEFAULT: Final = 200
BROKER_SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.partition.max.record.locks": str(WINDOW_BY_DEFAULT),  # a small one is full after few tasks
}


class CeleryScenarios:
    @pytest.fixture
    def celery(self, cluster: Helpers, tmp_path: Path) -> Iterator[Callable[..., CeleryWorkers]]:
        made: list[CeleryWorkers] = []

        def make(**group_config: str) -> CeleryWorkers:
            configs = {name.replace("_", "."): value for name, value in group_config.items()}
            made.append(CeleryWorkers(cluster.bootstrap, tmp_path, configs, cluster.client_properties))
            return made[-1]

        yield make
        for each in made:
            each.stop()

    def test_tasks_results_countdowns_retries_and_remote_control(self, celery: Callable[..., CeleryWorkers]) -> None:
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
            receiver = running.app.events.Receiver(
                connection, handlers={"*": lambda event: events.append(event["type"])}
            )
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
    def test_other_pools(self, celery: Callable[..., CeleryWorkers], pool: str) -> None:
        running = celery()
        running.start("-P", pool, "-c", "2")
        assert [running.send("add", n, n).get(timeout=PATIENCE_S) for n in range(3)] == [0, 2, 4]

    def test_a_slow_task_and_tasks_with_a_countdown_stop_nothing(self, celery: Callable[..., CeleryWorkers]) -> None:
        """Other tasks keep running: the transport asks for a wider window than the default.

        A share partition delivers `share.partition.max.record.locks` records from the oldest unfinished one on
        (KIP-932).
        """
        running = celery()
        running.start()
        running.start("-P", "solo")
        running.send("work", "slow", 600)
        running.until(lambda: running.seen == ["begin slow"])
        try:
            for number in range(WINDOW_BY_DEFAULT + 10):
                running.send("add", number, 0, ignore_result=True, countdown=3600 if number % 2 else None)
            running.send("work", "last", 0)
            running.until(lambda: "end last" in running.seen)
            assert "end slow" not in running.seen
        finally:
            running.kill()

    def test_what_a_killed_worker_had_is_done_by_another(self, celery: Callable[..., CeleryWorkers]) -> None:
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

    def test_a_task_that_takes_longer_than_a_lock_is_done_once(self, celery: Callable[..., CeleryWorkers]) -> None:
        running = celery(share_record_lock_duration_ms="1000")
        running.start()
        running.start()
        running.send("work", "long", 4)
        running.until(lambda: "end long" in running.seen)
        running.send("work", "next", 0)
        running.until(lambda: "end next" in running.seen)
        assert running.seen == ["begin long", "end long", "begin next", "end next"]

    def test_a_task_that_waits_for_its_eta_keeps_its_lock_and_is_received_once(
        self, celery: Callable[..., CeleryWorkers]
    ) -> None:
        """The lock is renewed while the task waits in its worker, so the other worker does not receive it."""
        running = celery(share_record_lock_duration_ms="1000")
        running.start()
        running.start()
        running.send("work", "first", 0)
        running.until(lambda: "end first" in running.seen)  # a new group's first tasks may take longer than the delay
        began = time.monotonic()
        running.send("work", "later", 0, countdown=4)
        running.send("work", "meanwhile", 0)
        running.until(lambda: "end later" in running.seen)
        assert time.monotonic() - began >= 4
        done = [f"{word} {name}" for name in ("first", "meanwhile", "later") for word in ("begin", "end")]
        assert running.seen == done
        assert running.log.count(" received") == 3, running.log

    def test_tasks_are_requeued_and_rejected(self, celery: Callable[..., CeleryWorkers]) -> None:
        running = celery()
        running.start()
        running.send("rejects", True)
        running.until(lambda: running.seen == ["rejects False", "rejects True"])
        running.send("rejects", False)
        running.send("work", "last", 0)
        running.until(lambda: "end last" in running.seen)
        assert running.seen.count("rejects False") == 2
        assert running.seen.count("rejects True") == 1

    def test_a_broker_that_is_killed_is_waited_for(
        self, celery: Callable[..., CeleryWorkers], kill_broker: Callable[[], object]
    ) -> None:
        running = celery()
        running.start()
        assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
        running.send("work", "at work", 4)
        running.until(lambda: running.seen == ["begin at work"])
        kill_broker()
        results = [running.send("add", n, n) for n in range(3)]
        assert [result.get(timeout=PATIENCE_S) for result in results] == [0, 2, 4]
