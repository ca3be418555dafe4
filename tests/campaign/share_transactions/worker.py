"""Copies records of a share group in transactions, as a process that may be killed at any time:

    python -m tests.campaign.share_transactions.worker BOOTSTRAP NAME

until it is killed. NAME is the transactional id. A line is printed for each transaction that was committed, with the
number of its records, and for each that was not, with 0.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Sequence
from typing import Final

from shareq.client.bulk import BulkWriter
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError
from shareq.client.network import Network
from shareq.client.reader import Reader
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.client.share_transactions import send_share_acknowledgements_to_transaction
from shareq.client.transactions import Transaction, end
from shareq.protocol.records.record_codec import RecordData

SOURCE, TARGET, GROUP = "in", "out", "copiers"
ABORTED: Final = 0.15
"""The part of the transactions that is aborted on purpose."""
TIMEOUT_MS: Final = 5_000


def records(network: Network, each: AcquiredRange) -> list[RecordData]:
    """Read the values of an acquired range."""
    place, found = (each.topic, each.partition), list[RecordData]()
    reader = Reader(network, {place: each.first})
    while reader.positions[place] <= each.last:
        read = [one.record for one in reader.read(500)]
        found += [RecordData(None, one.value, timestamp_ms=0) for one in read if each.first <= one.offset <= each.last]
    return found


def _label(transaction: Transaction, each: AcquiredRange) -> bytes:
    """Return what shows of a copy that should not exist where it comes from."""
    name, producer_id, epoch = transaction.id
    return f"{name}, producer {producer_id}, epoch {epoch}, {each.first}-{each.last} ({each.delivery_count})".encode()


def copy(network: Network, consumer: ShareRangeConsumer, name: str, acquired: Sequence[AcquiredRange]) -> int:
    """Copy acquired records in one transaction; return how many were committed."""
    transaction = Transaction.begin(network, name, timeout_ms=TIMEOUT_MS)
    writer = BulkWriter(network, transaction=transaction)
    count = 0
    for each in acquired:
        for record in records(network, each):
            writer.add(TARGET, record._replace(headers=(("by", _label(transaction, each)),)))
            count += 1
    writer.flush()
    ranges = [AckRange(each.topic_id, each.partition, each.first, each.last) for each in acquired]
    send_share_acknowledgements_to_transaction(network, transaction.id, consumer.group_metadata, ranges)
    committed = random.random() >= ABORTED
    end(network, transaction.id, committed=committed)
    return count if committed else 0


def work(bootstrap: str, name: str) -> None:
    """Copy until the process is killed; after any error, begin with new connections and a new member."""
    config = ClientConfig.from_properties(
        {"bootstrap.servers": bootstrap, "request.timeout.ms": "5000", "default.api.timeout.ms": "10000"}
    )
    while True:
        network = Network(config)
        consumer = ShareRangeConsumer(config, GROUP, [SOURCE])
        try:
            while True:
                acquired = consumer.poll(max_records=random.randint(1, 40), max_wait_ms=300, strict=True)
                if acquired:
                    print(copy(network, consumer, name, acquired), flush=True)
        except ClientError as error:
            print(f"0 {error}", flush=True)
            time.sleep(0.1)
        with contextlib.suppress(ClientError):
            consumer.close(timeout_ms=200)
        network.close()


if __name__ == "__main__":
    work(*sys.argv[1:])
