"""A real broker for tests: `with Broker() as broker: client(broker.bootstrap)`; fixture: `shareq_broker`."""

from shareq.testing.broker import Broker, BrokerFailed

__all__ = ["Broker", "BrokerFailed"]
