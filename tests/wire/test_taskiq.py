"""Taskiq over share groups on a real broker: the scenarios, and dead letters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from taskiq.exceptions import SendTaskError

from shareq.aio import ConfigError
from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from tests.support.scenarios.taskiq import BROKER_SETTINGS, Hall, TaskiqScenarios, at_work, metrics_of, sending
from tests.support.waiting import comes_true

WAIT_S: Final = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker(config={**BROKER_SETTINGS, "errors.deadletterqueue.auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture
def restart(cluster: Broker) -> Callable[[], object]:
    return cluster.restart


class TestTaskiq(TaskiqScenarios):
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

    async def test_the_broker_keeps_a_delayed_task_and_so_does_one_that_is_killed(
        self, cluster: Broker, name: str
    ) -> None:
        """The broker keeps the task until its time, although it is killed meanwhile; a worker of a group with delays
        then receives it once.
        """
        hall = Hall(cluster, name, group_config={"shareq.delay.enable": "true"})
        sender, worker = hall.app(), hall.app()
        async with sending(sender), at_work(worker):
            await hall.send(sender, "first")
            await comes_true(lambda: hall.ended == ["first"])
            due = time.time() + WAIT_S
            await hall.send(sender, "later", delay=WAIT_S)
            await hall.send(sender, "soon")
            await comes_true(lambda: hall.ended == ["first", "soon"])
            received = metrics_of(worker).received
            assert received == 2 or time.time() >= due
            await asyncio.to_thread(cluster.kill)
            await asyncio.to_thread(cluster.start)
            await comes_true(lambda: len(hall.ended) == 3)
            assert time.time() >= due
            assert (hall.begun, hall.ended[2]) == (["first", "soon", "later"], "later")
            assert metrics_of(worker).received == 3
            await asyncio.to_thread(cluster.assert_acknowledged, name, name)

    async def test_what_taskiq_cannot_begin_is_given_up_and_the_next_task_is_done(
        self, cluster: Broker, name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The queue has a record that is no task, an unknown task, and an unusable label."""
        letters = {"errors.deadletterqueue.topic.name": f"dlq.{name}", "share.delivery.count.limit": "2"}
        hall = Hall(cluster, name, group_config=letters)
        sender = hall.app()
        async with sending(sender):
            await asyncio.to_thread(cluster.produce, name, b"no task")
            other = hall.app()
            other.register_task(_unknown, "unknown")
            async with sending(other):
                unknown = other.find_task("unknown")
                assert unknown is not None
                await unknown.kiq()
            await hall.send(sender, "odd", ack_type="sometimes")
            await hall.send(sender, "good")
            async with at_work(hall.app()):
                await comes_true(lambda: cluster.undone(name, name) == 0)
        assert hall.ended == ["good"]
        counts = cluster.group_counts(name, name)
        assert (counts.accepted, counts.rejected, counts.released, counts.dead) == (1, 2, 2, 1)
        assert len(await asyncio.to_thread(cluster.assert_dead_lettered, name)) == 3
        assert f"{name}-0@2, attempt 2: taskiq failed: released" in caplog.text

    async def test_a_task_of_a_broker_that_is_not_started_is_refused(self, cluster: Broker, name: str) -> None:
        hall = Hall(cluster, name)
        with pytest.raises(SendTaskError) as raised:
            await hall.send(hall.app(), "one")
        assert "startup" in str(raised.value.__cause__)

    def test_properties_that_cannot_be_are_refused(self) -> None:
        with pytest.raises(ConfigError):
            ShareqBroker("127.0.0.1:9092", properties={"security.protocol": "NONE"})


async def _unknown() -> None:
    """Do nothing, in another program."""
