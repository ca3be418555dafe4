"""Decode and encode times of ten RPCs, ours and kio's, on this machine: `python -m bench.codecs [--json]`.

Both decode the same bytes and encode what they decoded. The time is the best of several rounds, per message.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from kio.index import load_payload_module
from kio.schema.index import PayloadEntityType
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

import shareq.protocol.primitives
from shareq.protocol.generated import (
    api_versions,
    fetch,
    find_coordinator,
    metadata,
    offset_commit,
    produce,
    share_acknowledge,
    share_fetch,
    share_group_heartbeat,
)
from shareq.protocol.primitives import Message

ROUNDS = 20
ROUND_S = 0.02
TOPIC_ID = bytes(range(16))
BATCH = bytes(range(1, 251)) * 4


@dataclass(frozen=True)
class Row:
    """A row of the table: microseconds per message."""

    message: str
    version: int
    size_bytes: int
    decode_us: float
    kio_decode_us: float
    encode_us: float
    kio_encode_us: float


def messages() -> list[tuple[str, Message, int]]:
    """Return the measured messages: (description, message, version)."""
    acks = [share_acknowledge.AcknowledgementBatch(10 * i, 10 * i + 9, [1]) for i in range(40)]
    return [
        ("Produce request, 1 kB", _produce(), 9),
        ("Fetch request, 10 partitions", _fetch_request(), 17),
        ("Fetch response, 10 partitions", _fetch_response(), 17),
        ("Metadata response, 50 topics", _metadata(), 12),
        ("ApiVersions response, 60 keys", _api_versions(), 3),
        ("ShareFetch request, 10 partitions", _share_fetch_request(), 1),
        ("ShareFetch response, 10 partitions", _share_fetch_response(), 1),
        ("ShareAcknowledge request, 40 batches", _share_acknowledge(acks), 1),
        ("ShareGroupHeartbeat request", _share_group_heartbeat(), 1),
        ("OffsetCommit request, 10 partitions", _offset_commit(), 9),
        ("FindCoordinator request", find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=["group"]), 4),
    ]


def _produce() -> Message:
    partition = produce.PartitionProduceData(0, BATCH)
    topic = produce.TopicProduceData(name="orders", partition_data=[partition])
    return produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def _fetch_request() -> Message:
    partitions = [fetch.FetchPartition(i, 3, 1_000_000 + i, partition_max_bytes=1 << 20) for i in range(10)]
    topics = [fetch.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)]
    return fetch.FetchRequest(max_wait_ms=500, min_bytes=1, session_id=9, session_epoch=4, topics=topics)


def _fetch_response() -> Message:
    partitions = [fetch.PartitionData(i, 0, 5_000, 5_000, 0, records=BATCH) for i in range(10)]
    return fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=partitions)])


def _metadata() -> Message:
    brokers = [metadata.MetadataResponseBroker(i, f"broker-{i}.example.com", 9092) for i in range(3)]
    topics = [
        metadata.MetadataResponseTopic(
            name=f"topic-{i}",
            topic_id=TOPIC_ID,
            partitions=[
                metadata.MetadataResponsePartition(0, at, 0, 1, replica_nodes=[0], isr_nodes=[0]) for at in range(3)
            ],
        )
        for i in range(50)
    ]
    return metadata.MetadataResponse(brokers=brokers, cluster_id="cluster", topics=topics)


def _api_versions() -> Message:
    return api_versions.ApiVersionsResponse(api_keys=[api_versions.ApiVersion(i, 0, 9) for i in range(60)])


def _share_fetch_request() -> Message:
    acks = [share_fetch.AcknowledgementBatch(100, 109, [1])]
    partitions = [share_fetch.FetchPartition(i, acks) for i in range(10)]
    return share_fetch.ShareFetchRequest(
        "group",
        "m" * 22,
        5,
        500,
        1,
        max_records=500,
        batch_size=500,
        topics=[share_fetch.FetchTopic(TOPIC_ID, partitions)],
    )


def _share_fetch_response() -> Message:
    acquired = [share_fetch.AcquiredRecords(100, 199, 1)]
    partitions = [share_fetch.PartitionData(i, records=BATCH, acquired_records=acquired) for i in range(10)]
    return share_fetch.ShareFetchResponse(responses=[share_fetch.ShareFetchableTopicResponse(TOPIC_ID, partitions)])


def _share_acknowledge(acks: list[share_acknowledge.AcknowledgementBatch]) -> Message:
    partition = share_acknowledge.AcknowledgePartition(0, acks)
    topic = share_acknowledge.AcknowledgeTopic(TOPIC_ID, [partition])
    return share_acknowledge.ShareAcknowledgeRequest("group", "m" * 22, 5, topics=[topic])


def _share_group_heartbeat() -> Message:
    return share_group_heartbeat.ShareGroupHeartbeatRequest("group", "m" * 22, 3, None, ["orders", "payments"])


def _offset_commit() -> Message:
    partitions = [offset_commit.OffsetCommitRequestPartition(i, 1_000 + i, 3, "") for i in range(10)]
    topic = offset_commit.OffsetCommitRequestTopic(name="orders", partitions=partitions)
    return offset_commit.OffsetCommitRequest("group", 4, "m" * 22, topics=[topic])


def measure(label: str, message: Message, version: int) -> Row:
    """Time one message with both codecs, after checking that they agree on its bytes."""
    cls = type(message)
    data = message.encode(version)
    decoded, _ = cls.decode(data, version)
    kind: PayloadEntityType = EntityType.request if cls.__name__.endswith("Request") else EntityType.response
    theirs: Any = getattr(load_payload_module(cls.API_KEY, version, kind), cls.__name__)  # kio has no common type
    read, write = entity_reader(theirs), entity_writer(theirs)
    entity, _ = read(data, 0)

    def kio_encode() -> bytes:
        out = io.BytesIO()
        write(out, entity)
        return out.getvalue()

    assert kio_encode() == data == decoded.encode(version)
    decode_us, kio_decode_us = _best_us(lambda: cls.decode(data, version), lambda: read(data, 0))
    encode_us, kio_encode_us = _best_us(lambda: decoded.encode(version), kio_encode)
    return Row(label, version, len(data), decode_us, kio_decode_us, encode_us, kio_encode_us)


def _best_us(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Measure both alternately, so that other load affects both."""
    timers = [(timer, _loops(timer)) for timer in (timeit.Timer(ours), timeit.Timer(theirs))]
    rounds = [[timer.timeit(number) / number * 1e6 for timer, number in timers] for _ in range(ROUNDS)]
    return min(row[0] for row in rounds), min(row[1] for row in rounds)


