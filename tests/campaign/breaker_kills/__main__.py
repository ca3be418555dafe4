"""`python -m tests.campaign.breaker_kills`: a breaker pauses a group and is resumed, while the broker is killed.

Half of the kills come while dead letters open the breaker, half while the group is resumed. Exit code 1 if a pause or
the end of one was seen and then lost, if a paused group got records, or if a record is lost or came again after its end
was confirmed.
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
from contextlib import closing
from typing import Final

from devtools.clients.admin import configure_group
from shareq.aio import ClientError, LockLost, Producer, ShareConsumer
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from tests.campaign.node import Node
from tests.campaign.record_kills import QUIET_S, options_of, verdict

TOPIC, GROUP, QUEUE = "orders", "packers", "dlq.orders"
LETTERS: Final = 5
SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "2000",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
FROM_THE_START: Final = {"share.auto.offset.reset": "earliest"}
CONFIGS: Final = {
    **FROM_THE_START,
    "errors.deadletterqueue.topic.name": QUEUE,
    "errors.deadletterqueue.copy.record.enable": "true",
    "shareq.dlq.keep": "true",
    "shareq.breaker.letters": str(LETTERS),
    "shareq.breaker.window.ms": "600000",
}
OPENS_WITHIN_S: Final = 60.0
WATCHED_S: Final = 1.0
"""The time for which a pause that survived a kill is watched for deliveries."""


class Judge:
    """The judge. Bad records, whose values begin with `b`, are rejected, all others accepted."""

    def __init__(self) -> None:
        self.sent: set[bytes] = set()
        self.ended: set[bytes] = set()
        self.may_have_ended: set[bytes] = set()
        self.buried: set[bytes] = set()
        self.paused_for_sure = False  # the pause was seen, and no end of it was asked for
        self.came_in_pause = 0
        self.broken: list[str] = []
        self.seen: Counter[str] = Counter()

    def came(self, value: bytes) -> None:
        self.seen["deliveries"] += 1
        self.may_have_ended.discard(value)
        self.came_in_pause += self.paused_for_sure
        if value in self.ended:
            self.broken.append(f"{value!r} came again after its end")

    def letter(self, value: bytes) -> None:
        self.seen["letters"] += 1
        self.buried.add(value)
        if not is_bad(value):
            self.broken.append(f"{value!r} has a letter, and was never rejected")

    def started(self, *, paused: bool, expected: bool | None) -> None:
        """Note the state that a start found. `expected`: the one that was known before, None if either may be."""
        self.seen["starts that found a pause"] += paused
        if expected is not None and paused is not expected:
            self.broken.append(f"after a start the group is {'' if paused else 'not '}paused: it was the other way")

    def watched(self) -> None:
        """Note that a pause that was known all the time has been watched."""
        self.seen["pauses watched"] += 1
        if self.came_in_pause:
            self.broken.append(f"{self.came_in_pause} records came during a pause")

    @property
    def bad_left(self) -> int:
        return sum(map(is_bad, self.sent - self.ended))

    @property
    def left(self) -> set[bytes]:
        good = {each for each in self.sent if not is_bad(each)}
        return (good - self.may_have_ended) | (self.sent - good - self.buried)


def is_bad(value: bytes) -> bool:
    return value.startswith(b"b")


async def work(node: Node, judge: Judge, stop: asyncio.Event) -> None:
    consumer = ShareConsumer(
        f"127.0.0.1:{node.port}", GROUP, [TOPIC], acknowledgement="explicit", prefetch=0, renew_s=0
    )
    async with consumer:
        while not stop.is_set():
            records = await consumer.poll(timeout_s=0.3, max_records=3)
            for record in records:
                judge.came(record.value or b"")
            for record in records:
                value = record.value or b""
                judge.may_have_ended.add(value)
                with contextlib.suppress(LockLost):
                    await (record.reject() if is_bad(value) else record.accept())
                    judge.ended.add(value)


async def read_letters(node: Node, judge: Judge, stop: asyncio.Event) -> None:
    consumer = ShareConsumer(f"127.0.0.1:{node.port}", "undertaker", [QUEUE], acknowledgement="explicit")
    async with consumer:
        while not stop.is_set():
            for record in await consumer.poll(timeout_s=0.5, max_records=100):
                judge.letter(record.value or b"")
                with contextlib.suppress(LockLost):
                    await record.accept()


class Operator:
    """The operator of the group: sends records, looks at the pause, ends it, and kills the broker."""

    def __init__(self, node: Node, judge: Judge, rng: random.Random) -> None:
        self.node, self.judge, self.rng = node, judge, rng
        self.number = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.node.port}"

    async def send(self, kind: bytes, count: int) -> None:
        async with Producer(self.address) as producer:
            for _ in range(count):
                self.number += 1
                value = b"%s%d" % (kind, self.number)
                with contextlib.suppress(ClientError):
                    await producer.send_and_wait(TOPIC, value)
                    self.judge.sent.add(value)

    def _paused(self) -> bool | None:
        with contextlib.suppress(ClientError), closing(self._network()) as network:
            return Admin(network).share_groups.paused([GROUP])[GROUP]
        return None

    def _resumed(self) -> bool:
        with contextlib.suppress(ClientError), closing(self._network()) as network:
            return not isinstance(Admin(network).share_groups.resume([GROUP])[GROUP], ClientError)
        return False

    def _network(self) -> Network:
        return Network(ClientConfig.from_properties({"bootstrap.servers": self.address}))

    async def paused(self) -> bool:
        """Return whether the group is paused, once the broker says so."""
        while (paused := await asyncio.to_thread(self._paused)) is None:
            await asyncio.sleep(0.05)
        self.judge.paused_for_sure = self.judge.paused_for_sure or paused
        return paused

    async def restart(self) -> None:
        await asyncio.to_thread(self.node.kill)
        await asyncio.to_thread(self.node.start)

    async def open(self) -> None:
        """Send bad records until they have opened the breaker."""
        until = time.monotonic() + OPENS_WITHIN_S
        while not await self.paused():
            if self.judge.bad_left < LETTERS:
                await self.send(b"bad", LETTERS)
            await asyncio.sleep(0.05)
            if time.monotonic() > until:
                self.judge.broken.append(f"the breaker did not open within {OPENS_WITHIN_S:g} s")
                return
        self.judge.seen["breakers opened"] += 1

    async def kill_at_opening(self) -> None:
        """Kill the broker around the last letter that the breaker needs; a pause that was seen survives."""
        judge = self.judge
        await self.send(b"good", 5)
        await self.send(b"bad", LETTERS)
        until = time.monotonic() + self.rng.uniform(0, 1.0)
        while time.monotonic() < until and not await self.paused():
            await asyncio.sleep(0.01)
        known = judge.paused_for_sure
        await self.restart()
        judge.came_in_pause = 0
        paused = await self.paused()
        judge.started(paused=paused, expected=True if known else None)
        if known and paused:
            await self.send(b"good", 5)
            await asyncio.sleep(WATCHED_S)
            judge.watched()

    async def kill_at_closing(self) -> None:
        """Kill the broker around the resumption; if that was answered, it survives."""
        judge = self.judge
        judge.paused_for_sure = False
        may_open_again = judge.bad_left >= LETTERS  # as soon as the group is resumed
        resuming = asyncio.create_task(asyncio.to_thread(self._resumed))
        await asyncio.sleep(self.rng.uniform(0, 0.08))
        judge.seen["resumptions answered before the kill"] += resuming.done()
        await self.restart()
        resumed = await resuming
        judge.started(paused=await self.paused(), expected=False if resumed and not may_open_again else None)
        await self.resume()

    async def resume(self) -> None:
        self.judge.paused_for_sure = False
        while not await asyncio.to_thread(self._resumed):
            await asyncio.sleep(0.05)


async def run(node: Node, judge: Judge, options: argparse.Namespace) -> None:
    stop, operator = asyncio.Event(), Operator(node, judge, random.Random(options.seed))
    await asyncio.to_thread(configure_group, operator.address, GROUP, CONFIGS)
    await asyncio.to_thread(configure_group, operator.address, "undertaker", FROM_THE_START)
    async with Producer(operator.address) as producer:
        await producer.partitions_for(TOPIC)
    working = [work(node, judge, stop) for _ in range(options.workers)]
    tasks = [asyncio.create_task(each) for each in (*working, read_letters(node, judge, stop))]
    for kill in range(options.kills):
        if kill % 2:
            await operator.open()
            await operator.kill_at_closing()
        else:
            await operator.kill_at_opening()
    until = time.monotonic() + QUIET_S
    while judge.left and time.monotonic() < until:
        await operator.resume()
        await asyncio.sleep(0.5)
    stop.set()
    await asyncio.gather(*tasks)


def main(arguments: Sequence[str]) -> int:
    options = options_of("breaker_kills", __doc__, arguments, records=False)
    return verdict(options, SETTINGS, Judge(), run, "Pauses lost, or twice")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
