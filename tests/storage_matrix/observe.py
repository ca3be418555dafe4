"""All that a broker's clients can find out, as facts by name, so that two starts can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devtools.clients.offsets_client import OffsetsClient
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from shareq.protocol.records.batch import decode_records
from tests.storage_matrix.life import GROUPS, ORDERS, SHARE_GROUPS, SPARE, TIMESTAMP_MS, TRANSACTIONAL_IDS
from tests.storage_matrix.world import RealWorld

UNREADABLE: Final = "cannot be read: CORRUPT_MESSAGE"
FAR: Final = 1000
Facts = dict[str, str]


def facts_of(world: RealWorld) -> Facts:
    """Return the facts.

    Each name starts with its subject: the folder of a log, a group, share group or transactional id.
    """
    facts: Facts = {}
    facts.update(_metadata(world))
    for topic in world.services.metadata.topics():
        for partition in range(topic.partitions):
            facts.update(_log(world.folder.logs.get(topic.name, partition)))
    facts.update(_offsets(world))
    facts.update(_share_states(world))
    facts.update(_transactional_ids(world))
    return facts


def _metadata(world: RealWorld) -> Iterator[tuple[str, str]]:
    metadata = world.services.metadata
    yield "cluster id", metadata.cluster_id
    for topic in metadata.topics():
        yield f"topic {topic.name}", f"{topic.topic_id.hex()} {topic.partitions} {topic.internal}"
        yield f"properties of topic {topic.name}", str(sorted(metadata.configs("topic", topic.name).items()))
    for group in metadata.config_names("group"):
        yield f"properties of group {group}", str(sorted(metadata.configs("group", group).items()))
    yield "access control lists", str([tuple(acl) for acl in metadata.acls])
    for key, credential in metadata.credentials.items():
        yield f"user {key.user}", str(tuple(credential))
    yield "features", str(sorted(metadata.features.items()))


def _log(log: PartitionLog) -> Iterator[tuple[str, str]]:
    name = f"log {log.topic}-{log.partition}"
    yield f"{name} start", str(log.log_start_offset)
    yield f"{name} end", str(log.log_end_offset)
    if log.refusal:
        yield f"{name} refusal", log.refusal.name
        return
    yield from read_through(log)
    for producer_id in log.producers.producer_ids():
        producer = log.producers.get(producer_id)
        if producer is not None:
            yield (
                f"{name} producer {producer_id}",
                f"{producer.epoch} {[tuple(each) for each in producer.batches[-1:]]}",
            )
    if not log.settings.compact:  # else what was aborted is gone, and so may be the word of it
        aborted = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
        yield f"{name} aborted transactions", str([tuple(each) for each in aborted])
    for ms in range(0, 240, 40):
        yield f"{name} at {ms} ms", _found(log, TIMESTAMP_MS + ms)


def _found(log: PartitionLog, timestamp_ms: int) -> str:
    try:
        return str(log.offset_for_timestamp(timestamp_ms))
    except OSError as error:
        return str(error)


def read_through(log: PartitionLog) -> Iterator[tuple[str, str]]:
    """Yield each record, or the error of its read.

    Each is fetched by a read of its own, so that every index is used.
    """
    name, offset = f"log {log.topic}-{log.partition}", log.log_start_offset
    while offset < log.high_watermark:
        read = log.read(offset, 1, upto=log.high_watermark)
        assert not isinstance(read, BeingRead), "what was just written or read is in memory"
        if isinstance(read, ErrorCode):
            yield f"{name} record {offset}", UNREADABLE if read is ErrorCode.CORRUPT_MESSAGE else read.name
            offset = _behind_hole(log, offset)
            continue
        if not read.batches:
            return
        span = read.batches[0]
        records = decode_records(bytes(read.records[span.position : span.position + span.size]))
        for record in records:
            if record.offset >= offset:
                yield f"{name} record {record.offset}", f"{record.key!r} {record.value!r}"
        offset = max(span.last_offset, offset) + 1


def _behind_hole(log: PartitionLog, offset: int) -> int:
    """Return the next offset to read: the next one, or the end of a large hole that a corrupt base offset left."""
    lost = log.unreadable_range(offset)
    return lost[1] if lost is not None and lost[1] - offset > FAR else offset + 1


def _offsets(world: RealWorld) -> Iterator[tuple[str, str]]:
    client = OffsetsClient(world.connect(), {})
    for group in GROUPS:
        error, rows = client.fetch([(ORDERS, 0), (SPARE, 0)], group=group)
        yield f"group {group} answers", error.name
        for (topic, partition), row in rows.items():
            yield f"group {group} {topic}-{partition}", f"{row.offset} {row.error.name}"


def _share_states(world: RealWorld) -> Iterator[tuple[str, str]]:
    coordinator = world.services.groups.coordinator.partitions
    for group in SHARE_GROUPS:
        found = coordinator.get(0).shard.share_group(group) if coordinator.count else None
        yield f"group {group} state", "gone" if found is None else f"epoch {found.group_epoch}"
    partitions = world.services.share_states.partitions
    for key in partitions.get(0).shard.share_partitions() if partitions.count else ():
        state = partitions.get(0).shard.state_of(key)
        if state is not None:
            batches = [tuple(batch) for batch in combine(state.batches, state.start_offset)]
            yield f"group {key.group_id} share state of {key.topic_id.hex()}", f"{state.start_offset} {batches}"


def _transactional_ids(world: RealWorld) -> Iterator[tuple[str, str]]:
    request = DescribeTransactionsRequest(list(TRANSACTIONAL_IDS))
    answer = world.connect().call(request, 0, DescribeTransactionsResponse)
    for row in answer.transaction_states:
        reported = f"{row.transaction_state} {row.producer_id} {row.producer_epoch}"
        yield (
            f"transactional id {row.transactional_id}",
            reported if not row.error_code else ErrorCode(row.error_code).name,
        )
