"""The guarantees of docs/taskiq.md for `ShareqBroker`, for any kind of broker.

A test module subclasses these scenarios and has two fixtures: `cluster`, and `restart`, which stops the broker and
starts it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest
from taskiq import Context, TaskiqDepends
from taskiq.acks import AcknowledgeType
from taskiq.api import run_receiver_task
from taskiq.exceptions import SendTaskError
from taskiq.middlewares import SmartRetryMiddleware

from shareq.aio import ClientError
from shareq.client.admin import Admin
from shareq.client.aio.consumer.consumer import ShareMetrics
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.taskiq import ShareqBroker
from shareq.testing.helpers import Helpers
from tests.support.waiting import comes_true

BROKER_SETTINGS: Final = {"group.share.min.record.lock.duration.ms": "1000"}
ROOT: Final = Path(__file__).resolve().parents[3]
PATIENCE_S: Final = 60.0
TASKS: Final = """
import os, time
from shareq.taskiq import ShareqBroker

broker = ShareqBroker("BROKER", topic="NAME", properties=PROPERTIES)

@broker.task(task_name="work")
def work(name: str) -> None:
    with open("seen", "a") as file:
        file.write(f"begin {name} {os.getpid()}\\n")
    while not os.path.exists("may end"):
        time.sleep(0.01)
    with open("seen", "a") as file:
        file.write(f"end {name} {os.getpid()}\\n")
