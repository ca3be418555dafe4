"""Read, process and write, each record's result once: the results and the acknowledgements are one transaction.

It starts a broker of its own, with the feature `shareq.share.transactions`, and fails on purpose now and then.
"""

import random
from collections.abc import Iterator

from shareq.client.admin import Admin
from shareq.client.admin.configs import Change
from shareq.client.bulk import BulkWriter
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.client.reader import Reader
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.client.share_transactions import send_share_acknowledgements_to_transaction
from shareq.client.transactions import Transaction, end
from shareq.protocol.records.record_codec import RecordData
from shareq.testing import Broker

ORDERS = 50


def values(network: Network, acquired: AcquiredRange) -> Iterator[bytes]:
    """Read the records of an acquired range."""
    place = (acquired.topic, acquired.partition)
    reader = Reader(network, {place: acquired.first})
    while reader.positions[place] <= acquired.last:
        for found in reader.read(max_wait_ms=500):
            if acquired.first <= found.record.offset <= acquired.last:
                yield found.record.value or b""


def main(bootstrap: str) -> None:
    config = ClientConfig.from_properties({"bootstrap.servers": bootstrap})
    first = Network(config)
    admin = Admin(first)
    admin.cluster.set_features({"shareq.share.transactions": 1})
    admin.configs.alter({("group", "billing"): Change(set={"share.auto.offset.reset": "earliest"})})
    first.close()

    network = Network(config)  # connections that are older do not know of the feature
    orders = BulkWriter(network)
    for number in range(ORDERS):
        orders.add("orders", RecordData(None, b"order %d" % number, timestamp_ms=0))
    orders.flush()

    done = 0
    with ShareRangeConsumer(config, "billing", ["orders"]) as consumer:
        while done < ORDERS:
            acquired = consumer.poll(max_records=10, max_wait_ms=500, strict=True)
            if not acquired:
                continue
            transaction = Transaction.begin(network, "billing-1", timeout_ms=10_000)
            invoices = BulkWriter(network, transaction=transaction)
            for each in acquired:
                for order in values(network, each):
                    invoices.add("invoices", RecordData(None, b"invoice for " + order, timestamp_ms=0))
            invoices.flush()
            ranges = [AckRange(each.topic_id, each.partition, each.first, each.last) for each in acquired]
            send_share_acknowledgements_to_transaction(network, transaction.id, consumer.group_metadata, ranges)
            succeeds = random.random() < 0.7
            end(network, transaction.id, committed=succeeds)
            done += succeeds * sum(each.last - each.first + 1 for each in acquired)

    place = ("invoices", 0)
    reader = Reader(network, {place: 0}, committed_only=True)
    found: list[bytes] = []
    while len(found) < ORDERS:
        found += [each.record.value or b"" for each in reader.read(max_wait_ms=500)]
    print(f"{len(found)} invoices, {len(set(found))} different ones")
    network.close()


with Broker() as broker:
    main(broker.bootstrap)
