"""Kombu over share groups on a real broker: acknowledgements, requeues, exchanges, transient messages, sizes."""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue

import shareq.kombu
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.kombu.engine import EngineEnded
from shareq.kombu.queue_consumer import ConsumerEnded, LocksLost
from shareq.testing import Broker
from tests.support.processes import finished
from tests.support.waiting import until

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


Connect = Callable[..., Connection]


@pytest.fixture
def connect(broker: Broker) -> Iterator[Connect]:
    shareq.kombu.register()
    made: list[Connection] = []

    def make(**options: Any) -> Connection:
        made.append(Connection(f"kafka-share://{broker.bootstrap}//", transport_options=options))
        return made[-1]

    yield make
    for each in made:
        each.release()


@pytest.fixture
def name() -> str:
    return f"queue-{next(_numbers)}"


def queue_of(name: str, **more: Any) -> Queue:
    return Queue(name, Exchange(f"{name}-exchange"), routing_key=name, **more)


def send(connection: Connection, queue: Queue, *bodies: Any, **more: Any) -> None:
    producer = Producer(connection)
    for body in bodies:
        producer.publish(body, exchange=queue.exchange, routing_key=queue.routing_key, declare=[queue], **more)


class Taking:
    def __init__(self, connection: Connection, *queues: Queue, prefetch: int = 0, no_ack: bool = False) -> None:
        self.connection = connection
        self.messages: list[Any] = []
        self.consumer = Consumer(connection, list(queues), callbacks=[self._take], no_ack=no_ack)
        if prefetch:
            self.consumer.qos(prefetch_count=prefetch)
        self.consumer.consume()

    def _take(self, body: Any, message: Any) -> None:
        self.messages.append(message)

    @property
    def bodies(self) -> list[Any]:
        return [message.payload for message in self.messages]

    def until(self, count: int) -> list[Any]:
        deadline = time.monotonic() + PATIENCE_S
        while len(self.messages) < count:
            self.connection.drain_events(timeout=deadline - time.monotonic())
        return self.bodies

    def nothing_comes(self) -> None:
        with pytest.raises(socket.timeout):
            self.connection.drain_events(timeout=0.3)


def test_messages_are_acknowledged_one_by_one_out_of_order(connect: Connect, name: str) -> None:
    queue = queue_of(name)
    first, second = connect(), connect()
    send(first, queue, *range(4))
    taking = Taking(first, queue)
    assert taking.until(4) == [0, 1, 2, 3]
    taking.messages[3].ack()
    taking.messages[1].ack()
    first.release()
    assert sorted(Taking(second, queue).until(2)) == [0, 2]


def test_any_number_of_consumers_share_one_partition(connect: Connect, name: str) -> None:
    queue = queue_of(name)
    members = [Taking(connect(), queue, prefetch=1) for _ in range(4)]
    send(members[0].connection, queue, *range(4))
    for member in members:
        member.until(1)
    assert sorted(body for member in members for body in member.bodies) == [0, 1, 2, 3]
    send(members[0].connection, queue, 4)
    for member in members:
        member.nothing_comes()  # each holds as many as it may
    members[2].messages[0].ack()
    assert members[2].until(2)[1] == 4


def test_what_is_requeued_comes_again_and_what_is_rejected_is_a_dead_letter(
    connect: Connect, name: str, broker: Broker
) -> None:
    letters = f"dlq.{name}"
    config = {"errors.deadletterqueue.topic.name": letters, "errors.deadletterqueue.copy.record.enable": "true"}
    connection, queue = connect(group_config=config), queue_of(name)
    send(connection, queue, "again", "never")
    taking = Taking(connection, queue)
    taking.until(2)
    assert [message.delivery_info["redelivered"] for message in taking.messages] == [False, False]
    taking.messages[0].requeue()
    taking.messages[1].reject()
    taking.until(3)
    assert taking.bodies[2] == "again"
    assert taking.messages[2].delivery_info["redelivered"] is True
    taking.messages[2].ack()
    taking.nothing_comes()
    until(lambda: connection.default_channel._has_queue(letters), "the broker makes it")
    dead = Taking(connection, Queue(letters))
    assert dead.until(1) == ["never"]
    dead.messages[0].ack()


def test_the_lock_of_a_message_in_hand_is_renewed(connect: Connect, name: str) -> None:
    queue = queue_of(name)
    first = connect(group_config={"share.record.lock.duration.ms": "1000"})
    send(first, queue, "slow")
    taking = Taking(first, queue)
    taking.until(1)
    other = Taking(connect(), queue)
    ends = time.monotonic() + 3
    while time.monotonic() < ends:
        other.nothing_comes()
    taking.messages[0].ack()
    other.nothing_comes()


