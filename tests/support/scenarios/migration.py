"""The migration of a topic to another cluster while four workers drain it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

from shareq.aio import ShareConsumer
from shareq.client.errors import ClientError
from tests.support.clients.shareq_cli import Shell

TOPIC: Final = "moved-at-work"
GROUP: Final = "movers-at-work"
PARTITIONS: Final = 3
RECORDS: Final = 2_000
WORKERS: Final = 4
MOST_S: Final = 60.0
KILLS: Final = 6
"""The number of kills in each test: half of them while records are copied, half at the cut-over."""
SOME: Final = 60
"""The number of records that workers may still accept while a command runs."""


class Ledger:
    """The records confirmed to workers, with counts, and those whose answer was lost.

    Workers receive up to `limit` records, then wait with those they hold.
    """

    def __init__(self, limit: int) -> None:
        self.confirmed: Counter[bytes] = Counter()
        self.unknown: set[bytes] = set()
        self.limit = limit
        self.seen = asyncio.Condition()

    async def allow(self, more: int) -> None:
        async with self.seen:
            self.limit = len(self.confirmed) + more
            self.seen.notify_all()

    async def work(self, bootstrap: str) -> None:
        """Accept records one by one until cancelled; count those that the broker confirms."""
        async with ShareConsumer(bootstrap, GROUP, [TOPIC], acknowledgement="explicit", prefetch=10) as consumer:
            while True:
                for record in await consumer.poll(timeout_s=0.5, max_records=5):
                    async with self.seen:
                        await self.seen.wait_for(lambda: len(self.confirmed) < self.limit)
                    assert record.value is not None
                    try:
                        await record.accept()
                    except ClientError:
                        self.unknown.add(record.value)
                    else:
                        self.confirmed[record.value] += 1
                    async with self.seen:
                        self.seen.notify_all()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(MOST_S), self.seen:
            await self.seen.wait_for(lambda: len(self.confirmed) >= count)


async def migrate(*words: str) -> tuple[int, list[dict[str, Any]]]:
    ran = await begun(*words)
    out, _ = await ran.communicate()
    assert ran.returncode is not None
    return ran.returncode, json.loads(out) if ran.returncode in (0, 1) and out else []


async def begun(*words: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "shareq", "migrate", *words, "--json")
    return await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def planned_in(*words: str) -> float:
    """Return the seconds of a dry run on this machine, now: a real run starts with the same work."""
    began_s = time.monotonic()
    code, _ = await migrate(*words, "--dry-run")
    assert code == 0
    return time.monotonic() - began_s


async def disturbed(words: tuple[str, ...], strike: Callable[[], None] | None, after_s: float) -> bool:
    """Run the command and kill it, or call `strike`; return whether it was still working then."""
    ran = await begun(*words)
    ended = asyncio.create_task(ran.communicate())
    await asyncio.wait([ended], timeout=after_s)
    was_at_work = not ended.done()
    if strike is not None:
        await asyncio.to_thread(strike)
    elif was_at_work:
        ran.kill()
    await ended
    return was_at_work


def filled(bootstrap: str) -> None:
    shell = Shell(bootstrap)
    shell.ok("topics", "create", TOPIC, "--partitions", str(PARTITIONS))
    shell.ok("configs", "alter", "group", GROUP, "--set", "share.auto.offset.reset=earliest")
    for number in range(PARTITIONS):
        lines = "".join(f"{each}\n" for each in range(number, RECORDS, PARTITIONS))
        shell.ok("produce", TOPIC, "--partition", str(number), stdin=lines)


async def drained(old: str, new: str, strike: Callable[[], None] | None, random: Random) -> Ledger:
    """Drain the topic with workers at the old cluster, then at the new one.

    Commands are killed, or `strike` is called while they work.
    """
    ledger = Ledger(RECORDS // 4)
    kills = 0
    async with asyncio.TaskGroup() as tasks:
        workers = [tasks.create_task(ledger.work(old)) for _ in range(WORKERS)]
        await ledger.until(RECORDS // 4)
        for words in ((), ("--cut-over",)):
            named = (old, new, "--topic", TOPIC, "--group", GROUP, *words)
            plan_s = await planned_in(*named)
            for _ in range(KILLS // 2):
                await ledger.allow(SOME)
                kills += await disturbed(named, strike, plan_s * random.uniform(0.7, 1.2))
            await ledger.allow(SOME)
            code, rows = await migrate(*named)
            assert code == 0
            assert not [row for row in rows if row["outcome"] in ("refused", "differs")]
        assert kills
        assert len(ledger.confirmed) < RECORDS  # else nothing was left to move
        await ledger.allow(RECORDS)
        at_new = [tasks.create_task(ledger.work(new)) for _ in range(WORKERS)]
        async with asyncio.timeout(MOST_S):
            while lag(new):
                await asyncio.sleep(0.2)
            async with ledger.seen:  # answers come behind what they confirm
                await ledger.seen.wait_for(lambda: len(ledger.confirmed.keys() | ledger.unknown) == RECORDS)
        for task in workers + at_new:
            task.cancel()
    return ledger


def lag(bootstrap: str) -> int:
    (row,) = Shell(bootstrap).json("share", "lag", GROUP)
    found: int = row["lag"]
    return found
