"""`shareq.aio`: a consumer that accepts all records, and one that rejects bad ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from shareq.aio import ShareConsumer
from tests.campaign.bad_records.scene import STILL_S, RawRecord, Scene
from tests.campaign.bad_records.surfaces.verdict import Verdict, of_group


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on the consumer that rejects bad records; the other one must receive each record unchanged."""
    topic, queue = scene.topic("aio"), scene.group("sorters")
    scene.group("readers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    done = asyncio.run(_sort(scene, topic, end))
    asyncio.run(_read(scene, topic, end))
    scene.until_done("readers", topic, lambda: None)
    scene.until_done("sorters", topic, lambda: None)
    counts = scene.broker.group_counts("readers", topic)
    assert counts.accepted == counts.deliveries == end, f"{end} written, {counts}"
    return of_group(scene, "sorters", topic, good, done, queue)


async def _read(scene: Scene, topic: str, end: int) -> None:
    """Accept each record implicitly by the next poll, and the last ones explicitly."""
    async with ShareConsumer(scene.broker.bootstrap, "readers", [topic]) as consumer:
        left = end
        while left:
            records = await consumer.poll(timeout_s=STILL_S)
            assert records, f"no record for {STILL_S:.0f} s, {left} of {end} are left"
            left -= len(records)
        await asyncio.gather(*(record.accept() for record in records))


async def _sort(scene: Scene, topic: str, end: int) -> list[str]:
    """Accept the good records, reject the others, and return the good ones' values."""
    done: list[str] = []
    async with ShareConsumer(scene.broker.bootstrap, "sorters", [topic], acknowledgement="explicit") as consumer:
        left = end
        while left:
            records = await consumer.poll(timeout_s=STILL_S)
            assert records, f"no record for {STILL_S:.0f} s, {left} of {end} are left"
            left -= len(records)
            done += [(record.value or b"").decode() for record in records if record.key == b"good"]
            await asyncio.gather(*(record.accept() if record.key == b"good" else record.reject() for record in records))
    return done
