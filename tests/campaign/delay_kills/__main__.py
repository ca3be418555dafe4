"""`python -m tests.campaign.delay_kills`: dated records, some released with a delay, while the broker is killed.

Exit code 1 if a record was delivered before its time, never, or again after its end was confirmed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.clients.admin import configure_group
from shareq.aio import ClientError, LockLost, Producer, ShareConsumer, ShareRecord
from shareq.protocol.names import NOT_BEFORE
from tests.campaign.node import Node

TOPIC, GROUP = "dated", "in-time"
SETTINGS: Final = {"group.share.min.record.lock.duration.ms": "1000", "group.share.record.lock.duration.ms": "2000"}
CONFIGS: Final = {
    "share.auto.offset.reset": "earliest",
    "share.delivery.count.limit": "10",
    "shareq.delay.enable": "true",
}
CLOCK_S: Final = 0.002
"""The tolerance: a stored time passes through two clocks, each of which is rounded down to whole milliseconds."""
QUIET_S: Final = 120.0


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
    for _ in range(options.kills):
        await asyncio.sleep(rng.uniform(1, 4))
        await asyncio.to_thread(node.kill)
        await asyncio.to_thread(node.start)
    await producing
    until, left = time.monotonic() + QUIET_S, len(judge.left)
    while judge.left and time.monotonic() < until:
        await asyncio.sleep(0.5)
        if len(judge.left) < left:
            until, left = time.monotonic() + QUIET_S, len(judge.left)
    stop.set()
    await asyncio.gather(*workers)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.delay_kills", description=__doc__)
    parser.add_argument("--records", type=int, default=5_000, help="in all (default 5,000)")
    parser.add_argument("--workers", type=int, default=3, help="of the group (default 3)")
    parser.add_argument("--kills", type=int, default=20, help="of the broker (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of times and kills (default 1)")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="shareq-delays-"))
    node, judge, began = Node(folder / "data", SETTINGS), Judge(), time.monotonic()
    try:
        node.start()
        asyncio.run(run(node, judge, options))
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)
    late = sorted(each for each in judge.late_s if 0 <= each < 10**6)
    print(
        f"{len(judge.sent):,} records confirmed, {options.kills} kills, seed {options.seed}: "
        f"{', '.join(f'{count:,} {what}' for what, count in sorted(judge.seen.items()))}, median "
        f"{late[len(late) // 2] * 1_000 if late else 0:.0f} ms late, in {time.monotonic() - began:,.0f} s. "
        f"Early or twice: {len(judge.broken)}. Lost: {len(judge.left)}."
    )
    print(*judge.broken[:20], sep="\n", end="\n" if judge.broken else "")
    return int(bool(judge.broken or judge.left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
