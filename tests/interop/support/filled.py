"""Topics with records, and groups that begin at the first record."""

from __future__ import annotations

from collections.abc import Callable

from devtools.clients.admin import create_topic, produce, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest


def filled_topic(
    broker: BrokerUnderTest, unique: Callable[[str], str], partitions: int, records: int, batch_records: int = 1000
) -> tuple[str, str]:
    """Return a topic with numbered records spread over its partitions, and a group that reads all."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)  # first: a broker that knows the topic knows the config then
    create_topic(broker.bootstrap, topic, partitions)
    values = ((number % partitions, b"%d" % number) for number in range(records))
    produce(broker.bootstrap, topic, values, batch_records=batch_records)
    return topic, group