def test_fanout_goes_to_all_who_listen(connect: Connect, name: str) -> None:
    exchange = Exchange(name, type="fanout")
    listening = [Taking(connect(), Queue(f"{name}-{n}", exchange, auto_delete=True), no_ack=True) for n in range(3)]
    durable = Queue(f"{name}-durable", exchange)
    sending = connect()
    Producer(sending).publish("to all", exchange=exchange, declare=[durable])
    for each in listening:
        assert each.until(1) == ["to all"]
    late = Taking(connect(), Queue(f"{name}-late", exchange, auto_delete=True), durable, no_ack=True)
    assert late.until(1) == ["to all"], "of the durable queue alone"
    late.nothing_comes()


def test_what_is_said_to_all_is_handed_on_before_messages(connect: Connect, name: str) -> None:
    """Celery may revoke a task just before sending it."""
    connection, queue = connect(), queue_of(name)
    news = Queue(f"{name}-news", Exchange(f"{name}-news", type="fanout"), auto_delete=True)
    order: list[str] = []
    tasks, control = connection.channel(), connection.channel()

    def take(body: str, message: Any) -> None:
        order.append(body)

    with (
        Consumer(tasks, [queue], callbacks=[take], no_ack=True),
        Consumer(control, [news], callbacks=[take], no_ack=True),
    ):
        send(connection, queue, "task")
        Producer(connection).publish("news", exchange=news.exchange)
        until(lambda: tasks.ready and control.ready)
        for _ in range(2):
            connection.drain_events(timeout=PATIENCE_S)
    assert order == ["news", "task"]


def test_transient_queues_hear_by_routing_key(connect: Connect, name: str) -> None:
    topics, direct = Exchange(f"{name}-t", type="topic"), Exchange(f"{name}-d", type="direct", durable=False)
    events = Taking(connect(), Queue(f"{name}-events", topics, routing_key="task.*", auto_delete=True), no_ack=True)
    replies = Taking(connect(), Queue(f"{name}-me", direct, routing_key="me", durable=False, exclusive=True))
    producer = Producer(connect())
    for key in ("task.done", "worker.online", "other.task.done"):
        producer.publish(key, exchange=topics, routing_key=key)
    for key in ("you", "me"):
        producer.publish(key, exchange=direct, routing_key=key)
    assert events.until(1) == ["task.done"]
    events.nothing_comes()
    assert replies.until(1) == ["me"]
    replies.nothing_comes()
    replies.messages[0].requeue()
    assert replies.until(2) == ["me", "me"]


def test_priorities_are_refused(connect: Connect, name: str) -> None:
    connection = connect()
    with pytest.raises(NotImplementedError, match="a log has no priorities"):
        send(connection, queue_of(name), "urgent", priority=5)
    with pytest.raises(NotImplementedError, match="a log has no priorities"):
        queue_of(name, max_priority=10)(connection).declare()


def test_get_size_purge_and_delete(connect: Connect, name: str) -> None:
    connection, queue = connect(), queue_of(name)
    send(connection, queue, *range(5))
    bound = queue(connection)
    assert bound.queue_declare().message_count == 5
    first = bound.get()
    assert first.payload == 0
    assert bound.purge() == 4, "what is in hand stays"
    assert bound.get() is None
    first.requeue()
    again = bound.get()
    assert (again.payload, again.delivery_info["redelivered"]) == (0, True)
    again.ack()
    until(lambda: not bound.queue_declare(passive=True).message_count)
    bound.delete()
    with pytest.raises(connection.channel_errors):
        queue_of(name)(connect()).queue_declare(passive=True)


def test_a_bounded_number_is_taken_ahead(connect: Connect, name: str, broker: Broker) -> None:
    connection, queue = connect(), queue_of(name)
    send(connection, queue, *range(20))
    taking = Taking(connection, queue, prefetch=3)
    taking.until(3)
    taking.nothing_comes()
    other = Taking(connect(), queue)
    assert other.until(17) == list(range(3, 20))


def test_a_cancelled_consumer_releases_what_it_was_not_handed(connect: Connect, name: str) -> None:
    connection, queue = connect(), queue_of(name)
    send(connection, queue, *range(6))
    taking = Taking(connection, queue)
    taking.until(1)
    taking.consumer.cancel()
    other = Taking(connect(), queue)
    assert sorted(other.until(5)) == [1, 2, 3, 4, 5]
    taking.messages[0].ack()
    other.nothing_comes()


