"""kafka-share://, workers and taskiq on a broker whose only listener is SASL_SSL."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import uvloop
from celery import Celery
from celery.contrib.testing.worker import start_worker
from kombu import Connection, Consumer, Exchange, Producer, Queue
from taskiq.api import run_receiver_task

import shareq.kombu
from devtools.kafka.certificates import why_unavailable
from shareq.client.errors import AuthenticationFailed, Unreachable
from shareq.taskiq import ShareqBroker
from shareq.worker import Worker
from tests.wire.test_check_as_client import Guarded

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))

PATIENCE_S = 40.0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    shareq.kombu.register()
    guarded = Guarded(tmp_path_factory.mktemp("guarded"))
    with guarded.broker:
        yield guarded


def security(guarded: Guarded) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(guarded.authority.certificate),
    }


def url(guarded: Guarded, password: str = "wonderland") -> str:
    return f"kafka-share://alice:{password}@localhost:{guarded.broker.port}//"


def test_messages_and_what_is_said_to_all(guarded: Guarded) -> None:
    with Connection(url(guarded), transport_options={"properties": security(guarded)}) as connection:
        jobs = Queue("tls-jobs", Exchange("tls-jobs"), routing_key="tls-jobs")
        news = Queue("tls-news", Exchange("tls-news", type="fanout"), auto_delete=True)
        found: list[Any] = []

        def take(body: Any, message: Any) -> None:
            found.append(body)
            message.ack()

        with Consumer(connection, [jobs, news], callbacks=[take]):
            producer = Producer(connection)
            producer.publish("a job", exchange=jobs.exchange, routing_key="tls-jobs", declare=[jobs])
            producer.publish("news", exchange=news.exchange)
            while len(found) < 2:
                connection.drain_events(timeout=PATIENCE_S)
    assert sorted(found) == ["a job", "news"]


def test_a_task_of_celery(guarded: Guarded) -> None:
    app = Celery("tls", broker=url(guarded), backend="cache+memory://")
    app.conf.update(task_default_queue="tls-tasks", broker_transport_options={"properties": security(guarded)})

    @app.task(name="tls.add")  # type: ignore[untyped-decorator]
    def add(a: int, b: int) -> int:
        return a + b

    with start_worker(app, pool="solo", perform_ping_check=False):
        assert add.delay(1, 2).get(timeout=PATIENCE_S) == 3


def test_a_wrong_password_is_refused_and_not_tried_for_ever(guarded: Guarded) -> None:
    with pytest.raises(AuthenticationFailed, match="Invalid username or password"):
        Connection(url(guarded, "wrong"), transport_options={"properties": security(guarded)}).connect()


def test_without_the_authority_the_broker_is_not_believed(guarded: Guarded) -> None:
    properties = {**security(guarded), "ssl.truststore.location": str(guarded.other.certificate)}
    with pytest.raises((AuthenticationFailed, Unreachable), match="certificate"):
        Connection(url(guarded), transport_options={"properties": properties}).connect()


def test_a_worker_and_its_sender(guarded: Guarded) -> None:
    with Connection(url(guarded), transport_options={"properties": security(guarded)}) as connection:
        Queue("tls-parcels")(connection.default_channel).declare()  # makes the topic
    properties = {**security(guarded), "sasl.username": "alice", "sasl.password": "wonderland"}
    app = Worker(
        f"localhost:{guarded.broker.port}",
        group="tls-packers",
        group_config={"share.auto.offset.reset": "earliest"},
        properties=properties,
    )
    found: list[bytes] = []

    async def run() -> None:
        stop = asyncio.Event()

        @app.handler("tls-parcels")
        async def pack(value: bytes) -> None:
            found.append(value)
            stop.set()

        async with asyncio.timeout(PATIENCE_S):
            await app.serve(stop=stop)

    with app.sender() as sender:
        sender.send("tls-parcels", "apples")
    asyncio.run(run())
    assert found == [b"apples"]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_task_of_taskiq(guarded: Guarded, run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """`taskiq worker` uses uvloop if installed."""
    properties = {**security(guarded), "sasl.username": "alice", "sasl.password": "wonderland"}

    async def send_and_work() -> None:
        app = ShareqBroker(
            f"localhost:{guarded.broker.port}", topic=f"tls-taskiq-{run.__module__}", properties=properties
        )
        found = asyncio.Event()

        async def work() -> None:
            found.set()

        task = app.register_task(work, "tls.work")
        await app.startup()
        await task.kiq()
        worker = asyncio.create_task(run_receiver_task(app))
        async with asyncio.timeout(PATIENCE_S):
            await found.wait()
        worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await worker
        await app.shutdown()

    run(send_and_work())
