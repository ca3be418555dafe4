"""taskiq over share groups at a real broker: acknowledgements, delays, rejections, workers on one partition, kills."""

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
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from taskiq import Context, TaskiqDepends
from taskiq.acks import AcknowledgeType
from taskiq.api import run_receiver_task
from taskiq.exceptions import SendTaskError
from taskiq.middlewares import SmartRetryMiddleware

from shareq.aio import ClientError, ConfigError
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.taskiq import ShareqBroker
from shareq.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {
        "group.share.min.record.lock.duration.ms": "1000",
        "errors.deadletterqueue.auto.create.topics.enable": "true",
    }
    with Broker(config=config) as running:
        yield running


@pytest.fixture
def name() -> str:
    return f"tasks-{next(_numbers)}"


@contextlib.asynccontextmanager
async def at_work(app: ShareqBroker, **options: Any) -> AsyncIterator[None]:
    """A worker of this application, in this process."""
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


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


class Hall:
    """Tasks that wait until they may end. `begun` and `ended` are their names, in order."""

    def __init__(self, broker: Broker, topic: str, **options: Any) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_end: dict[str, asyncio.Event] = {}
        self._made = functools.partial(ShareqBroker, broker.bootstrap, topic=topic, **options)

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


async def test_a_task_is_acknowledged_when_it_has_returned_and_not_before(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    hall.may_end["slow"] = asyncio.Event()
    async with sending(sender):
        await hall.send(sender, "slow", "quick")
        async with at_work(hall.app()):
            await until(lambda: hall.ended == ["quick"] and hall.begun == ["slow", "quick"])
            await until(lambda: broker.undone(name, name) == 1)
            hall.may_end["slow"].set()
            await until(lambda: hall.ended == ["quick", "slow"])
            await asyncio.to_thread(broker.assert_acknowledged, name, name)
    assert len(hall.begun) == 2


async def test_what_a_worker_is_at_when_it_is_cut_off_comes_to_another_one(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    hall.may_end["slow"] = asyncio.Event()
    async with sending(sender):
        await hall.send(sender, "slow")
        async with at_work(hall.app()):
            await until(lambda: hall.begun == ["slow"])
        hall.may_end["slow"] = asyncio.Event()
        hall.may_end["slow"].set()
        async with at_work(hall.app()):
            await until(lambda: hall.begun == ["slow", "slow"] and hall.ended == ["slow"])
            await asyncio.to_thread(broker.assert_acknowledged, name, name)


async def test_workers_share_one_partition_and_a_slow_task_holds_up_nobody(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    names = [f"task {number}" for number in range(40)]
    hall.may_end = {each: asyncio.Event() for each in names[:2]}
    workers = [hall.app(), hall.app()]
    async with sending(sender), at_work(workers[0], max_async_tasks=1), at_work(workers[1], max_async_tasks=1):
        await hall.send(sender, *names[:2])
        await until(lambda: sorted(hall.begun) == names[:2])  # each is at one of them: they share the partition
        await hall.send(sender, *names[2:])
        hall.may_end[names[1]].set()
        await until(lambda: sorted(hall.ended) == sorted(names[1:]))
        hall.may_end[names[0]].set()
        await asyncio.to_thread(broker.assert_acknowledged, name, name)
    assert sorted(hall.begun) == sorted(names), "each once"
    assert len(broker.records(name)) == 40
    assert {record.partition for record in broker.records(name)} == {0}


async def test_a_worker_acquires_what_taskiq_asks_for_and_renews_it(broker: Broker, name: str) -> None:
    """A second worker would get the task if its lock ended, which is renewed half way."""
    hall = Hall(broker, name, group_config={"share.record.lock.duration.ms": "2000"})
    sender = hall.app()
    hall.may_end = {"slow": asyncio.Event()}
    async with sending(sender), at_work(hall.app(), max_async_tasks=1):
        await hall.send(sender, "slow")
        await until(lambda: hall.begun == ["slow"])
        await hall.send(sender, "second")
        async with at_work(hall.app(), max_async_tasks=1):
            await until(lambda: hall.ended == ["second"])  # the first worker, which had no room, had not acquired it
            await until(lambda: broker.group_counts(name, name).renewed >= 3)
        assert hall.begun == ["slow", "second"]
        hall.may_end["slow"].set()
        await asyncio.to_thread(broker.assert_acknowledged, name, name)


async def test_a_label_delays_a_task_and_holds_up_no_other(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    async with sending(sender), at_work(hall.app(), max_async_tasks=1):
        began = time.time()
        await hall.send(sender, "later", delay=1.5)
        await hall.send(sender, "soon")
        await until(lambda: hall.ended == ["soon"])
        await until(lambda: hall.ended == ["soon", "later"])
        assert time.time() - began > 1.4
        await asyncio.to_thread(broker.assert_acknowledged, name, name)


@pytest.mark.parametrize("delay", ["soon", "inf", "nan"])
async def test_a_delay_that_is_no_number_is_refused_and_of_others_ignored(
    broker: Broker, name: str, delay: str
) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    async with sending(sender):
        with pytest.raises(SendTaskError):
            await hall.send(sender, "later", delay=delay)
        await hall.send(sender, "one")
        (record,) = broker.records(name)
        broker.produce(name, record.value, headers={"delay": delay})
        async with at_work(hall.app()):
            await until(lambda: hall.ended == ["one", "one"])


async def test_a_task_that_waits_goes_to_another_worker_when_its_own_stops(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    async with sending(sender):
        await hall.send(sender, "later", delay=2)
        async with at_work(hall.app()):
            await until(lambda: broker.group_counts(name, name).deliveries == 1)
        async with at_work(hall.app()):
            await until(lambda: hall.ended == ["later"])


async def test_a_label_is_the_key_of_the_record(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    async with sending(sender):
        await hall.send(sender, "one", key="customer 7")
        await hall.send(sender, "two")
    assert [record.key for record in broker.records(name)] == [b"customer 7", None]


async def test_a_rejected_task_is_a_dead_letter_and_others_are_not(broker: Broker, name: str) -> None:
    letters = {
        "errors.deadletterqueue.topic.name": f"dlq.{name}",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    made = [ShareqBroker(broker.bootstrap, topic=name, group_config=letters) for _ in range(2)]
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
        await until(lambda: len(tried) == 5 and broker.undone(name, name) == 0)
        counts = broker.group_counts(name, name)
        assert (counts.accepted, counts.rejected) == (4, 1)
    assert sorted(tried) == ["fail", "pass", "reject", "requeue", "requeue"]
    (letter,) = await asyncio.to_thread(broker.assert_dead_lettered, name)
    assert b'"reject"' in (letter.value or b"")


async def test_taskiqs_retries_come_after_their_delay(broker: Broker, name: str) -> None:
    made = [
        ShareqBroker(broker.bootstrap, topic=name).with_middlewares(SmartRetryMiddleware(default_delay=1))
        for _ in range(2)
    ]
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
        await until(lambda: len(tried) == 2)
        assert tried[1] - tried[0] > 0.9
        await asyncio.to_thread(broker.assert_acknowledged, name, name)


async def test_when_received_accepts_before_the_work(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    sender = hall.app()
    hall.may_end["slow"] = asyncio.Event()
    async with sending(sender):
        await hall.send(sender, "slow")
        async with at_work(hall.app(), ack_time=AcknowledgeType.WHEN_RECEIVED):
            await until(lambda: hall.begun == ["slow"])
            assert broker.undone(name, name) == 0
            hall.may_end["slow"].set()


async def test_the_topic_and_the_group_are_made_as_asked(broker: Broker, name: str) -> None:
    hall = Hall(broker, name, group="others", partitions=3, topic_config={"retention.ms": "3600000"})
    async with at_work(hall.app()):
        await until(lambda: "share group others: member" in broker.log)
    with contextlib.closing(Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))) as network:
        admin = Admin(network)
        ((_, topic),) = admin.topics.describe([name])
        assert not isinstance(topic, ClientError)
        assert len(topic.partitions) == 3
        asked: list[tuple[tuple[str, str], list[str]]] = [
            (("topic", name), ["retention.ms"]),
            (("group", "others"), ["share.auto.offset.reset", "share.partition.max.record.locks"]),
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


async def test_a_task_of_a_broker_that_is_not_started_is_refused(broker: Broker, name: str) -> None:
    hall = Hall(broker, name)
    with pytest.raises(SendTaskError) as raised:
        await hall.send(hall.app(), "one")
    assert "startup" in str(raised.value.__cause__)


def test_properties_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError):
        ShareqBroker("127.0.0.1:9092", properties={"security.protocol": "NONE"})


async def test_workers_wait_for_a_broker_that_restarts(name: str) -> None:
    """What a worker was at comes again; its own acknowledgement comes too late, and is no end of the worker."""
    with Broker() as broker:
        hall = Hall(broker, name)
        sender = hall.app()
        hall.may_end["slow"] = asyncio.Event()
        async with sending(sender), at_work(hall.app()):
            await hall.send(sender, "slow")
            await until(lambda: hall.begun == ["slow"])
            await asyncio.to_thread(broker.restart)
            await until(lambda: hall.begun == ["slow", "slow"])
            hall.may_end["slow"].set()
            await hall.send(sender, "after")
            await until(lambda: sorted(hall.ended) == ["after", "slow", "slow"])
            await until(lambda: broker.undone(name, name) == 0)


TASKS = """
import os, time
from shareq.taskiq import ShareqBroker

broker = ShareqBroker("BROKER", topic="NAME")

@broker.task(task_name="work")
def work(name: str) -> None:
    with open("seen", "a") as file:
        file.write(f"begin {name} {os.getpid()}\\n")
    while not os.path.exists("may end"):
        time.sleep(0.01)
    with open("seen", "a") as file:
        file.write(f"end {name} {os.getpid()}\\n")
"""


def test_a_killed_workers_task_comes_again_at_once(broker: Broker, name: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(TASKS.replace("BROKER", broker.bootstrap).replace("NAME", name))
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
        app = ShareqBroker(broker.bootstrap, topic=name)
        async with sending(app):
            await app.register_task(lambda name: None, "work").kiq("one")

    asyncio.run(send())
    workers = [start()]
    try:
        broker.wait_until(lambda: len(seen()) == 1, PATIENCE_S)
        killed = time.monotonic()
        os.killpg(workers[0].pid, signal.SIGKILL)
        workers[0].wait()
        workers.append(start())
        broker.wait_until(lambda: len(seen()) == 2, PATIENCE_S)
        assert time.monotonic() - killed < 25, "the lock would be 30 s long"
        first, second = (line.split() for line in seen())
        assert first[:2] == second[:2] == ["begin", "one"]
        assert first[2] != second[2]
        workers[1].terminate()
        (tmp_path / "may end").touch()
        broker.wait_until(lambda: len(seen()) == 3, PATIENCE_S)
        assert workers[1].wait(PATIENCE_S) == 0, "it ends what it is at"
        broker.assert_acknowledged(name, name)
    finally:
        for each in workers:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
