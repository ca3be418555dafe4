"""Coordinators' logs with missing, changed or damaged records: every one loads, and all clients can work on.

The log of a long history of groups of each kind, share state and transactions is rewritten with random damage. Nothing
may raise; unreadable records are logged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.transactor import JAVA_TV2, Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.coordinator_runtime import replay as coordinator_load
from shareq.broker.log.partition_log import Origin
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, decode_records, read_header
from shareq.protocol.records.compression import Compression
from tests.support.clients.classic_client import INITIAL_DELAY_MS, ClassicClient, form
from tests.support.clients.share_client import ACCEPT, RELEASE, ShareClient, append, from_the_start

NONE = ErrorCode.NONE
TOPICS: Final = (CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE)
PROPERTIES: Final = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "transaction.state.log.num.partitions": "1",
}
GROUPS: Final = ("classic", "consumers", "shares", "mixed", "gone")
BROKEN: Final = frozenset(
    (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
)


@dataclass(frozen=True)
class Stored:
    """One batch of a log, with its records taken apart unless it is a control batch."""

    raw: bytes
    records: tuple[tuple[bytes | None, bytes | None], ...]

    def again(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> bytes:
        header = read_header(self.raw)
        return bytes(
            build_batch(
                [RecordData(key, value) for key, value in records],
                timestamp_ms=header.max_timestamp,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
            )
        )


def new_world() -> BrokerWorld:
    world = BrokerWorld(PROPERTIES)
    begin(world)
    return world


def begin(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    append(world, "t", 10)
    from_the_start(world, "shares")
    ShareClient(world, group="x").join("t")
    Transactor(world.connect(), JAVA_TV2, "x").init()


def ids_of(world: BrokerWorld) -> dict[str, bytes]:
    topic = world.services.metadata.topic("t")
    assert topic is not None
    return {"t": topic.topic_id}


def consumer(world: BrokerWorld, group: str, member: str, epoch: int, instance: str | None = None) -> ErrorCode:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, instance_id=instance)
    if epoch == 0:
        request.rebalance_timeout_ms, request.topic_partitions, request.subscribed_topic_names = 60_000, [], ["t"]
    return ErrorCode(world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).error_code)


def live(world: BrokerWorld) -> None:
    """Cause every kind of record that coordinators write."""
    classic = [ClassicClient(world, "classic", instance=f"i{n}") for n in range(2)]
    form(classic)
    mixed = [ClassicClient(world, "mixed"), ClassicClient(world, "gone")]
    for each in mixed:
        form([each])
    assert mixed[1].leave().error_code == NONE
    for member, instance in (("a", None), ("b", "s"), ("c", None)):
        assert consumer(world, "consumers", member, 0, instance) is NONE
    assert consumer(world, "consumers", "c", -1) is NONE
    assert consumer(world, "consumers", "b", -2, "s") is NONE
    offsets = OffsetsClient(world.connect(), ids_of(world))
    for group in ("classic", "simple"):
        offsets.commit({("t", 0): 3, ("t", 1): 1}, group=group)
    members = [ShareClient(world, f"m{n}", group="shares") for n in range(3)]
    for member_ in members:
        member_.join("t")
    place = (ids_of(world)["t"], 0)
    assert members[0].acquire(place) == [(0, 9, 1)]
    for offset in range(6):
        assert members[0].acknowledge(place, (offset, offset, RELEASE if offset == 3 else ACCEPT)) is NONE
    members[2].leave()
    for name in ("t1", "t2"):
        producer = Transactor(world.connect(), JAVA_TV2, name)
        assert producer.init() is NONE
        assert producer.write("t", b"x") is NONE
        assert producer.commit_offsets("simple", {("t", 1): 2}) == [NONE]
        if name == "t1":
            assert producer.commit() is NONE
    world.clock.advance(1_000)


@cache
def life() -> dict[str, tuple[Stored, ...]]:
    world = new_world()
    begin = {topic: world.folder.logs.get(topic, 0).log_end_offset for topic in TOPICS}
    live(world)
    return {topic: tuple(stored(world, topic, begin[topic])) for topic in TOPICS}


def stored(world: BrokerWorld, topic: str, offset: int) -> Iterator[Stored]:
    log = world.folder.logs.get(topic, 0)
    read = log.read(offset, 1 << 24, upto=log.high_watermark)
    assert isinstance(read, ReadResult)
    for span in read.batches:
        raw = bytes(read.records[span.position : span.position + span.size])
        records = () if span.is_control else tuple((each.key, each.value) for each in decode_records(raw))
        yield Stored(raw, records)


def write(world: BrokerWorld, topic: str, batch: bytes) -> None:
    now = world.clock.wall_ms()
    world.folder.logs.get(topic, 0).append(batch, origin=Origin.COORDINATOR, now_wall_ms=now)


# -- what chance does


def changed(record: tuple[bytes | None, bytes | None], rng: Random) -> tuple[bytes | None, bytes | None]:
    key, value = record
    what = rng.randrange(6)
    if what == 0 or value is None or key is None:
        return None, value
    if what == 1:
        return key, None
    if what == 2:
        return key, value[: rng.randrange(len(value))]
    if what == 3:
        at = rng.randrange(len(key))
        return key[:at] + bytes((key[at] ^ 1 << rng.randrange(8),)) + key[at + 1 :], value
    at = rng.randrange(len(value))
    return key, value[:at] + rng.randbytes(rng.randrange(1, 5)) + value[at + 1 :]


def spoiled(batches: Sequence[Stored], rng: Random) -> Iterator[bytes]:
    """Yield the log with some records dropped, changed or repeated, or whole batches unreadable."""
    rate = rng.choice((0.02, 0.1, 0.4))
    for batch in batches:
        if not batch.records:
            if rng.random() >= rate:
                yield batch.raw
            continue
        records = [
            changed(record, rng) if rng.random() < rate else record for record in batch.records if rng.random() >= rate
        ]
        if not records:
            continue
        again = batch.again(records)
        if rng.random() < rate / 2:
            again = no_records(again)
        yield again
        if rng.random() < rate / 4:
            yield again


def no_records(batch: bytes) -> bytes:
    header = read_header(batch)
    broken = bytearray(build_batch([RecordData(b"k", bytes(64))], timestamp_ms=0, compression=Compression.ZSTD))
    del broken[HEADER_SIZE + 4 :]
    return bytes(resealed(broken, header.records_count))


def resealed(batch: bytearray, count: int) -> bytearray:
    from shareq.protocol.records.checksum import crc32c

    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[23:27] = (count - 1).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big")
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return batch


class Tracebacks(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.found.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


@contextmanager
def no_tracebacks() -> Iterator[None]:
    handler, logger = Tracebacks(), logging.getLogger("shareq")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert handler.found == []


# -- the tests


def work_on(world: BrokerWorld) -> None:
    """Let old and new members work; nothing that they do may be refused because of the damage."""
    for epoch in (0, 3):
        for group in GROUPS:
            share = ShareClient(world, f"s{epoch}", group=group)
            assert share.heartbeat("t", epoch=epoch).error_code not in BROKEN
            for member in ("a", "new"):
                assert consumer(world, group, member, epoch) not in BROKEN
            old = ClassicClient(world, group, instance="i0")
            old.member_id, old.generation = "a member", epoch
            assert old.heartbeat() not in BROKEN
            assert ErrorCode(old.leave().error_code) not in BROKEN
    offsets = OffsetsClient(world.connect(), ids_of(world))
    for group in (*GROUPS, "simple"):
        assert not BROKEN & set(offsets.commit({("t", 0): 1}, group=group).values())
        assert offsets.fetch(None, group=group)[0] not in BROKEN
    for name in ("t1", "t2", "t3"):
        producer = Transactor(world.connect(), JAVA_TV2, name)
        assert producer.init() in (NONE, ErrorCode.CONCURRENT_TRANSACTIONS)
    world.clock.advance(400_000)
    for name in ("t1", "t2", "t3"):
        producer = Transactor(world.connect(), JAVA_TV2, name)
        assert producer.init() is NONE
        while producer.write("t", b"y") is ErrorCode.INVALID_PRODUCER_EPOCH:  # epochs were forgotten
            assert producer.init() is NONE
        assert producer.commit() is NONE


def longest_session_ms(world: BrokerWorld) -> int:
    """Return the longest session of classic members.

    One flipped bit turns seconds into weeks, which a record may hold.
    """
    groups = [group for each in world.services.groups.coordinator.partitions for group in each.shard.classic.all()]
    return max((member.session_timeout_ms for group in groups for member in group.members.values()), default=0)


def begin_again(world: BrokerWorld) -> None:
    """Let all members expire; then each group can be deleted and its id used for any kind."""
    world.clock.advance(400_000 + longest_session_ms(world))
    answer = world.connect().call(DeleteGroupsRequest([*GROUPS, "simple", "x"]), 2, DeleteGroupsResponse)
    errors = {each.group_id: ErrorCode(each.error_code) for each in answer.results}
    assert set(errors.values()) <= {NONE, ErrorCode.GROUP_ID_NOT_FOUND}, errors
    share = ShareClient(world, "again", group="shares")
    share.join("t")
    assert consumer(world, "consumers", "again", 0) is NONE
    member = ClassicClient(world, "classic")
    member.begin()
    world.clock.advance(2 * INITIAL_DELAY_MS)
    assert member.joined().error_code == NONE
    assert member.sync({member.member_id: b""}).error_code == NONE


@settings(max_examples=30, deadline=None)
@example(seed=3505)  # a session of four and a half hours
@example(seed=1880)  # an offset of a topic whose name is empty
@given(seed=st.integers(0, 2**32))
def test_any_log_loads_and_everybody_works_on(seed: int) -> None:
    rng = Random(seed)
    world = new_world()
    for topic in TOPICS:
        for batch in spoiled(life()[topic], rng):
            write(world, topic, batch)
    world.clock.run_until_idle()
    with no_tracebacks():
        world.restart()
        work_on(world)
        world.restart()
        begin_again(world)
        world.restart()


@settings(max_examples=20, deadline=None)
@example(seed=141110)  # a batch that says to lie behind its segment, which the cleaner reads
@given(seed=st.integers(0, 2**32))
def test_files_that_are_damaged_load_and_everybody_works_on(seed: int) -> None:
    """The damage is a bit, a page of zeros, or unreadable bytes; a start finds it after a stop or a kill."""
    rng = Random(seed)
    world = BrokerWorld(PROPERTIES | {"offsets.topic.segment.bytes": "2000"}, seed=seed)
    begin(world)
    live(world)
    world.clock.run_until_idle()
    paths = [path for path in world.fs.paths() if path.endswith(".log") and any(topic in path for topic in TOPICS)]
    for _ in range(rng.randrange(1, 4)):
        path = rng.choice(paths)
        size = len(world.fs.content(path))
        at = rng.randrange(size) if size else 0
        spoil = rng.randrange(3) if size else -1
        if spoil == 0:
            world.fs.flip_bit(path, at, rng.randrange(8))
        elif spoil == 1:
            world.fs.zero(path, at, min(at + 200, size))
        elif spoil == 2:
            world.fs.make_unreadable(path, at, at + 1)
    with no_tracebacks():
        if rng.random() < 0.5:
            world.restart()
        else:
            world.crash()
        work_on(world)
        begin_again(world)


def test_the_sound_log_loads_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    world = new_world()
    for topic in TOPICS:
        for batch in life()[topic]:
            write(world, topic, batch.raw)
    with caplog.at_level(logging.WARNING):
        world.restart()
    assert not [line for line in caplog.messages if "skipped" in line]
    partitions = world.services.groups.coordinator.partitions.get(0)
    assert {group.group_id for group in partitions.shard.share.all()} == {"shares", "x"}
    assert set(partitions.shard.consumer.group("consumers").members) == {"a", "b"}  # type: ignore[union-attr]


def test_lines_about_what_was_skipped_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    world = new_world()
    for _ in range(50):
        write(world, CONSUMER_OFFSETS, bytes(build_batch([RecordData(None, b"x")], timestamp_ms=0)))
    world.clock.run_until_idle()
    world.restart()
    lines = [line for line in caplog.messages if line.startswith("__consumer_offsets-0:")]
    assert len(lines) == coordinator_load.MOST_LINES + 1
    assert "it has no key" in lines[0]
    assert lines[-1] == "__consumer_offsets-0: 40 more records or ranges were skipped while loading"
