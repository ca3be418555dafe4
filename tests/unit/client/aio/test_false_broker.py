"""All asyncio clients, and the libraries built on them, against a broker that lies: each ends in time with an error."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from random import Random
from typing import Any, Final

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError
from taskiq import BrokerMessage

import shareq.aio
import shareq.kombu
from shareq.aio import AuthenticationFailed, ClientError, ConfigError, Producer, ShareConsumer
from shareq.kombu import engine
from shareq.kombu.engine import Engine
from shareq.protocol.api_keys import ApiKey
from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from shareq.worker import Worker
from tests.support.clients.shareq_cli import Shell
from tests.support.fakes.false_broker import FalseBroker, take_small_producer_ids
from tests.support.fakes.scram_peer import SCRAM_LOGIN, wants_iterations
from tests.support.fakes.scripted_peer import ScriptedBroker

PATIENCE_S: Final = 20.0  # of a machine that is busy
SEEDS: Final = 16
AT_ONCE: Final = 4
"""The number of clients that get false answers at the same time, each in a group of its own: they mostly wait."""
GROUPS: Final = [f"workers-{number}" for number in range(AT_ONCE)]
SHORT_MS, PATIENT_MS = "300", "20000"
PROPERTIES: Final = {
    "default.api.timeout.ms": SHORT_MS,
    "request.timeout.ms": SHORT_MS,
    "retry.backoff.ms": "10",
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "50",
}
_START: Final = [ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FIND_COORDINATOR]
_MEMBER: Final = [ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.INIT_PRODUCER_ID, ApiKey.INCREMENTAL_ALTER_CONFIGS]
HONEST: Final = (frozenset[int](), frozenset[int](_START[:1]), frozenset[int](_START), frozenset[int](_START + _MEMBER))
"""The RPCs that are answered honestly, one set after the other, so that false answers come both at the first contact
and much later.
"""


async def consumer(bootstrap: str, group: str) -> None:
    async with ShareConsumer(bootstrap, group, ["orders"], properties=PROPERTIES) as member:
        for _ in range(3):
            await member.poll(timeout_s=0.2, max_records=5)


async def explicit_consumer(bootstrap: str, group: str) -> None:
    async with ShareConsumer(
        bootstrap,
        group,
        ["orders"],
        acknowledgement="explicit",
        acquire_mode="record_limit",
        properties=PROPERTIES,
    ) as member:
        for _ in range(3):
            for record in await member.poll(timeout_s=0.2, max_records=5):
                await record.release()
        await member.commit()


async def producer(bootstrap: str, _group: str) -> None:
    within_ms = int(PROPERTIES["request.timeout.ms"])
    async with Producer(
        bootstrap, delivery_timeout_ms=within_ms, max_block_ms=within_ms, properties=PROPERTIES
    ) as sender:
        await sender.send_and_wait("orders", b"x", key=b"k")
        await sender.send_and_wait("orders", b"y", partition=0)


async def worker(bootstrap: str, group: str) -> None:
    app = Worker(bootstrap, group=group, properties=PROPERTIES, stop_s=1)

    @app.handler("orders", decode="text")
    async def work(_: str) -> None: ...

    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.5, stop.set)
    await app.serve(stop=stop)


async def sender_of_a_worker(bootstrap: str, group: str) -> None:
    app = Worker(bootstrap, group=group, properties=PROPERTIES)

    def send() -> None:
        with app.sender() as sender:
            sender.send("orders", b"x")

    await asyncio.to_thread(send)


async def taskiq(bootstrap: str, group: str) -> None:
    broker = ShareqBroker(bootstrap, topic="orders", group=group, properties=PROPERTIES)

    async def listen() -> None:
        async for message in broker.listen():
            acknowledged = message.ack()
            assert acknowledged is not None
            await acknowledged

    try:
        await broker.startup()
        await broker.kick(BrokerMessage(task_id="a", task_name="b", message=b"{}", labels={}))
        listening = asyncio.create_task(listen())
        await asyncio.wait([listening], timeout=0.5)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        if not listening.cancelled():
            listening.result()
    finally:
        await broker.shutdown()


async def kombu(bootstrap: str, _group: str) -> None:
    """Run the transport, which blocks; its client has a loop of its own in another thread."""
    shareq.kombu.register()
    await asyncio.to_thread(_kombu, bootstrap)


def _kombu(bootstrap: str) -> None:
    with Connection(f"kafka-share://{bootstrap}//", transport_options={"properties": PROPERTIES}) as connection:
        simple = connection.SimpleQueue("orders")
        try:
            simple.put({"a": 1})
            simple.get(timeout=0.3).ack()
        except simple.Empty:
            pass
        finally:
            simple.close()


LIBRARIES: Final[dict[str, Callable[[str, str], Awaitable[None]]]] = {
    "ShareConsumer": consumer,
    "ShareConsumer, explicit": explicit_consumer,
    "Producer": producer,
    "Worker": worker,
    "Sender": sender_of_a_worker,
    "taskiq": taskiq,
    "kombu": kombu,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        take_small_producer_ids(running.address)
        shell = Shell(running.bootstrap)
        shell.ok("topics", "create", "orders")
        for group in GROUPS:
            shell.ok("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest")
        yield running


@pytest.fixture(autouse=True)
def no_client_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End kombu's client, whose thread otherwise waits for the next connection as long as the process lives.

    Its sends time out as soon as those of `Producer` above.
    """
    monkeypatch.setattr(engine, "SEND_S", 0.3)
    yield
    for each in list(Engine._known.values()):
        if each.alive:
            each.soon(each.loop.stop)
            each._thread.join(30)
    Engine._known.clear()


