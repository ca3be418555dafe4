"""The contract of FastStream's brokers for `shareq.faststream`, by the subjects of its own `tests/brokers/base`.

FastStream's releases do not include its tests. tests/interop/test_frameworks.py runs these if FastStream is installed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from faststream import AckPolicy, BaseMiddleware, ExceptionMiddleware
from faststream.exceptions import NackMessage, RejectMessage, SetupError
from faststream.kafka import TestKafkaBroker
from faststream.kafka.annotations import KafkaMessage

from shareq.faststream import ShareBroker, ShareRouter
from shareq.testing import Broker

PATIENCE_S: Final = 60.0
_numbers = count(1)
KILLED: Final = """
import asyncio, os, pathlib
from shareq.faststream import ShareBroker

app = ShareBroker("BROKER")
HERE = pathlib.Path(__file__).parent


@app.subscriber("NAME")
async def work(job: str) -> None:
    with open(HERE / "seen", "a") as seen:
        print(job, os.getpid(), file=seen, flush=True)
    while not (HERE / "may end").exists():
        await asyncio.sleep(0.05)


async def main() -> None:
    async with app:
        await app.start()
        await asyncio.Event().wait()


asyncio.run(main())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Broker]:
    settings = {
        "group.share.min.record.lock.duration.ms": "1000",
        "errors.deadletterqueue.auto.create.topics.enable": "true",
    }
    with Broker(config=settings) as running:
        yield running


@pytest.fixture
def name() -> str:
    return f"t{next(_numbers)}"


@pytest.fixture
def app(server: Broker) -> ShareBroker:
    return ShareBroker(server.bootstrap)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


async def done(server: Broker, name: str) -> None:
    await until(lambda: server.undone(name, name) == 0)


# -- consume


async def test_consume_each_message_is_accepted_alone(server: Broker, app: ShareBroker, name: str) -> None:
    got: list[int] = []

    @app.subscriber(name)
    async def handler(number: int) -> None:
        got.append(number)

    async with app:
        await app.start()
        for number in range(5):
            await app.publish(number, name)
        await done(server, name)
    assert sorted(got) == list(range(5))
    assert server.group_counts(name, name).accepted == 5


async def test_consume_two_subscribers_of_a_group_share_a_partition(server: Broker, name: str) -> None:
    first, second = ShareBroker(server.bootstrap), ShareBroker(server.bootstrap)
    got: list[str] = []
    go_on = asyncio.Event()
    for app in (first, second):

        @app.subscriber(name)
        async def handler(job: str) -> None:
            got.append(job)
            await go_on.wait()

    async with first, second:
        await first.start()
        await second.start()
        await first.publish("one", name)
        await first.publish("two", name)
        await until(lambda: len(got) == 2)
        go_on.set()
        await done(server, name)
    assert sorted(got) == ["one", "two"]


async def test_consume_batches(server: Broker, app: ShareBroker, name: str) -> None:
    got: list[int] = []

    @app.subscriber(name, batch=True)
    async def handler(numbers: list[int]) -> None:
        got.extend(numbers)

    async with app:
        await app.start()
        await app.publish_batch(1, 2, 3, topic=name)
        await done(server, name)
    assert sorted(got) == [1, 2, 3]
    assert server.group_counts(name, name).accepted == 3


async def test_consume_with_several_workers_at_once(server: Broker, app: ShareBroker, name: str) -> None:
    at_work: set[str] = set()
    both = asyncio.Event()

    @app.subscriber(name, max_workers=2)
    async def handler(job: str) -> None:
        at_work.add(job)
        if len(at_work) == 2:
            both.set()
        await both.wait()

    async with app:
        await app.start()
        for job in ("one", "two"):
            await app.publish(job, name)
        await done(server, name)
    assert at_work == {"one", "two"}


