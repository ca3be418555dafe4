"""`shareq.aio.Producer` on a broker in this process: its counts and warnings."""

from __future__ import annotations

import asyncio
import gc

import pytest

from devtools.clients.admin import create_topic
from shareq.aio import BrokerError, ConfigError, Producer, ProducerMetrics, ShareConsumer
from shareq.testing import Broker


async def test_what_was_sent_appended_failed_and_waits_is_counted(broker: Broker) -> None:
    create_topic(broker.bootstrap, "counted", max_message_bytes="2000")
    async with Producer(broker.bootstrap, linger_ms=60_000) as producer:
        sent = [await producer.send("counted", b"small") for _ in range(3)]
        waiting = producer.metrics
        assert (waiting.sent, waiting.appended, waiting.buffered) == (3, 0, 3)
        assert waiting.buffered_bytes >= 3 * len(b"small")
        await producer.flush()
        assert [(await each).offset for each in sent] == [0, 1, 2]
        too_large = await producer.send("counted", bytes(3000))
        await producer.flush()
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            await too_large
        assert producer.metrics == ProducerMetrics(sent=4, appended=3, failed=1, requests=2)


async def test_a_batch_is_written_as_a_whole_in_order(broker: Broker) -> None:
    create_topic(broker.bootstrap, "together")
    records = [(b"k", b"%d" % number) for number in range(2_000)]
    async with Producer(broker.bootstrap, batch_bytes=10_000, buffer_bytes=30_000) as producer:
        assert await (await producer.send_batch("together", records)) == 2_000
        assert await (await producer.send_batch("together", [])) == 0
        assert (producer.metrics.appended, producer.metrics.buffered_bytes) == (2_000, 0)
    assert [each.value for each in broker.records("together")] == [value for _, value in records]


async def test_a_batch_with_what_no_record_has_is_not_sent_at_all(broker: Broker) -> None:
    create_topic(broker.bootstrap, "refused")
    async with Producer(broker.bootstrap, max_request_bytes=1_000) as producer:
        with pytest.raises(TypeError, match="value is str"):
            await producer.send_batch("refused", [(None, b"fine"), (None, "text")])  # type: ignore[list-item]
        with pytest.raises(ConfigError, match="max_request_bytes allows 1000"):
            await producer.send_batch("refused", [(None, b"fine"), (None, bytes(2_000))])
        assert producer.metrics.sent == 0


async def test_a_batch_raises_the_first_error_when_all_of_it_is_answered(broker: Broker) -> None:
    create_topic(broker.bootstrap, "partly", max_message_bytes="2000")
    async with Producer(broker.bootstrap, linger_ms=60_000) as producer:
        written = await producer.send_batch("partly", [(None, b"small"), (None, bytes(3_000)), (None, b"small")])
        await producer.flush()
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            await written
        assert (producer.metrics.appended, producer.metrics.failed) == (2, 1)


async def test_a_topic_that_does_not_exist_is_logged_once_while_it_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A silent minute looks like a hanging producer."""
    with Broker(mode="thread", config={"auto.create.topics.enable": "false"}) as broker:
        async with Producer(broker.bootstrap, max_block_ms=600, properties={"retry.backoff.ms": "10"}) as producer:
            with pytest.raises(BrokerError, match="topic absent: UNKNOWN_TOPIC_OR_PARTITION"):
                await producer.send("absent", b"x")
            said = [each for each in caplog.messages if "absent" in each]
            assert said == ["topic absent does not exist: waiting for it, 0.6 s at most"]


async def test_a_topic_that_the_broker_creates_is_no_news(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    async with Producer(broker.bootstrap) as producer:
        await producer.send_and_wait("made-on-demand", b"x")
    assert not [each for each in caplog.messages if "does not exist" in each]


async def test_who_closes_it_a_second_time_waits_for_the_first(broker: Broker) -> None:
    create_topic(broker.bootstrap, "flushed")
    producer = Producer(broker.bootstrap, linger_ms=60_000)
    await producer.send("flushed", b"apples")
    closing = asyncio.create_task(producer.close())
    await asyncio.sleep(0)
    await producer.close()
    assert producer.metrics.appended == 1
    await closing


@pytest.mark.filterwarnings("ignore:unclosed (transport|.socket):ResourceWarning")  # of the loop that has ended
def test_a_producer_that_is_never_closed_warns_of_what_it_holds(broker: Broker) -> None:
    create_topic(broker.bootstrap, "forgotten")

    async def send() -> None:
        await Producer(broker.bootstrap, linger_ms=60_000).send("forgotten", b"apples")

    def forget() -> None:
        asyncio.run(send())
        gc.collect()

    with pytest.warns(ResourceWarning, match="a producer was never closed: 1 records may not be written"):
        forget()


def test_producer_and_share_consumer_run_on_uvloop(broker: Broker) -> None:
    """Other libraries install uvloop, which lacks some of asyncio's options."""
    uvloop = pytest.importorskip("uvloop")
    topic = broker.topic()
    group = broker.share_group()

    async def exchange() -> bytes | None:
        async with Producer(broker.bootstrap) as producer, ShareConsumer(broker.bootstrap, group, [topic]) as consumer:
            await producer.send_and_wait(topic, b"apples")
            record = await consumer.getone(timeout_s=30)
            await record.accept()
            return record.value

    assert uvloop.run(exchange()) == b"apples"
    broker.assert_acknowledged(group, topic)
