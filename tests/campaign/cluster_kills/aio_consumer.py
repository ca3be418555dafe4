"""Our own consumer: `python -m tests.campaign.cluster_kills.aio_consumer BOOTSTRAP GROUP TOPIC JOURNAL`.

It writes the same journal as `consumer.py`. If a request is not answered in time, it connects to another node;
librdkafka's consumer waits for a node that hangs.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from shareq.aio import ClientError, ShareConsumer, ShareRecord
from tests.campaign.cluster_kills.journal import Journal

PROPERTIES: Final = {"request.timeout.ms": "2000", "reconnect.backoff.max.ms": "500", "metadata.max.age.ms": "2000"}


async def main(bootstrap: str, group: str, topic: str, path: str) -> None:
    with Journal(path) as journal:
        while True:
            try:
                await _consume(journal, bootstrap, group, topic)
            except ClientError as error:
                journal.note("E", f"aio {type(error).__name__}")
                await asyncio.sleep(0.1)


async def _consume(journal: Journal, bootstrap: str, group: str, topic: str) -> None:
    member = ShareConsumer(
        bootstrap, group, [topic], acknowledgement="explicit", acquire_mode="record_limit", properties=PROPERTIES
    )
    async with member:
        while True:
            records = await member.poll(timeout_s=0.5, max_records=100)
            for record in records:
                journal.delivered(record.partition, record.offset)
            held = [record for record in records if _acknowledged(member, record, journal)]
            journal.tried((record.partition, record.offset) for record in held)
            failed = {id(record) for record, _ in await member.commit()}
            journal.confirmed((record.partition, record.offset) for record in held if id(record) not in failed)


def _acknowledged(member: ShareConsumer, record: ShareRecord, journal: Journal) -> bool:
    """Accept a record without waiting for the answer; return whether its lock was still held."""
    try:
        member.acknowledge([record])
    except ClientError as error:
        journal.note("E", f"aio acknowledge {type(error).__name__}")
        return False
    return True


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
