"""A KIP-848 consumer group and a share group on one topic at once, while the broker is killed (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import create_topic, produce, read_from_start
from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import Ledger as ConsumerLedger
from tests.interop.support.group_member import LibrdkafkaOfKip848, started, wait_until
from tests.interop.support.share_ledger import Ledger, members, mixed, run_until

BROKER_SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
RECORDS = 200


@pytest.mark.crash
def test_each_gets_every_record_and_goes_on_after_a_kill(broker: BrokerUnderTest, unique: Callable[[str], str]) -> None:
    broker.require(ApiKey.CONSUMER_GROUP_HEARTBEAT)
    topic, consumers, sharers = unique("topic"), unique("consumers"), unique("sharers")
    create_topic(broker.bootstrap, topic, 2)
    read_from_start(broker.bootstrap, sharers)
    consumed, shared = ConsumerLedger(), Ledger()
    consumer = LibrdkafkaOfKip848(broker.bootstrap, consumers, topic, consumed)
    with started(consumer), members(broker.bootstrap, sharers, topic, shared, decide=mixed) as joined:
        for round_ in (1, 2):
            produce(broker.bootstrap, topic, ((n % 2, b"%d" % n) for n in range(RECORDS)))
            run_until(joined, shared.finished_at_least(round_ * RECORDS))
            wait_until(
                lambda due=round_ * RECORDS: len(consumed.places) == due,  # type: ignore[misc]
                consumed,
                "every record",
            )
            if round_ == 1:
                broker.restart(kill=True)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        listed = admin.list_consumer_groups(types={ConsumerGroupType.CONSUMER}).result()
        assert [group.group_id for group in listed.valid] == [consumers]
    consumed.check()
    assert not shared.revived