async def test_consume_by_get_one_and_by_iteration(server: Broker, app: ShareBroker, name: str) -> None:
    subscriber = app.subscriber(name)
    async with app:
        await app.start()
        await app.publish("one", name)
        await app.publish("two", name)
        first = await subscriber.get_one(timeout=PATIENCE_S)
        await first.ack()
        async for message in subscriber:
            assert await message.decode() == "two"
            await message.ack()
            break
        await done(server, name)
    assert await first.decode() == "one"


# -- acknowledgement


@pytest.mark.parametrize(
    ("policy", "counts"),
    [
        (None, (0, 0, 1)),
        (AckPolicy.REJECT_ON_ERROR, (0, 0, 1)),
        (AckPolicy.NACK_ON_ERROR, (1, 1, 0)),
        (AckPolicy.ACK, (1, 0, 0)),
        (AckPolicy.ACK_FIRST, (1, 0, 0)),
    ],
)
async def test_acknowledgement_after_an_error_is_the_policys(
    server: Broker, app: ShareBroker, name: str, policy: AckPolicy | None, counts: tuple[int, int, int]
) -> None:
    """The policy decides whether the message is accepted, released or rejected."""
    tries: list[str] = []

    @app.subscriber(name, **({} if policy is None else {"ack_policy": policy}))
    async def handler(job: str) -> None:
        tries.append(job)
        if len(tries) == 1:
            raise ValueError("no")

    async with app:
        await app.start()
        await app.publish("one", name)
        await done(server, name)
    found = server.group_counts(name, name)
    assert (found.accepted, found.released, found.rejected) == counts


async def test_acknowledgement_by_hand_and_by_exception(server: Broker, app: ShareBroker, name: str) -> None:
    seen: list[str] = []

    @app.subscriber(name, ack_policy=AckPolicy.MANUAL)
    async def handler(job: str, message: KafkaMessage) -> None:
        seen.append(job)
        if seen.count(job) > 1 or job == "accept":
            await message.ack()
        elif job == "release":
            await message.nack()
        else:
            await message.reject()

    other = f"{name}-other"

    @app.subscriber(other)
    async def raising(job: str) -> None:
        seen.append(job)
        if seen.count(job) == 1:
            raise NackMessage
        raise RejectMessage

    async with app:
        await app.start()
        for job in ("accept", "release", "reject"):
            await app.publish(job, name)
        await app.publish("raised", other)
        await done(server, name)
        await done(server, other)
    found, raised = server.group_counts(name, name), server.group_counts(other, other)
    assert (found.accepted, found.released, found.rejected) == (2, 1, 1)
    assert (raised.accepted, raised.released, raised.rejected) == (0, 1, 1)


async def test_acknowledgement_rejected_messages_are_dead_letters(server: Broker, name: str) -> None:
    app = ShareBroker(server.bootstrap, group_config={"errors.deadletterqueue.topic.name": f"dlq.{name}"})

    @app.subscriber(name)
    async def handler(number: int) -> None: ...

    async with app:
        await app.start()
        await app.publish("no number", name)
        await done(server, name)
    assert len(await asyncio.to_thread(server.assert_dead_lettered, name)) == 1


# -- publish, middlewares, routers, parsers


async def test_publish_by_decorator_and_by_reply_to(server: Broker, app: ShareBroker, name: str) -> None:
    got: list[int] = []

    @app.subscriber(name)
    @app.publisher(f"{name}-out")
    async def handler(number: int) -> int:
        return number + 1

    @app.subscriber(f"{name}-out", f"{name}-reply", group_id=f"{name}-out")
    async def out(number: int) -> None:
        got.append(number)

    async with app:
        await app.start()
        await app.publish(1, name, reply_to=f"{name}-reply")
        await until(lambda: len(got) == 2)


