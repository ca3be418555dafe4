"""Records with times far ahead on a real broker: they are rejected, or make way for later records."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from taskiq.api import run_receiver_task

from shareq.aio import Producer
from shareq.client.aio import again
from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from shareq.worker import Message, Worker

PATIENCE_S = 40.0
Row = tuple[bytes, list[tuple[str, bytes | None]]]
WINDOW = 100  # the least that a broker allows


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"errors.deadletterqueue.auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "LOOK_S", 0.2)


def group_config(queue: str) -> dict[str, str]:
    return {
        "share.auto.offset.reset": "earliest",
        "share.partition.max.record.locks": str(WINDOW),
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.copy.record.enable": "true",
    }


async def send(broker: Broker, topic: str, *rows: Row) -> None:
    async with Producer(broker.bootstrap) as producer:
        for value, headers in rows:
            await producer.send(topic, value, headers=headers)


async def test_what_is_behind_more_waiting_records_than_the_window_takes_goes_on(broker: Broker) -> None:
    """Each record keeps its time, key and headers; none is lost, or started early."""
    topic = "crowded"
    await asyncio.to_thread(broker.topic, topic)
    due = b"%d" % round((time.time() + 3_600) * 1000)
    late: list[Row] = [
        (b"late %d" % at, [("shareq.not.before.ms", due), ("trace", b"%d" % at)]) for at in range(2 * WINDOW)
    ]
    await send(broker, topic, *late, (b"now", []))
    done: list[bytes] = []
    stop = asyncio.Event()
    app = Worker(broker.bootstrap, group="crowd", group_config=group_config("dlq.crowded"))

    @app.handler(topic, concurrency=4)
    async def work(value: bytes) -> None:
        done.append(value)
        stop.set()

    async with asyncio.timeout(PATIENCE_S):
        await app.serve(stop=stop)
    assert done == [b"now"]
    records = await asyncio.to_thread(broker.records, topic)
    copies = [each for each in records if again.GROUP in each.headers]
    assert copies
    assert {each.headers["shareq.not.before.ms"] for each in copies} == {due}
    assert all(each.value == b"late " + (each.headers["trace"] or b"") for each in copies)
    counts = await asyncio.to_thread(broker.group_counts, "crowd", topic)
    assert (counts.accepted, counts.rejected) == (len(copies) + 1, 0)


async def test_a_time_that_nobody_lives_to_see_is_a_dead_letter(broker: Broker) -> None:
    topic = "far"
    await asyncio.to_thread(broker.topic, topic)
    far: list[tuple[str, bytes | None]] = [("shareq.not.before.ms", b"999999999999999")]
    await send(broker, topic, *[(b"far", far)] * (2 * WINDOW), (b"now", []))
    stop = asyncio.Event()
    app = Worker(broker.bootstrap, group="far", group_config=group_config("dlq.far"))

    @app.handler(topic, concurrency=4)
    async def work(value: bytes) -> None:
        stop.set()

    async with asyncio.timeout(PATIENCE_S):
        await app.serve(stop=stop)
    assert (await asyncio.to_thread(broker.group_counts, "far", topic)).rejected == 2 * WINDOW


async def test_delays_of_tasks_that_are_no_times(broker: Broker) -> None:
    app = ShareqBroker(broker.bootstrap, topic="delays", group_config=group_config("dlq.delays"))
    done: list[str] = []
    ended = asyncio.Event()

    async def work(what: str) -> None:
        done.append(what)
        if what == "last":
            ended.set()

    task: Any = app.register_task(work, "work")
    await app.startup()
    wrongs: list[Any] = [1e300, "NaN", "soon", float("inf"), 86_401, [], 10**400]
    for wrong in wrongs:
        with pytest.raises(Exception, match="task") as caught:
            await task.kicker().with_labels(delay=wrong).kiq("refused")
        assert "label delay is" in str(caught.value.__cause__)
    producer = app._producer
    assert producer is not None
    message = app.formatter.dumps(task.kicker()._prepare_message("a record"))
    delays = (b"1e300", b"inf", b"9" * 5_000, b"nan", b"-1e300", b"soon", b"", None)
    for delay in delays:
        await producer.send_and_wait("delays", message.message, headers=[("delay", delay)])
    await task.kiq("last")
    worker = asyncio.create_task(run_receiver_task(app))
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()
    worker.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await worker
    await app.shutdown()
    assert done == ["a record"] * 7 + ["last"]
    counts = await asyncio.to_thread(broker.group_counts, "delays", "delays")
    assert counts.rejected == 1


async def test_a_letter_says_what_the_worker_raised(broker: Broker) -> None:
    topic = "reasons"
    await asyncio.to_thread(broker.topic, topic)
    await send(broker, topic, (b"vase", []), (b"never", [("shareq.not.before.ms", b"999999999999999")]))
    config = group_config("dlq.reasons") | {"share.delivery.count.limit": "2"}
    app = Worker(broker.bootstrap, group="reasons", group_config=config)
    stop = asyncio.Event()

    @app.handler(topic)
    async def work(value: bytes, message: Message) -> None:
        if message.attempt == 2:
            asyncio.get_running_loop().call_later(0.3, stop.set)
        raise RuntimeError("no glue " + "!" * 1_000)

    async with asyncio.timeout(PATIENCE_S):
        await app.serve(stop=stop)
    found = await asyncio.to_thread(broker.assert_dead_lettered, "reasons", b"vase", b"never")
    letters = {each.value: each for each in found}
    assert letters[b"vase"].headers["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."
    assert letters[b"vase"].headers["__dlq.errors.shareq.error"] == b"RuntimeError: no glue " + b"!" * 478
    assert b"more than max_delay" in (letters[b"never"].headers["__dlq.errors.shareq.error"] or b"")
