"""Celery with records that are no kombu messages and tasks it cannot accept: no worker ends or hangs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from shareq.testing import Broker
from tests.support.bad_records.kombu_envelopes import envelope, kombu_envelopes
from tests.support.scenarios.celery import BROKER_SETTINGS
from tests.support.worlds.celery_workers import PATIENCE_S, CeleryWorkers

PIDBOX = "celery.pidbox.exchange"
SAMPLE = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker(config={**BROKER_SETTINGS, "errors.deadletterqueue.auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture
def running(cluster: Broker, tmp_path: Path) -> Iterator[CeleryWorkers]:
    made = CeleryWorkers(
        cluster.bootstrap,
        tmp_path,
        {
            "errors.deadletterqueue.topic.name": letters_of(tmp_path),
            "errors.deadletterqueue.copy.record.enable": "true",
        },
    )
    yield made
    made.stop()


def letters_of(folder: Path) -> str:
    return f"dlq.{folder.name}"


def write(running: CeleryWorkers, topic: str, *values: bytes) -> None:
    with running.app.connection_for_write() as connection:
        for value in values:
            connection.default_channel.connection.engine.send(topic, value)


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_good_tasks_behind_bad_records_are_done(running: CeleryWorkers, pool: str) -> None:
    running.start("-P", pool, "-E")
    assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
    bad = list(kombu_envelopes(Random(1), SAMPLE))
    write(running, PIDBOX, *bad[:100], b"[" * 100_000, json.dumps({**envelope("x"), "headers": 5}).encode())
    write(running, running.name, *bad)
    results = [running.send("add", n, n) for n in range(5)]
    assert [result.get(timeout=PATIENCE_S) for result in results] == [0, 2, 4, 6, 8]
    assert running.workers[0].poll() is None
    pong = running.app.control.broadcast("ping", reply=True, timeout=PATIENCE_S, limit=1)
    assert pong == [{f"w0@{running.name}": {"ok": "pong"}}]
    assert running.log.count("rejected") > SAMPLE // 2
    assert f"{PIDBOX}-0@" in running.log


def test_a_rejected_record_is_a_dead_letter_and_its_place_is_logged(running: CeleryWorkers) -> None:
    running.start()
    assert running.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
    far = envelope("tasks.add")
    far["headers"]["eta"] = "9999-12-31T23:59:59"
    write(running, running.name, json.dumps({**envelope("tasks.add"), "headers": 5}).encode(), json.dumps(far).encode())
    running.until(lambda: running.log.count(": rejected") == 2)
    assert f"{running.name}-0@1: headers must be an object: rejected" in running.log
    assert f"{running.name}-0@2: eta is 9999-12-31 23:59:59+00:00: more than max_delay (86400 s) ahead" in running.log
    with running.app.connection_for_read() as connection:
        channel, letters = connection.default_channel, letters_of(running.folder)
        running.until(lambda: channel._has_queue(letters) and channel._size(letters) == 2)


def test_a_task_due_after_max_delay_is_refused_where_it_is_sent(running: CeleryWorkers) -> None:
    with pytest.raises(Exception, match="max_delay of transport_options allows 86400 s from now"):
        running.send("add", 1, 2, countdown=86_460)


def test_tasks_that_wait_for_their_eta_take_half_of_the_window_at_most(cluster: Broker, tmp_path: Path) -> None:
    """130 wait in a window of 100: the tasks after them are done, and each waiting one exists once."""
    waiting = CeleryWorkers(cluster.bootstrap, tmp_path, {"share.partition.max.record.locks": "100"})
    try:
        waiting.start()
        assert waiting.send("add", 1, 2).get(timeout=PATIENCE_S) == 3
        for number in range(130):
            waiting.send("work", f"late{number}", 0, countdown=3600)
        results = [waiting.send("add", n, n) for n in range(5)]
        assert [result.get(timeout=PATIENCE_S) for result in results] == [0, 2, 4, 6, 8]
        waiting.until(lambda: len(scheduled(waiting)) > 0)
        assert not waiting.seen
        with waiting.app.connection_for_read() as connection:
            assert connection.default_channel._size(waiting.name) < 200
    finally:
        waiting.stop()


def scheduled(running: CeleryWorkers) -> list[str]:
    found = running.app.control.inspect(timeout=PATIENCE_S, limit=1).scheduled()
    names = [task["request"]["args"][0] for task in found[f"w0@{running.name}"]]
    assert len(names) == len(set(names))
    return names