"""
_numbers = itertools.count(1)


@contextlib.asynccontextmanager
async def at_work(app: ShareqBroker, **options: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(run_receiver_task(app, run_startup=True, **options))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await app.shutdown()


@contextlib.asynccontextmanager
async def sending(app: ShareqBroker) -> AsyncIterator[None]:
    await app.startup()
    yield
    await app.shutdown()


class Hall:
    """Tasks that wait for permission to end. `begun` and `ended` are their names, in order."""

    def __init__(self, cluster: Helpers, topic: str, **options: Any) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_end: dict[str, asyncio.Event] = {}
        self._made = functools.partial(broker_at, cluster, topic, **options)

    def app(self) -> ShareqBroker:
        made = self._made()

        async def work(name: str) -> None:
            self.begun.append(name)
            if name in self.may_end:
                await self.may_end[name].wait()
            self.ended.append(name)

        made.register_task(work, "work")
        return made

    @staticmethod
    async def send(app: ShareqBroker, *names: str, **labels: Any) -> None:
        task = app.find_task("work")
        assert task is not None
        for name in names:
            await task.kicker().with_labels(**labels).kiq(name)


def broker_at(cluster: Helpers, topic: str, **options: Any) -> ShareqBroker:
    return ShareqBroker(cluster.bootstrap, topic=topic, properties=cluster.client_properties, **options)


def metrics_of(worker: ShareqBroker) -> ShareMetrics:
    """Return the metrics of a worker once it listens; zeros before."""
    return worker._consumers[0].metrics if worker._consumers else ShareMetrics()


class TaskiqScenarios:
    @pytest.fixture
    def name(self) -> str:
        return f"tasks-{next(_numbers)}"

    async def test_a_task_is_acknowledged_when_it_has_returned_and_not_before(
        self, cluster: Helpers, name: str
    ) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        hall.may_end["slow"] = asyncio.Event()
        async with sending(sender):
            await hall.send(sender, "slow", "quick")
            async with at_work(hall.app()):
                await comes_true(lambda: hall.ended == ["quick"] and hall.begun == ["slow", "quick"])
                await comes_true(lambda: cluster.undone(name, name) == 1)
                hall.may_end["slow"].set()
                await comes_true(lambda: hall.ended == ["quick", "slow"])
                await asyncio.to_thread(cluster.assert_acknowledged, name, name)
        assert len(hall.begun) == 2

    async def test_what_a_worker_is_at_when_it_is_cut_off_comes_to_another_one(
        self, cluster: Helpers, name: str
    ) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        hall.may_end["slow"] = asyncio.Event()
        async with sending(sender):
            await hall.send(sender, "slow")
            async with at_work(hall.app()):
                await comes_true(lambda: hall.begun == ["slow"])
            hall.may_end["slow"] = asyncio.Event()
            hall.may_end["slow"].set()
            async with at_work(hall.app()):
                await comes_true(lambda: hall.begun == ["slow", "slow"] and hall.ended == ["slow"])
                await asyncio.to_thread(cluster.assert_acknowledged, name, name)

    async def test_workers_share_one_partition_and_a_slow_task_holds_up_nobody(
        self, cluster: Helpers, name: str
    ) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        names = [f"task {number}" for number in range(40)]
        hall.may_end = {each: asyncio.Event() for each in names[:2]}
        workers = [hall.app(), hall.app()]
        async with sending(sender), at_work(workers[0], max_async_tasks=1), at_work(workers[1], max_async_tasks=1):
            await hall.send(sender, *names[:2])
            await comes_true(
                lambda: sorted(hall.begun) == names[:2]
            )  # each is at one of them: they share the partition
            await hall.send(sender, *names[2:])
            hall.may_end[names[1]].set()
            await comes_true(lambda: sorted(hall.ended) == sorted(names[1:]))
            hall.may_end[names[0]].set()
            await asyncio.to_thread(cluster.assert_acknowledged, name, name)
        assert sorted(hall.begun) == sorted(names), "each once"
        assert len(cluster.records(name)) == 40
        assert {record.partition for record in cluster.records(name)} == {0}

    async def test_a_worker_acquires_what_taskiq_asks_for_and_renews_it(self, cluster: Helpers, name: str) -> None:
        """The lock is renewed half way; otherwise a second worker would get the task."""
        hall = Hall(cluster, name, group_config={"share.record.lock.duration.ms": "2000"})
        sender = hall.app()
        hall.may_end = {"slow": asyncio.Event()}
        first = hall.app()
        async with sending(sender), at_work(first, max_async_tasks=1):
            await hall.send(sender, "slow")
            await comes_true(lambda: hall.begun == ["slow"])
            await hall.send(sender, "second")
            async with at_work(hall.app(), max_async_tasks=1):
                await comes_true(
                    lambda: hall.ended == ["second"]
                )  # the first worker, which had no room, had not acquired it
                await comes_true(lambda: metrics_of(first).renewed >= 3)
            assert hall.begun == ["slow", "second"]
            hall.may_end["slow"].set()
            await asyncio.to_thread(cluster.assert_acknowledged, name, name)

    async def test_a_label_delays_a_task_and_holds_up_no_other(self, cluster: Helpers, name: str) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        async with sending(sender), at_work(hall.app(), max_async_tasks=1):
            await hall.send(sender, "first")
            await comes_true(
                lambda: hall.ended == ["first"]
            )  # a new group's first records may take longer than the delay
            began = time.time()
            await hall.send(sender, "later", delay=3)
            await hall.send(sender, "soon")
            await comes_true(lambda: len(hall.ended) == 3)
            assert time.time() - began > 2.9
            assert hall.ended == ["first", "soon", "later"]
            await asyncio.to_thread(cluster.assert_acknowledged, name, name)

    @pytest.mark.parametrize("delay", ["soon", "inf", "nan"])
    async def test_a_delay_that_is_no_number_is_refused_and_of_others_ignored(
        self, cluster: Helpers, name: str, delay: str
    ) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        async with sending(sender):
            with pytest.raises(SendTaskError):
                await hall.send(sender, "later", delay=delay)
            await hall.send(sender, "one")
            (record,) = cluster.records(name)
            cluster.produce(name, record.value, headers={"delay": delay})
            async with at_work(hall.app()):
                await comes_true(lambda: hall.ended == ["one", "one"])

    async def test_a_task_that_waits_goes_to_another_worker_when_its_own_stops(
        self, cluster: Helpers, name: str
    ) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        async with sending(sender):
            await hall.send(sender, "later", delay=2)
            first = hall.app()
            async with at_work(first):
                await comes_true(lambda: metrics_of(first).received == 1)
            assert hall.begun == []
            async with at_work(hall.app()):
                await comes_true(lambda: hall.ended == ["later"])

    async def test_a_label_is_the_key_of_the_record(self, cluster: Helpers, name: str) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        async with sending(sender):
            await hall.send(sender, "one", key="customer 7")
            await hall.send(sender, "two")
        assert [record.key for record in cluster.records(name)] == [b"customer 7", None]

    async def test_a_rejected_task_is_given_up_and_others_are_done(self, cluster: Helpers, name: str) -> None:
        await self.judge(cluster, name)

    async def judge(self, cluster: Helpers, name: str, **options: Any) -> None:
        """Run four tasks: one fails, one is rejected, one requeued, one passes; return when the group has done all."""
        made = [broker_at(cluster, name, **options) for _ in range(2)]
        sender, worker = made
        tried: list[str] = []

        async def judge(what: str, context: Context = TaskiqDepends()) -> None:  # noqa: B008 as taskiq has it
            tried.append(what)
            if what == "reject":
                context.reject()
            if what == "requeue" and "X-Taskiq-requeue" not in context.message.labels:
                await context.requeue()
            if what == "fail":
                raise ValueError("no")

        for each in made:
            each.register_task(judge, "judge")
        task = sender.find_task("judge")
        assert task is not None
        async with sending(sender), at_work(worker, max_async_tasks=1):
            for what in ("fail", "reject", "requeue", "pass"):
                await task.kiq(what)
            await comes_true(lambda: len(tried) == 5 and cluster.undone(name, name) == 0)
        assert sorted(tried) == ["fail", "pass", "reject", "requeue", "requeue"]

    async def test_taskiqs_retries_come_after_their_delay(self, cluster: Helpers, name: str) -> None:
        made = [broker_at(cluster, name).with_middlewares(SmartRetryMiddleware(default_delay=1)) for _ in range(2)]
        tried: list[float] = []

        async def fails_once() -> None:
            tried.append(time.time())
            if len(tried) == 1:
                raise ValueError("no")

        for each in made:
            each.register_task(fails_once, "fails_once", retry_on_error=True)
        task = made[0].find_task("fails_once")
        assert task is not None
        async with sending(made[0]), at_work(made[1]):
            await task.kiq()
            await comes_true(lambda: len(tried) == 2)
            assert tried[1] - tried[0] > 0.9
            await asyncio.to_thread(cluster.assert_acknowledged, name, name)

    async def test_when_received_accepts_before_the_work(self, cluster: Helpers, name: str) -> None:
        hall = Hall(cluster, name)
        sender = hall.app()
        hall.may_end["slow"] = asyncio.Event()
        async with sending(sender):
            await hall.send(sender, "slow")
            async with at_work(hall.app(), ack_time=AcknowledgeType.WHEN_RECEIVED):
                await comes_true(lambda: hall.begun == ["slow"])
                assert cluster.undone(name, name) == 0
                hall.may_end["slow"].set()

    async def test_the_topic_and_the_group_are_made_as_asked(self, cluster: Helpers, name: str) -> None:
        group = f"others-of-{name}"
        hall = Hall(cluster, name, group=group, partitions=3, topic_config={"retention.ms": "3600000"})
        sender = hall.app()
        async with sending(sender), at_work(hall.app()):
            await hall.send(sender, "one")
            await comes_true(lambda: hall.ended == ["one"])
        properties = {**cluster.client_properties, "bootstrap.servers": cluster.bootstrap}
        with contextlib.closing(Network(ClientConfig.from_properties(properties))) as network:
            admin = Admin(network)
            ((_, topic),) = admin.topics.describe([name])
            assert not isinstance(topic, ClientError)
            assert len(topic.partitions) == 3
            asked: list[tuple[tuple[str, str], list[str]]] = [
                (("topic", name), ["retention.ms"]),
                (("group", group), ["share.auto.offset.reset", "share.partition.max.record.locks"]),
            ]
            found: dict[str, str | None] = {}
            for resource, names in asked:
                ((_, configs),) = admin.configs.describe([resource], names)
                assert not isinstance(configs, ClientError)
                found |= {each.name: each.value for each in configs}
        assert found == {
            "retention.ms": "3600000",
            "share.auto.offset.reset": "earliest",
            "share.partition.max.record.locks": "4000",
        }

    async def test_workers_wait_for_a_broker_that_restarts(
        self, cluster: Helpers, restart: Callable[[], object], name: str
    ) -> None:
        """The worker's task comes again; its late acknowledgement fails, but does not end the worker."""
        hall = Hall(cluster, name)
        sender = hall.app()
        hall.may_end["slow"] = asyncio.Event()
        async with sending(sender), at_work(hall.app()):
            await hall.send(sender, "slow")
            await comes_true(lambda: hall.begun == ["slow"])
            await asyncio.to_thread(restart)
            await comes_true(lambda: hall.begun == ["slow", "slow"])
            hall.may_end["slow"].set()
            await hall.send(sender, "after")
            await comes_true(lambda: sorted(hall.ended) == ["after", "slow", "slow"])
            await comes_true(lambda: cluster.undone(name, name) == 0)

    def test_a_killed_workers_task_comes_again_at_once(self, cluster: Helpers, name: str, tmp_path: Path) -> None:
        code = TASKS.replace("BROKER", cluster.bootstrap).replace("NAME", name)
        (tmp_path / "jobs.py").write_text(code.replace("PROPERTIES", repr(dict(cluster.client_properties))))
        source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])

        def seen() -> list[str]:
            path = tmp_path / "seen"
            return path.read_text().splitlines() if path.exists() else []

        def start() -> subprocess.Popen[bytes]:
            with open(tmp_path / "log", "ab") as log:
                return subprocess.Popen(
                    [sys.executable, "-m", "taskiq", "worker", "jobs:broker", "--workers", "1"],
                    cwd=tmp_path,
                    env={**os.environ, "PYTHONPATH": source},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

        async def send() -> None:
            app = broker_at(cluster, name)
            async with sending(app):
                await app.register_task(lambda name: None, "work").kiq("one")

        asyncio.run(send())
        workers = [start()]
        try:
            cluster.wait_until(lambda: len(seen()) == 1, PATIENCE_S)
            killed = time.monotonic()
            os.killpg(workers[0].pid, signal.SIGKILL)
            workers[0].wait()
            workers.append(start())
            cluster.wait_until(lambda: len(seen()) == 2, PATIENCE_S)
            assert time.monotonic() - killed < 25, "the lock would be 30 s long"
            first, second = (line.split() for line in seen())
            assert first[:2] == second[:2] == ["begin", "one"]
            assert first[2] != second[2]
            workers[1].terminate()
            (tmp_path / "may end").touch()
            cluster.wait_until(lambda: len(seen()) == 3, PATIENCE_S)
            assert workers[1].wait(PATIENCE_S) == 0, "it ends what it is at"
            cluster.assert_acknowledged(name, name)
        finally:
            for each in workers:
                if each.poll() is None:
                    os.killpg(each.pid, signal.SIGKILL)
                    each.wait()
