"""`python -m tests.campaign.ttl_kills`: records that expire while they are delivered and the broker is killed.

Exit code 1 if a record was handed out after its time, has neither an end nor a letter, or came again after its end was
confirmed; or if a letter says that a record expired before it did.
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
from shareq.protocol.names import NOT_AFTER
from tests.campaign.node import Node
from tests.campaign.record_kills import kill_at_times, options_of, until_all_have_ended, verdict

TOPIC, GROUP, QUEUE = "mortal", "in-time", "dlq.mortal"
LOCK_S: Final = 2.0
TTL_S: Final = 6.0
SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(round(LOCK_S * 1_000)),
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
CONFIGS: Final = {
    "share.auto.offset.reset": "earliest",
    "share.delivery.count.limit": "10",
    "errors.deadletterqueue.topic.name": QUEUE,
    "errors.deadletterqueue.copy.record.enable": "true",
    "shareq.dlq.keep": "true",
    "shareq.ttl.ms": str(round(TTL_S * 1_000)),
    "shareq.not.after.enable": "true",
}
ANSWER_S: Final = 1.0
"""The tolerance: how long an answer may be on its way before the consumer notes when it came."""


class Judge:
    """The judge. `last`: the last time at which each record may be handed out."""

    def __init__(self) -> None:
        self.last: dict[bytes, float] = {}
        self.sent: set[bytes] = set()
        self.ended: dict[bytes, float] = {}  # with the time of the confirmation
        self.may_have_ended: set[bytes] = set()  # accepted, perhaps with an answer that got lost
        self.buried: set[bytes] = set()
        self.broken: list[str] = []
        self.seen: Counter[str] = Counter()

    def came(self, value: bytes, attempt: int, at: float) -> None:
        """Note a record that a fetch brought at the time `at`."""
        self.seen["deliveries"] += 1
        self.may_have_ended.discard(value)
        if at > self.last[value] + ANSWER_S:
            self.broken.append(f"{value!r} came {at - self.last[value]:.3f} s after its time, delivery {attempt}")
        if value in self.ended:
            self.broken.append(f"{value!r} came again after its end, delivery {attempt}")

    def letter(self, value: bytes, message: bytes, died: float) -> None:
        """Note a letter of a record that died at the time `died`."""
        self.seen["letters"] += 1
        self.buried.add(value)
        if message != b"Record expired." and message != b"Offset rejected by client.":  # a start forgets the cause
            self.broken.append(f"{value!r} has a letter that says {message!r}")
        if died < self.last[value]:
            self.broken.append(f"{value!r} was rejected {self.last[value] - died:.3f} s before its time")
        if died > self.ended.get(value, died):  # later confirmations are of what lies below the start offset
            self.broken.append(f"{value!r} has a letter, and its end was confirmed before")

    @property
    def left(self) -> set[bytes]:
        return self.sent - self.may_have_ended - self.buried


async def produce(node: Node, judge: Judge, count: int, rng: random.Random) -> None:
    """Send the records: three in five with a header, up to four seconds ahead, or over already."""
    async with Producer(f"127.0.0.1:{node.port}") as producer:
        for at in range(count):
            value = b"%d" % at
            left_s, now = rng.choice((None, None, -1.0, 0.5, 4.0)), time.time()
            judge.last[value] = now + (TTL_S if left_s is None else left_s)
            headers = [] if left_s is None else [(NOT_AFTER, b"%d" % (judge.last[value] * 1_000))]
            with contextlib.suppress(ClientError):  # it may be in the log, and comes or not
                await producer.send_and_wait(TOPIC, value, headers=headers, timestamp_ms=int(now * 1_000))
                judge.sent.add(value)


async def work(node: Node, judge: Judge, rng: random.Random, stop: asyncio.Event) -> None:
    """Accept records, or release them; sometimes stop for longer than many of them live."""
    consumer = ShareConsumer(
        f"127.0.0.1:{node.port}", GROUP, [TOPIC], acknowledgement="explicit", prefetch=20, renew_s=0
    )
    async with consumer:
        while not stop.is_set():
            for record in await consumer.poll(timeout_s=0.5, max_records=10):
                came = time.time() + record.deadline - LOCK_S - asyncio.get_running_loop().time()
                judge.came(record.value or b"", record.delivery_count, came)
                try:
                    await finish(judge, record, rng)
                except LockLost:
                    judge.seen["answers lost, or too late"] += 1
            if rng.random() < 0.02:
                await asyncio.sleep(TTL_S)


async def finish(judge: Judge, record: ShareRecord, rng: random.Random) -> None:
    if rng.random() < 0.2:
        await record.release()
        judge.seen["given back"] += 1
        return
    value = record.value or b""
    judge.may_have_ended.add(value)
    await record.accept()
    judge.ended[value] = time.time()


async def read_letters(node: Node, judge: Judge, stop: asyncio.Event) -> None:
    consumer = ShareConsumer(f"127.0.0.1:{node.port}", "undertaker", [QUEUE], acknowledgement="explicit")
    async with consumer:
        while not stop.is_set():
            for record in await consumer.poll(timeout_s=0.5, max_records=100):
                headers = dict(record.headers)
                died = int(headers["__dlq.errors.timestamp"] or b"") / 1_000
                judge.letter(record.value or b"", headers["__dlq.errors.message"] or b"", died)
                with contextlib.suppress(LockLost):
                    await record.accept()


async def run(node: Node, judge: Judge, options: argparse.Namespace) -> None:
    rng, stop = random.Random(options.seed), asyncio.Event()
    address = f"127.0.0.1:{node.port}"
    await asyncio.to_thread(configure_group, address, GROUP, CONFIGS)
    await asyncio.to_thread(configure_group, address, "undertaker", {"share.auto.offset.reset": "earliest"})
    async with Producer(address) as producer:
        await producer.partitions_for(TOPIC)
    working = [work(node, judge, random.Random(each), stop) for each in range(options.workers)]
    tasks = [asyncio.create_task(each) for each in (*working, read_letters(node, judge, stop))]
    producing = asyncio.create_task(produce(node, judge, options.records, rng))
    await kill_at_times(node, options.kills, rng)
    await producing
    await until_all_have_ended(judge)
    stop.set()
    await asyncio.gather(*tasks)


def main(arguments: Sequence[str]) -> int:
    options = options_of("ttl_kills", __doc__, arguments)
    return verdict(
        options, SETTINGS, Judge(), run, "Late, early or twice", lambda judge: f"{len(judge.ended):,} ended, "
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
