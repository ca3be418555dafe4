"""`python -m tests.campaign.delay_kills`: dated records, some released with a delay, while the broker is killed.

Exit code 1 if a record was delivered before its time, never, or again after its end was confirmed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from devtools.clients.admin import configure_group
from shareq.aio import ClientError, LockLost, Producer, ShareConsumer, ShareRecord
from shareq.protocol.names import NOT_BEFORE
from tests.campaign.node import Node
from tests.campaign.record_kills import kill_at_times, options_of, until_all_have_ended, verdict

TOPIC, GROUP = "dated", "in-time"
SETTINGS: Final = {"group.share.min.record.lock.duration.ms": "1000", "group.share.record.lock.duration.ms": "2000"}
CONFIGS: Final = {
    "share.auto.offset.reset": "earliest",
    "share.delivery.count.limit": "10",
    "shareq.delay.enable": "true",
}
CLOCK_S: Final = 0.002
"""The tolerance: a stored time passes through two clocks, each of which is rounded down to whole milliseconds."""


class Judge:
    """The judge. `due`: each record's earliest time, as sent, or as released if that was confirmed."""

    def __init__(self) -> None:
        self.due: dict[bytes, float] = {}
        self.sent: set[bytes] = set()
        self.ended: set[bytes] = set()
        self.may_have_ended: set[bytes] = set()  # accepted, perhaps with an answer that got lost
        self.broken: list[str] = []
        self.seen: Counter[str] = Counter()
        self.late_s: list[float] = []

    def came(self, value: bytes, attempt: int) -> None:
        late_s = time.time() - self.due[value]
        self.seen["deliveries"] += 1
        self.may_have_ended.discard(value)
        self.late_s.append(late_s)
        if late_s < (0 if attempt == 1 else -CLOCK_S):
            self.broken.append(f"{value!r} came {-late_s:.3f} s before its time, delivery {attempt}")
        if value in self.ended:
            self.broken.append(f"{value!r} came again after its end, delivery {attempt}")

    @property
    def left(self) -> set[bytes]:
        return self.sent - self.may_have_ended


async def produce(node: Node, judge: Judge, count: int, rng: random.Random) -> None:
    """Send the records, one in five without a time, the rest up to four seconds ahead."""
    async with Producer(f"127.0.0.1:{node.port}") as producer:
        for at in range(count):
            value = b"%d" % at
            wait_s = rng.choice((0.0, 0.3, 1.0, 2.0, 4.0))
            due_ms = round((time.time() + wait_s) * 1_000)
            judge.due[value] = due_ms / 1_000 if wait_s else 0.0
            headers = [(NOT_BEFORE, b"%d" % due_ms)] if wait_s else []
            with contextlib.suppress(ClientError):  # it may be in the log, and comes or not
                await producer.send_and_wait(TOPIC, value, headers=headers)
                judge.sent.add(value)


async def work(node: Node, judge: Judge, rng: random.Random, stop: asyncio.Event) -> None:
    """Accept records; release every third first delivery with a time."""
    consumer = ShareConsumer(f"127.0.0.1:{node.port}", GROUP, [TOPIC], acknowledgement="explicit", prefetch=20)
    async with consumer:
        while not stop.is_set():
            for record in await consumer.poll(timeout_s=0.5, max_records=10):
                value = record.value or b""
                judge.came(value, record.delivery_count)
                try:
                    await finish(judge, record, value, rng)
                except LockLost:
                    judge.seen["answers lost, or too late"] += 1


async def finish(judge: Judge, record: ShareRecord, value: bytes, rng: random.Random) -> None:
    if record.delivery_count == 1 and rng.random() < 0.33:
        delay_s, began = rng.choice((0.2, 1.0, 3.0)), time.time()
        await record.release(delay_s=delay_s)
        judge.due[value] = began + delay_s
        judge.seen["given back"] += 1
    else:
        judge.may_have_ended.add(value)
        await record.accept()
        judge.ended.add(value)


async def run(node: Node, judge: Judge, options: argparse.Namespace) -> None:
    rng, stop = random.Random(options.seed), asyncio.Event()
    await asyncio.to_thread(configure_group, f"127.0.0.1:{node.port}", GROUP, CONFIGS)
    async with Producer(f"127.0.0.1:{node.port}") as producer:
        await producer.partitions_for(TOPIC)
    workers = [asyncio.create_task(work(node, judge, random.Random(each), stop)) for each in range(options.workers)]
    producing = asyncio.create_task(produce(node, judge, options.records, rng))
    await kill_at_times(node, options.kills, rng)
    await producing
    await until_all_have_ended(judge)
    stop.set()
    await asyncio.gather(*workers)


def lateness(judge: Judge) -> str:
    late = sorted(each for each in judge.late_s if 0 <= each < 10**6)
    return f"median {late[len(late) // 2] * 1_000 if late else 0:.0f} ms late, "


def main(arguments: Sequence[str]) -> int:
    options = options_of("delay_kills", __doc__, arguments)
    return verdict(options, SETTINGS, Judge(), run, "Early or twice", lateness)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