def test_all_clients_of_the_library_are_here() -> None:
    made = {name for name in shareq.aio.__all__ if hasattr(getattr(shareq.aio, name), "close")}
    assert made == {"Producer", "ShareConsumer"}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_lying_broker_gets_an_error_of_the_client(
    broker: Broker, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for first in range(0, SEEDS, AT_ONCE):
        Shell(broker.bootstrap).ok("produce", "orders", "--header", "a=b", stdin="one\ntwo\n")
        seeds = range(first, first + AT_ONCE)
        began = time.monotonic()
        with ExitStack() as stack:
            lying = [stack.enter_context(false_broker(broker, name, seed)).bootstrap for seed in seeds]
            errors = asyncio.run(outcomes(LIBRARIES[name], *lying))
        took_s = time.monotonic() - began
        for seed, error in zip(seeds, errors, strict=True):
            assert error is None or isinstance(error, ClientError | OperationalError), (seed, error)
            assert not isinstance(error, ConfigError), error
            assert error is None or "\n" not in str(error), (seed, error)
        assert took_s < PATIENCE_S, (seeds, errors)
        assert not [each.getMessage() for each in caplog.records if each.exc_info], seeds


def false_broker(broker: Broker, name: str, seed: int) -> FalseBroker:
    rng = Random(f"{name} {seed}")
    return FalseBroker(broker.address, rng.randrange(1 << 30), 0.5, HONEST[seed % len(HONEST)])


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_honest_broker_gets_none(broker: Broker, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients are used correctly; otherwise their answers to lies would mean nothing.

    The timeouts are long, for a busy machine.
    """
    for key in ("default.api.timeout.ms", "request.timeout.ms"):
        monkeypatch.setitem(PROPERTIES, key, PATIENT_MS)
    with FalseBroker(broker.address, 0, 0.0) as honest:
        assert asyncio.run(outcomes(LIBRARIES[name], honest.bootstrap)) == [None]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_broker_that_wants_ten_million_hashes_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in SCRAM_LOGIN.items():
        monkeypatch.setitem(PROPERTIES, key, value)
    with ScriptedBroker(wants_iterations(10_000_000)) as false:
        (error,) = asyncio.run(outcomes(LIBRARIES[name], false.bootstrap))
    assert isinstance(error, AuthenticationFailed)
    assert "10000000 iterations; 4096 to 16384 are taken" in str(error)


async def outcomes(use: Callable[[str, str], Awaitable[None]], *bootstraps: str) -> list[BaseException | None]:
    """Return how each client ended. Errors that asyncio reports as never retrieved fail the test."""
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    async with asyncio.timeout(2 * PATIENCE_S):  # a client that waits for ever raises TimeoutError
        ends = await asyncio.gather(*map(use, bootstraps, GROUPS), return_exceptions=True)
    assert not unseen
    return ends
