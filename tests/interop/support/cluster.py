"""The broker under test, with the interface of scenarios that also run on a `shareq.testing.Broker`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shareq.testing.helpers import WAIT_S, Helpers
from shareq.testing.waiting import wait_until
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest


class Cluster(Helpers):
    """A cluster reached only over the wire: not every broker counts a group's records."""

    def __init__(self, broker: BrokerUnderTest) -> None:
        self._broker = broker
        self.client_properties = protocol.properties(broker.bootstrap)

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap

    def close(self) -> None:
        self._close_clients()

    def assert_acknowledged(
        self, group: str, topic: str, records: int | None = None, *, timeout_s: float = WAIT_S
    ) -> None:
        """Wait until the group has finished every record of the topic; rejected ones look accepted here."""
        assert records is None
        wait_until(lambda: self.undone(group, topic) == 0, timeout_s, f"share group {group} is done with {topic}")

    def _call(self, name: str, **arguments: Any) -> Any:
        raise NotImplementedError(f"{name}: only a broker of shareq.testing is asked directly")


@pytest.fixture(scope="module")
def cluster(broker: BrokerUnderTest) -> Iterator[Cluster]:
    made = Cluster(broker)
    yield made
    made.close()
