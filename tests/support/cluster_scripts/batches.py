"""Scripts about appends to a partition: sizes, damage, keys, timestamps, acknowledgements, addresses."""

from __future__ import annotations

from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.support.cluster_scripts.building import TIMESTAMP_MS, WAIT_MS, batch, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation


def sizes(talk: Conversation) -> None:
    """Produce a batch larger than max.message.bytes: it is refused, and no other batch of its topic."""
    topic = talk.topic(configs={"max.message.bytes": "500"})
    fits = batch(b"x" * 400)
    talk.note("bytes", len(fits))
    produce(talk, topic, fits)
    produce(talk, topic, batch(b"x" * 500))
    produce(talk, topic, batch(*[b"x" * 100] * 5))
    produce(talk, topic, batch(b"small"))


def damage(talk: Conversation) -> None:
    """Produce damaged batches: a wrong CRC is corrupt; two batches, none, and a control batch are invalid."""
    topic, sound = talk.topic(), batch(b"abc")
    broken = bytearray(sound)
    broken[-2] ^= 1
    produce(talk, topic, bytes(broken))
    produce(talk, topic, sound + sound)
    produce(talk, topic, b"")
    control = build_batch([RecordData(b"k", b"v")], timestamp_ms=TIMESTAMP_MS, control=True, producer_id=1)
    produce(talk, topic, bytes(control))
    fetch(talk, topic)


def keys(talk: Conversation) -> None:
    """Produce without a key to a compacted topic, which refuses it."""
    topic = talk.topic(configs={"cleanup.policy": "compact"})
    produce(talk, topic, batch(b"x", key=None))
    produce(talk, topic, batch(b"x"))
    produce(
        talk, topic, bytes(build_batch([RecordData(b"k", b"1"), RecordData(None, b"2")], timestamp_ms=TIMESTAMP_MS))
    )


def times(talk: Conversation) -> None:
    """Produce timestamps too far ahead, which are refused, and to topics with the leader's timestamps."""
    topic = talk.topic("created", configs={"message.timestamp.before.max.ms": "1000"})
    produce(talk, topic, batch(b"old", timestamp_ms=1_000))
    produce(talk, topic, batch(b"far ahead", timestamp_ms=TIMESTAMP_MS * 2))
    appended = talk.topic("appended", configs={"message.timestamp.type": "LogAppendTime"})
    produce(talk, appended, batch(b"x"))


def compressed(talk: Conversation) -> None:
    topic = talk.topic()
    for codec in (Compression.GZIP, Compression.LZ4, Compression.SNAPPY):
        records = [RecordData(None, b"x" * 100) for _ in range(3)]
        produce(talk, topic, bytes(build_batch(records, timestamp_ms=TIMESTAMP_MS, compression=codec)))
    talk.note("last offsets", fetch_ends(talk, topic))


def fetch_ends(talk: Conversation, topic: str) -> int:
    return fetch(talk, topic, 9).responses[0].partitions[0].high_watermark


def acknowledgements(talk: Conversation) -> None:
    """Produce with various acks: only -1, 0 and 1 are valid."""
    topic = talk.topic()
    produce(talk, topic, batch(b"x"), acks=2)
    produce(talk, topic, batch(b"x"), acks=-2)
    produce(talk, topic, batch(b"x"), acks=1)


def too_few_replicas(talk: Conversation) -> None:
    """Produce with fewer in sync than min.insync.replicas: acks=all is refused, acks=1 is not."""
    topic = talk.topic(configs={"min.insync.replicas": "2"})
    produce(talk, topic, batch(b"x"))
    produce(talk, topic, batch(b"x"), acks=1)


def addresses(talk: Conversation) -> None:
    """Produce to a missing topic or partition; each row is answered separately."""
    topic = talk.topic(partitions=2)
    rows = [
        TopicProduceData(topic, talk.id_of(topic), [PartitionProduceData(each, batch(b"x")) for each in (0, 5, 1)]),
        TopicProduceData(talk.name("unknown"), b"\x01" * 16, [PartitionProduceData(0, batch(b"x"))]),
    ]
    talk.ask(ProduceRequest(None, -1, WAIT_MS, rows), ProduceResponse)
    talk.ask(ProduceRequest(None, -1, WAIT_MS, rows), ProduceResponse, version=11)
