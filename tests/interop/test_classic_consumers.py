"""Classic consumer groups with each client: rebalances, committed offsets, restarts and kills."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import CLIENTS, started
from tests.interop.support.group_work import (
    Unique,
    Work,
    a_group_goes_on_after_a_restart,
    a_static_member_comes_back,
    members_come_and_go,
)

BROKER_SETTINGS = {"group.initial.rebalance.delay.ms": "200"}
PARTITIONS = 4

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("client", CLIENTS)
def test_members_come_and_go_and_every_record_is_read_once(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    members_come_and_go(Work(broker, unique, CLIENTS), client)


@pytest.mark.parametrize(
    "pair",
    [("librdkafka", "kafka-python"), ("kafka-python", "aiokafka"), ("aiokafka", "librdkafka"), ("librdkafka", "java")],
)
def test_different_clients_in_one_group(broker: BrokerUnderTest, unique: Unique, pair: Sequence[str]) -> None:
    work = Work(broker, unique, CLIENTS)
    one, two = (work.member(client) for client in pair)
    with started(one, two):
        work.wait_for_assignment(one, two)
        work.produce(200)
        work.wait_for_all()
    work.check_once()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_static_member_that_comes_back_has_its_own_again(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    """KIP-345: the other members keep their partitions, too."""
    a_static_member_comes_back(Work(broker, unique, CLIENTS), client)


@pytest.mark.crash
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_a_group_goes_on_after_a_restart(broker: BrokerUnderTest, unique: Unique, client: str, kill: bool) -> None:
    a_group_goes_on_after_a_restart(Work(broker, unique, CLIENTS), client, kill=kill)