async def test_middlewares_see_what_comes_and_what_goes(server: Broker, name: str) -> None:
    seen: list[str] = []

    class Watching(BaseMiddleware):
        async def on_receive(self) -> Any:
            seen.append("received")
            return await super().on_receive()

        async def consume_scope(self, call_next: Any, msg: Any) -> Any:
            seen.append("consumed")
            return await call_next(msg)

        async def publish_scope(self, call_next: Any, cmd: Any) -> Any:
            seen.append("published")
            return await call_next(cmd)

    app = ShareBroker(server.bootstrap, middlewares=(Watching,))

    @app.subscriber(name)
    async def handler(job: str) -> None: ...

    async with app:
        await app.start()
        await app.publish("one", name)
        await done(server, name)
    assert seen == ["published", "received", "consumed"]


async def test_middlewares_an_exception_that_is_handled_accepts(server: Broker, name: str) -> None:
    handled = ExceptionMiddleware()

    @handled.add_handler(ValueError)
    async def note(error: ValueError) -> None: ...

    app = ShareBroker(server.bootstrap, middlewares=(handled,))

    @app.subscriber(name)
    async def handler(job: str) -> None:
        raise ValueError("no")

    async with app:
        await app.start()
        await app.publish("one", name)
        await done(server, name)
    assert server.group_counts(name, name).accepted == 1


async def test_parsers_and_filters_choose_among_handlers(server: Broker, app: ShareBroker, name: str) -> None:
    got: list[str] = []

    async def decode(message: Any, original: Any) -> Any:
        return f"decoded {await original(message)}"

    subscriber = app.subscriber(name, decoder=decode)

    @subscriber(filter=lambda message: message.headers.get("kind") == "parcel")
    async def parcel(job: str) -> None:
        got.append(f"parcel {job}")

    @subscriber
    async def other(job: str) -> None:
        got.append(f"other {job}")

    async with app:
        await app.start()
        await app.publish("one", name, headers={"kind": "parcel"})
        await app.publish("two", name)
        await done(server, name)
    assert sorted(got) == ["other decoded two", "parcel decoded one"]


async def test_routers_have_prefixes(server: Broker, app: ShareBroker, name: str) -> None:
    router = ShareRouter(prefix="in-")

    @router.subscriber(name, group_id=name)
    async def handler(number: int) -> None: ...

    app.include_router(router)
    topic = f"in-{name}"
    async with app:
        await app.start()
        await app.publish(1, topic)
        await app.publish("no number", topic)
        await until(lambda: server.undone(name, topic) == 0)
    counts = server.group_counts(name, topic)
    assert (counts.accepted, counts.rejected) == (1, 1)


async def test_testclient_needs_no_server(name: str) -> None:
    app = ShareBroker("nowhere:9092")

    @app.subscriber(name)
    async def handler(number: int) -> None: ...

    async with TestKafkaBroker(app):
        await app.publish(1, name)
        handler.mock.assert_called_once_with(1)


def test_options_that_no_share_group_has_are_refused(app: ShareBroker) -> None:
    with pytest.raises(SetupError):
        app.subscriber(pattern="orders.*")


def test_kills_a_killed_subscribers_message_comes_again(server: Broker, name: str, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(KILLED.replace("BROKER", server.bootstrap).replace("NAME", name))
    server.topic(name)
    server.produce(name, b'"one"')
    seen = tmp_path / "seen"

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("ab") as log:
            return subprocess.Popen([sys.executable, tmp_path / "work.py"], stdout=log, stderr=log)

    def lines() -> list[str]:
        return seen.read_text().splitlines() if seen.exists() else []

    workers = [start()]
    try:
        server.wait_until(lambda: len(lines()) == 1, PATIENCE_S)
        os.kill(workers[0].pid, signal.SIGKILL)
        workers[0].wait()
        workers.append(start())
        server.wait_until(lambda: len(lines()) == 2, PATIENCE_S)
        (tmp_path / "may end").touch()
        server.assert_acknowledged(name, name)
    finally:
        for each in workers:
            each.kill()
            each.wait()