def test_a_cancelled_consumer_takes_nothing_that_comes_later(connect: Connect, name: str) -> None:
    """The consumer's waiting fetch would acquire the next messages, so it ends."""
    connection, queue = connect(), queue_of(name)
    send(connection, queue, 0)
    taking = Taking(connection, queue)
    taking.until(1)
    taking.consumer.cancel()
    other = Taking(connect(), queue)
    send(connection, queue, 1, 2, 3)
    assert sorted(other.until(3)) == [1, 2, 3]
    taking.messages[0].ack()
    other.nothing_comes()


def test_locks_that_are_lost_are_a_lost_connection(name: str) -> None:
    shareq.kombu.register()
    with Broker() as broker:
        connection, queue = Connection(f"kafka-share://{broker.bootstrap}//"), queue_of(name)
        send(connection, queue, "first")
        taking = Taking(connection, queue)
        taking.until(1)
        broker.kill()
        broker.start()
        with pytest.raises(LocksLost) as caught:
            connection.drain_events(timeout=PATIENCE_S)
        assert isinstance(caught.value, connection.connection_errors)
        connection.close()
        again = Taking(connection, queue)
        assert again.until(1) == ["first"]
        send(connection, queue, "second")
        assert again.until(2)[1] == "second"
        connection.release()


def test_a_broker_that_is_away_is_a_failed_connection() -> None:
    shareq.kombu.register()
    connection = Connection("kafka-share://127.0.0.1:1//", connect_timeout=0.3)
    with pytest.raises(connection.connection_errors, match=r"127\.0\.0\.1:1"):
        connection.connect()


FORK = """
import os, sys
import shareq.kombu
from kombu import Connection, Producer, Queue
shareq.kombu.register()
queue = Queue(sys.argv[2])
with Connection(f"kafka-share://{sys.argv[1]}//") as connection:
    Producer(connection).publish("parent", routing_key=queue.name, declare=[queue])
    child = os.fork()
    if not child:
        connection.release()  # of the parent: nothing happens to it
        with Connection(f"kafka-share://{sys.argv[1]}//") as own:
            Producer(own).publish("child", routing_key=queue.name)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    Producer(connection).publish("parent again", routing_key=queue.name)
"""


def test_a_forked_process_has_a_client_of_its_own(connect: Connect, name: str, broker: Broker) -> None:
    done = finished([sys.executable, "-c", FORK, broker.bootstrap, name], timeout_s=60)
    assert done.returncode == 0, done.stderr
    assert Taking(connect(), Queue(name)).until(3) == ["parent", "child", "parent again"]


def test_topics_have_the_options_of_the_connection(connect: Connect, name: str, broker: Broker) -> None:
    connection = connect(prefix="app.", partitions=3, topic_config={"retention.ms": "1000000"})
    send(connection, queue_of(name), "x")
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    try:
        admin = Admin(network)
        ((_, topic),) = admin.topics.describe([f"app.{name}"])
        ((_, configs),) = admin.configs.describe([("topic", f"app.{name}")], ["retention.ms"])
    finally:
        network.close()
    assert len(topic.partitions) == 3  # type: ignore[union-attr]
    assert [each.value for each in configs] == ["1000000"]  # type: ignore[union-attr]


def test_a_consumer_that_fails_is_a_lost_connection_and_its_messages_come_again(
    connect: Connect, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, queue = connect(), queue_of(name)
    send(connection, queue, "one")

    def fails(*arguments: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(connection.default_channel.__class__, "_arrival", fails)
    Taking(connection, queue)
    with pytest.raises(ConsumerEnded, match=r"its consumer ended: RuntimeError"):
        connection.drain_events(timeout=PATIENCE_S)
    monkeypatch.undo()
    connection.release()
    assert Taking(connect(), queue).until(1) == ["one"]


def test_a_client_whose_thread_ends_is_a_lost_connection_and_the_next_has_a_new_one(
    connect: Connect, name: str
) -> None:
    connection, queue = connect(), queue_of(name)
    Taking(connection, queue)
    engine = connection.transport.engine

    def ends() -> None:
        raise SystemExit

    engine.soon(ends)
    with pytest.raises(EngineEnded, match="the client's thread ended: SystemExit"):
        connection.drain_events(timeout=PATIENCE_S)
    connection.release()
    other = connect()
    send(other, queue, "two")
    assert Taking(other, queue_of(f"{name}-other")).connection.transport.engine is not engine


def test_what_is_no_message_is_rejected_and_the_next_one_comes(connect: Connect, name: str) -> None:
    connection, queue = connect(), queue_of(name)
    send(connection, queue, "before")
    connection.default_channel.connection.engine.send(name, b"[" * 100_000)
    send(connection, queue, "after")
    assert Taking(connection, queue).until(2) == ["before", "after"]
