"""taskiq over share groups at a real broker: the scenarios, and dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from taskiq.exceptions import SendTaskError

from shareq.aio import ConfigError
from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from tests.support.scenarios.taskiq import BROKER_SETTINGS, Hall, TaskiqScenarios


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker(config={**BROKER_SETTINGS, "errors.deadletterqueue.auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture
def restart(cluster: Broker) -> Callable[[], object]:
    return cluster.restart


class TestTaskiq(TaskiqScenarios):
    """The scenarios, and what is of our broker alone."""

    async def test_a_rejected_task_is_a_dead_letter(self, cluster: Broker, name: str) -> None:
        letters = {
            "errors.deadletterqueue.topic.name": f"dlq.{name}",
            "errors.deadletterqueue.copy.record.enable": "true",
        }
        await self.judge(cluster, name, group_config=letters)
        counts = cluster.group_counts(name, name)
        assert (counts.accepted, counts.rejected) == (4, 1)
        (letter,) = await asyncio.to_thread(cluster.assert_dead_lettered, name)
        assert b'"reject"' in (letter.value or b"")

    async def test_a_task_of_a_broker_that_is_not_started_is_refused(self, cluster: Broker, name: str) -> None:
        hall = Hall(cluster, name)
        with pytest.raises(SendTaskError) as raised:
            await hall.send(hall.app(), "one")
        assert "startup" in str(raised.value.__cause__)

    def test_properties_that_cannot_be_are_refused(self) -> None:
        with pytest.raises(ConfigError):
            ShareqBroker("127.0.0.1:9092", properties={"security.protocol": "NONE"})
