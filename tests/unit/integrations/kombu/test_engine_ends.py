"""The end of kombu's client, whatever ends its thread: no socket stays open."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterator

import pytest

import shareq.kombu.engine as engine_module
from shareq.aio import ShareRecord
from shareq.client.errors import Unreachable
from shareq.kombu.engine import Engine
from shareq.kombu.names import GROUP_CONFIG
from shareq.kombu.queue_consumer import QueueConsumer
from shareq.testing import Broker

TOPIC = "parcels"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        yield running


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the log: pytest keeps each line, with its traceback and so with the client."""
    monkeypatch.setattr(engine_module.logger, "disabled", True)


def left_open(program: Callable[[], None]) -> list[str]:
    """Return the warnings about unclosed objects after the program's objects are gone."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program()
        gc.collect()
    return [str(each.message) for each in found if issubclass(each.category, ResourceWarning)]


def engine_of(broker: Broker) -> Engine:
    engine = Engine({"bootstrap.servers": broker.bootstrap})
    engine.ensure_topic(TOPIC, 1, 1, {})
    engine.ensure_group(TOPIC, GROUP_CONFIG)
    return engine


def end(engine: Engine) -> None:
    """Raise SystemExit in a callback, as a signal handler or a library may, and wait for the thread's end."""

    def ends() -> None:
        raise SystemExit

    engine.soon(ends)
    engine._thread.join(30)
    assert not engine._thread.is_alive()


def consumer_of(engine: Engine) -> QueueConsumer:
    def nothing(*_: object) -> None: ...

    def one() -> int:
        return 1

    return QueueConsumer(engine, TOPIC, 60.0, one, nothing, nothing, nothing, 2000)


def test_a_client_that_has_sent_leaves_no_socket(broker: Broker) -> None:
    def program() -> None:
        engine = engine_of(broker)
        engine.send(TOPIC, b"one")
        end(engine)

    assert not left_open(program)


def test_a_client_that_consumes_leaves_no_socket(broker: Broker) -> None:
    def program() -> None:
        engine = engine_of(broker)
        consumer = consumer_of(engine)
        engine.run(consumer.open(), 30)
        engine.run(consumer.consume(), 30)
        engine.send(TOPIC, b"one")
        engine.run(_until(lambda: consumer.in_hand > 0), 30)
        end(engine)

    assert not left_open(program)


def test_a_client_that_moves_tasks_to_the_end_of_the_log_leaves_no_socket(broker: Broker) -> None:
    def program() -> None:
        engine = engine_of(broker)
        taken: list[ShareRecord] = []
        consumer = consumer_of(engine)
        consumer._arrived = lambda _, record: taken.append(record)
        engine.run(consumer.open(), 30)
        engine.run(consumer.consume(), 30)
        engine.send(TOPIC, b"one")
        engine.run(_until(lambda: bool(taken)), 30)
        engine.soon(consumer.waits, taken[0], 3600.0)
        again = consumer._waiting._again
        engine.run(_until(lambda: again._network is not None and bool(again._network._connections)), 30)
        end(engine)

    assert not left_open(program)


def test_a_client_that_follows_an_exchange_leaves_no_socket(broker: Broker) -> None:
    def program() -> None:
        engine = engine_of(broker)

        async def listen() -> None:
            await engine.tail(TOPIC).listen(lambda _: None)

        engine.run(listen(), 30)
        end(engine)

    assert not left_open(program)


def test_a_call_under_way_is_refused_at_once_when_the_client_ends(broker: Broker) -> None:
    """A caller once waited for the whole timeout of a thread that had ended."""
    engine = engine_of(broker)

    async def never() -> None:
        asyncio.get_running_loop().call_soon(_exit)
        await asyncio.Event().wait()

    with pytest.raises(Unreachable, match="the client's thread has ended"):
        engine.run(never(), 60)
    engine._thread.join(30)


def _exit() -> None:
    raise SystemExit


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)
