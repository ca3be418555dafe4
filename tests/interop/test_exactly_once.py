"""Consume, produce and commit the offsets in transactions, with a broker that is killed: nothing lost, nothing doubled.

The same with 20 kills is `make exactly-once`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.exactly_once.campaign import SETTINGS, Campaign
from tests.exactly_once.jobs import CLIENTS, Client
from tests.interop.support.broker_under_test import BrokerUnderTest

pytestmark = [pytest.mark.interop, pytest.mark.crash]
BROKER_SETTINGS = SETTINGS
KILLS = 3
RECORDS = 5_000


@pytest.mark.parametrize("client", [pytest.param(each, id=each.name) for each in CLIENTS])
def test_exactly_once_over_kills(broker: BrokerUnderTest, unique: Callable[[str], str], client: Client) -> None:
    missing = client.why_not_here()
    if missing is not None:
        pytest.skip(missing)
    result = Campaign(broker, client, RECORDS, print).run(unique("job"), KILLS, seed=1)
    assert result.exactly_once, result
    assert result.records_out == RECORDS
    assert len(result.kills) == KILLS
