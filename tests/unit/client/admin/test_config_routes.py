from __future__ import annotations

import pytest

from shareq.client.admin import Admin
from shareq.client.errors import BrokerError
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.scripted_world import World


@pytest.mark.parametrize("name", ["7", "x", "-1", "9" * 5_000], ids=["another", "a word", "below 0", "long"])
def test_a_broker_that_there_is_not_is_said_of_its_row(world: World, name: str) -> None:
    """A number of thousands of digits, which Python refuses, was once an unknown answer."""
    admin = Admin(world.network(world.broker(1)))
    ((resource, outcome),) = admin.configs.describe([("broker", name)])
    assert resource == ("broker", name)
    assert isinstance(outcome, BrokerError)
    assert outcome.code is ErrorCode.INVALID_REQUEST
    assert "There is no such broker; there are 1." in str(outcome)
