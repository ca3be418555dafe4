"""Records with delivery times (`shareq.not.before.ms`), as a `shareq.aio` client sends and receives them."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from bench.proc import resident_mb
from shareq.aio import Producer, ShareConsumer
from shareq.protocol.names import NOT_BEFORE

VALUE: Final = b"v" * 92
YEAR_33658: Final = b"999999999999999"
IN_A_TURN: Final = 2_000
APART: Final = 1_000
"""The differences in ms between the times of neighbouring waiting records, so that no two of them join to one range."""


def run(
    address: str,
    broker_pid: int,
    topic: str,
    group: str,
    others: int,
    refused: int = 0,
    delays: int = 0,
    soon_s: float = 0.1,
    far_s: float = 0.0,
) -> dict[str, float]:
    """Measure dated records.

    Without `delays`, receive the `others` records that an earlier run left, and return as `again` how many came, each
    once.

    With `delays`, send `others` records that wait for `far_s`, and `refused` records dated in the year 33658. Then send
    `delays` records one by one, each due after `soon_s`: `late_p50_ms` and `late_p99_ms` are their delays at the
    consumer. `more_mb` is the broker's memory for the waiting records, `waiting_s` the time until the first record
    behind them came.
    """
    if not delays:
        return asyncio.run(_all_come(address, topic, group, others))
    return asyncio.run(_Sent(address, broker_pid, topic, group).measured(others, refused, delays, soon_s, far_s))


class _Sent:
    def __init__(self, address: str, broker_pid: int, topic: str, group: str) -> None:
        self._address, self._pid = address, broker_pid
        self._topic, self._group = topic, group

    async def measured(self, others: int, refused: int, delays: int, soon_s: float, far_s: float) -> dict[str, float]:
        async with Producer(self._address) as producer:
            far_ms = round((time.time() + far_s) * 1_000)
            await self._send(producer, [b"%d" % (far_ms + at % APART) for at in range(others)])
            await self._send(producer, [YEAR_33658] * refused)
            before_mb = resident_mb(self._pid)
            async with ShareConsumer(
                self._address, self._group, [self._topic], acknowledgement="explicit", prefetch=1
            ) as consumer:
                began = time.monotonic()
                await self._take(producer, consumer, b"", 0)
                waiting_s = time.monotonic() - began
                more_mb = resident_mb(self._pid) - before_mb
                late = sorted([await self._late_ms(producer, consumer, at, soon_s) for at in range(delays)])
            if time.time() * 1_000 >= far_ms:
                raise RuntimeError(f"the others waited for {far_s:g} s only: they were due meanwhile")
        return {
            "waiting_s": waiting_s,
            "more_mb": more_mb,
            "late_p50_ms": late[len(late) // 2],
            "late_p99_ms": late[len(late) * 99 // 100],
        }

    async def _send(self, producer: Producer, times: list[bytes]) -> None:
        for first in range(0, len(times), IN_A_TURN):
            turn = times[first : first + IN_A_TURN]
            sent = [await producer.send(self._topic, VALUE, headers=[(NOT_BEFORE, each)]) for each in turn]
            await asyncio.gather(*sent)

    async def _late_ms(self, producer: Producer, consumer: ShareConsumer, number: int, soon_s: float) -> float:
        due_ms = round((time.time() + soon_s) * 1_000)
        came_ms = await self._take(producer, consumer, b"%d" % number, due_ms)
        if came_ms < due_ms:
            raise RuntimeError(f"record {number} came {due_ms - came_ms:.3f} ms before its time")
        return came_ms - due_ms

    async def _take(self, producer: Producer, consumer: ShareConsumer, value: bytes, due_ms: int) -> float:
        """Send a record; return when it came, in ms since the epoch. Raise RuntimeError if any other record comes."""
        await producer.send_and_wait(self._topic, value, headers=[(NOT_BEFORE, b"%d" % due_ms)])
        records = await consumer.poll(timeout_s=120)
        came_ms = time.time() * 1_000
        if [each.value for each in records] != [value]:
            raise RuntimeError(f"only {value!r} was to come, {[each.value for each in records]} did")
        await records[0].accept()
        return came_ms


async def _all_come(address: str, topic: str, group: str, others: int) -> dict[str, float]:
    came: set[tuple[int, int]] = set()
    async with ShareConsumer(address, group, [topic], acknowledgement="explicit") as consumer:
        while len(came) < others:
            records = await consumer.poll(timeout_s=120)
            if not records:
                raise RuntimeError(f"{len(came):,} of {others:,} came, and no more for 120 s")
            for record in records:
                place = record.partition, record.offset
                if record.value != VALUE or place in came:
                    raise RuntimeError(f"{place} came again, or is none of those that waited: {record.value!r}")
                came.add(place)
            consumer.acknowledge(records)
        await consumer.commit()
    return {"again": float(len(came))}
