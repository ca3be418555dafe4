"""Consume, produce and commit offsets in transactions on a broker that is killed: no loss, no duplicates.

`make exactly-once` does the same with 20 kills.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.kafka.apache_kafka import KAFKA_VERSION
from tests.campaign.exactly_once.campaign import SETTINGS, Aim, Campaign, HangingTransaction
from tests.campaign.exactly_once.jobs import CLIENTS, Client
from tests.interop.support.broker_under_test import BrokerUnderTest

pytestmark = [pytest.mark.interop, pytest.mark.crash]
BROKER_SETTINGS = SETTINGS
KILLS = 3
RECORDS = 5_000
AT_APACHE_KAFKA = (Aim.OPEN, Aim.ENDED)
"""The reason: Apache Kafka often loses the markers of a transaction that was ending when it was killed.

docs/evidence/exactly-once.md has the figures.
"""


@pytest.mark.parametrize("client", [pytest.param(each, id=each.name) for each in CLIENTS])
def test_exactly_once_over_kills(broker: BrokerUnderTest, unique: Callable[[str], str], client: Client) -> None:
    missing = client.why_not_here()
    if missing is not None:
        pytest.skip(missing)
    among = AT_APACHE_KAFKA if broker.kind == "apache" else Aim
    try:
        result = Campaign(broker, client, RECORDS, print).run(unique("job"), KILLS, seed=1, among=among)
    except HangingTransaction as hanging:
        if broker.kind == "apache":
            pytest.xfail(f"as {KAFKA_VERSION} does, when a kill came too late for its aim: {hanging}")
        raise
    assert result.exactly_once, result
    assert result.records_out == RECORDS
    assert len(result.kills) == KILLS
