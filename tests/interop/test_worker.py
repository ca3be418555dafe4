"""Workers on a broker of either kind, as docs/worker.md describes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devtools.clients.admin import create_topic
from shareq.worker import Later, Message, Reject, Retry, Worker
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
EARLIEST = {"share.auto.offset.reset": "earliest"}
MORE_THAN_THE_WINDOW_BY_DEFAULT = 2_100
WAIT_S = 60

Unique = Callable[[str], str]


def worker(broker: BrokerUnderTest, group: str, **configs: str) -> Worker:
    given = {**EARLIEST, **{name.replace("_", "."): value for name, value in configs.items()}}
    properties = protocol.properties(broker.bootstrap)
    return Worker(broker.bootstrap, group=group, group_config=given, properties=properties, stop_s=1.0)


def fill(broker: BrokerUnderTest, topic: str, *values: Any) -> None:
    create_topic(broker.bootstrap, topic)
    with worker(broker, "any").sender() as sender:
        for value in values:
            sender.send(topic, value)


async def run_until(done: asyncio.Event, *workers: Worker) -> None:
    """Let the workers work side by side until `done`, or time out."""
    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(*(each.serve(stop=done) for each in workers))


async def test_each_record_is_worked_on_once_by_one_of_two(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, done, seen = unique("topic"), asyncio.Event(), Counter[int]()
    fill(broker, topic, *range(200))
    two = [worker(broker, unique("group")) for _ in range(2)]
    for each in two:

        @each.handler(topic, concurrency=4, decode="json")
        async def handle(value: int, message: Message) -> None:
            assert message.attempt == 1
            seen[value] += 1
            if len(seen) == 200:
                done.set()

    await run_until(done, *two)
    assert seen == dict.fromkeys(range(200), 1)


async def test_what_fails_comes_again_after_a_while_and_is_given_up(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, done, seen = unique("topic"), asyncio.Event(), list[tuple[str, int]]()
    times: list[float] = []
    fill(broker, topic, "poison", "later", "hopeless", "good")
    app, another, again = worker(broker, unique("group")), worker(broker, unique("group")), asyncio.Event()

    @app.handler(topic, concurrency=4, retry=Retry(max=2, delay=0.3), decode="text")
    async def handle(value: str, message: Message) -> None:
        seen.append((value, message.attempt))
        if len(seen) == 7:
            done.set()
        if value == "poison":
            times.append(asyncio.get_running_loop().time())
            raise ValueError("of no use")
        if value == "hopeless":
            raise Reject("not for anybody")
        if value == "later" and message.attempt == 1:
            raise Later(0.2)

    @another.handler(topic, decode="text")
    async def handle_again(value: str, message: Message) -> None:
        seen.append((value, message.attempt))
        again.set()

    await run_until(done, app)
    with app.sender() as sender:
        sender.send(topic, "afterwards")
    await run_until(again, another)  # what was not given up would come before it
    assert sorted(seen) == [
        ("afterwards", 1),
        ("good", 1),
        ("hopeless", 1),
        ("later", 1),
        ("later", 2),
        ("poison", 1),
        ("poison", 2),
        ("poison", 3),
    ]
    assert times[1] - times[0] > 0.29
    assert times[2] - times[1] > 0.59


async def test_a_record_sent_with_a_delay_waits_in_its_worker_and_keeps_its_lock(
    broker: BrokerUnderTest, unique: Unique
) -> None:
    """The record's lock of one second is renewed: otherwise the other worker would get the record, too."""
    topic, done, seen = unique("topic"), asyncio.Event(), list[tuple[str, int]]()
    create_topic(broker.bootstrap, topic)
    times: list[float] = []
    two = [worker(broker, unique("group"), share_record_lock_duration_ms="1000") for _ in range(2)]
    for each in two:

        @each.handler(topic, decode="text")
        async def handle(value: str, message: Message) -> None:
            seen.append((value, message.attempt))
            times.append(time.time())
            if value == "first":  # a new group's first records may take longer than the delay
                await asyncio.to_thread(send_the_rest)
            if value == "later":
                done.set()

    with two[0].sender() as sender:

        def send_the_rest() -> None:
            sender.send(topic, "later", delay=4)
            for number in range(5):
                sender.send(topic, f"{number}")

        sender.send(topic, "first")
        await run_until(done, *two)
    assert times[-1] - times[0] >= 4
    assert (seen[0], seen[-1]) == (("first", 1), ("later", 1))
    assert sorted(seen[1:-1]) == [(f"{number}", 1) for number in range(5)]


async def test_one_slow_record_delays_nobody_though_thousands_come_after_it(
    broker: BrokerUnderTest, unique: Unique
) -> None:
    topic, done, slow = unique("topic"), asyncio.Event(), asyncio.Event()
    fill(broker, topic, "slow", *("quick" for _ in range(MORE_THAN_THE_WINDOW_BY_DEFAULT)), "last")
    app = worker(broker, unique("group"))

    @app.handler(topic, concurrency=50, decode="text")
    async def handle(value: str) -> None:
        if value == "slow":
            slow.set()
            await asyncio.sleep(600)
        elif value == "last":
            assert slow.is_set()
            done.set()

    await run_until(done, app)


async def test_a_slow_handler_keeps_its_lock(broker: BrokerUnderTest, unique: Unique) -> None:
    """The handler takes three seconds with locks of one second, and the other worker must not get the record."""
    topic, done, seen = unique("topic"), asyncio.Event(), list[int]()
    fill(broker, topic, "slow")
    two = [worker(broker, unique("group"), share_record_lock_duration_ms="1000") for _ in range(2)]
    for each in two:

        @each.handler(topic)
        async def handle(value: bytes, message: Message) -> None:
            seen.append(message.attempt)
            await asyncio.sleep(3)
            done.set()

    await run_until(done, *two)
    assert seen == [1]


async def test_what_a_killed_worker_had_comes_again(broker: BrokerUnderTest, unique: Unique, tmp_path: Path) -> None:
    topic, group, done = unique("topic"), unique("group"), asyncio.Event()
    fill(broker, topic, "a", "b")
    properties = protocol.properties(broker.bootstrap)
    (tmp_path / "jobs.py").write_text(
        "import time\nfrom shareq.worker import Worker\n"
        f"app = Worker({broker.bootstrap!r}, group={group!r}, group_config={EARLIEST!r}, properties={properties!r})\n"
        f"@app.handler({topic!r}, concurrency=2)\n"
        "def handle(value):\n    open(value.decode(), 'w').close()\n    time.sleep(3600)\n"
    )
    command = [sys.executable, "-m", "shareq", "worker", "run", "jobs:app"]
    with open(tmp_path / "log", "wb") as log:
        first = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    try:
        async with asyncio.timeout(WAIT_S):
            while not all((tmp_path / name).exists() for name in "ab"):
                await asyncio.sleep(0.05)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    seen: list[tuple[bytes, int]] = []
    app = worker(broker, group)

    @app.handler(topic)
    async def handle(value: bytes, message: Message) -> None:
        seen.append((value, message.attempt))
        if len(seen) == 2:
            done.set()

    await run_until(done, app)
    assert sorted(seen) == [(b"a", 2), (b"b", 2)]
