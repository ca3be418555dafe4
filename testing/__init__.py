"""A real broker for tests: `with Broker() as broker: client(broker.bootstrap)`; fixture: `shareq_broker`."""

from shareq.testing.broker import Broker, BrokerFailed
from shareq.testing.container import KafkaContainer
from shareq.testing.faults import Fault
from shareq.testing.helpers import GroupCounts, Record
from shareq.testing.waiting import wait_until

__all__ = ["Broker", "BrokerFailed", "Fault", "GroupCounts", "KafkaContainer", "Record", "wait_until"]