def _loops(timer: timeit.Timer) -> int:
    number = 1
    while timer.timeit(number) < ROUND_S / 4:
        number *= 2
    return number


def main() -> int:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.codecs", description=__doc__)
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    options = parser.parse_args()
    compiled = not str(Path(shareq.protocol.primitives.__file__)).endswith(".py")
    machine = f"Python {platform.python_version()}, {platform.machine()}, {_cpu()}, kio {installed('kio')}"
    machine += ", our codecs compiled" if compiled else ", our codecs in plain Python"
    rows = [measure(*case) for case in messages()]
    if options.json:
        print(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(machine)
    columns = " ".join((f"{'decode':>8}", f"{'kio':>8}", f"{'ratio':>6}"))
    print(f"{'us per message':38} {'bytes':>6} {columns}   {columns.replace('decode', 'encode')}")
    for row in rows:
        decode = f"{row.decode_us:8.2f} {row.kio_decode_us:8.2f} {row.decode_us / row.kio_decode_us:6.2f}"
        encode = f"{row.encode_us:8.2f} {row.kio_encode_us:8.2f} {row.encode_us / row.kio_encode_us:6.2f}"
        print(f"{row.message:38} {row.size_bytes:6} {decode}   {encode}")
    return 0


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


if __name__ == "__main__":
    sys.exit(main())
