"""A node's copy of records: the times of fetches, and the records visible to readers."""

from __future__ import annotations

from typing import Any

import pytest

from shareq.broker.fetch.ports import FetchedLog
from shareq.broker.foundation.pending import Pending
from shareq.broker.ground import FetchedLogs, HeardSources
from shareq.broker.log.append import Ends
from shareq.broker.log.segments.reader import Found, ReadResult
from shareq.broker.topics.ports import NOT_HERE_YET, PartitionLogs
from shareq.cluster.link.ports import LinkFailure, Purpose
from shareq.cluster.records.cache import ChunkCache, Place
from shareq.cluster.records.ends import EpochEnd, common_end
from shareq.cluster.records.source import Anchor, LogEnds, PartitionRecords
from shareq.coordinator.ports import TopicImage
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.list_offsets import ListOffsetsRequest
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import batch_headers
from tests.support.cluster.log import Stored
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.cluster_records import RecordsRig
from tests.support.stored_batches import batch, marker


def fill(rig: RecordsRig, count: int, *, size: int = 10, topic: str = "orders", partition: int = 0) -> None:
    for _ in range(count):
        rig.cluster.append(topic, batch(0, size=size), partition)


def test_it_serves_what_a_broker_stands_on() -> None:
    feed = RecordsRig().feed
    ports: tuple[HeardSources, FetchedLogs, PartitionLogs[FetchedLog]] = (feed, feed, feed)
    assert not ports[0].believes_absence
    with pytest.raises(KeyError):
        feed.get("unknown", 0)


def test_a_new_record_is_announced_and_there_at_once() -> None:
    rig = RecordsRig()
    rig.create("orders")
    source = rig.open("orders")
    rig.heard.clear()
    fill(rig, 1)
    rig.clock.advance(0)
    assert rig.heard == [0]
    assert source.high_watermark == source.log_end_offset == 1
    found = source.read(0, 1 << 20, upto=1)
    assert isinstance(found, ReadResult)
    assert found.records == rig.cluster.log("orders").batches[0].data
    assert source.leader_epoch == 3


def test_readers_who_waited_are_answered_before_the_next_poll_is_sent() -> None:
    rig = RecordsRig()
    rig.create("orders")
    rig.open("orders")
    polls_when_answered: list[int] = []

    def polls() -> int:
        return len(rig.link.requests(FetchRequest, Purpose.TAIL))

    rig.feed.add_listener(lambda _: rig.clock.call_soon(lambda: polls_when_answered.append(polls())))
    before = polls()
    fill(rig, 1)
    rig.clock.advance(1)
    assert polls_when_answered == [before]
    assert polls() == before + 1


def test_what_is_read_is_fetched_and_what_follows_before_it_is_asked_for() -> None:
    """The next chunk is fetched when a reader reaches the second half of one."""
    rig = RecordsRig(budget=64_000)  # chunks of 4,000 bytes
    rig.create("orders")
    fill(rig, 100, size=120)
    source = rig.open("orders")
    assert source.read(0, 300, upto=100) is NOT_HERE_YET
    rig.clock.advance(1)
    offset, misses = 0, 0
    while offset < 100:
        found = source.read(offset, 300, upto=100)
        if found is NOT_HERE_YET:
            misses += 1
        else:
            assert isinstance(found, ReadResult)
            offset = found.batches[-1].last_offset + 1
        rig.clock.advance(1)
    assert misses == 0
    fetches = rig.link.requests(FetchRequest, Purpose.BEHIND)
    assert 4 <= len(fetches) <= 10


def test_a_partition_is_not_polled_at_its_tail_while_its_readers_are_behind() -> None:
    rig = RecordsRig(budget=64_000)
    rig.create("orders")
    source = rig.open("orders")
    for _ in range(50):
        fill(rig, 4, size=150)
        rig.clock.advance(600)
    assert not source.wants_tail
    assert rig.feed.cache.held_bytes < 3 * source.chunk_bytes
    assert source.high_watermark >= 196, "its ends are asked for all the same"
    polls = len(rig.link.requests(FetchRequest, Purpose.TAIL))
    rig.clock.advance(10_000)
    assert len(rig.link.requests(FetchRequest, Purpose.TAIL)) == polls
    offset = 0
    while offset < 200:
        found = rig.read(source, offset)
        offset = found.batches[-1].last_offset + 1 if found.batches else offset
        rig.clock.advance(5)
    assert source.wants_tail
    rig.heard.clear()
    fill(rig, 1)
    rig.clock.advance(60)
    assert rig.heard


def test_a_tail_that_left_the_log_is_polled_with_pauses_while_its_ends_are_not_known() -> None:
    """The connection for log ends may be slow, while each poll is answered at once."""
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 3)
    source = rig.open("orders")
    held: list[Pending[Message | LinkFailure]] = []
    send = rig.link.send

    def slow(node: int | None, message: Message, **how: Any) -> Pending[Message | LinkFailure]:
        answer = send(node, message, **how)
        if not isinstance(message, ListOffsetsRequest):
            return answer
        held.append(Pending())
        return held[-1]

    rig.link.send = slow  # type: ignore[method-assign]
    fill(rig, 1)
    rig.cluster.log("orders").delete_before(4)
    source.tail_offset = 2
    rig.feed.tail_wanted(source)
    fetches = len(rig.link.requests(FetchRequest))
    rig.clock.advance(2_000)
    assert len(rig.link.requests(FetchRequest)) - fetches < 100
    assert len(held) < 20


def test_small_chunks_are_read_together() -> None:
    rig = RecordsRig()
    rig.create("orders")
    source = rig.open("orders")
    for _ in range(20):
        fill(rig, 1)
        rig.clock.advance(1)
    found = source.read(3, 1 << 20, upto=20)
    assert isinstance(found, ReadResult)
    assert [span.base_offset for span in found.batches] == list(range(3, 20))
    assert [(at, header.base_offset) for at, header in batch_headers(found.records)] == [
        (span.position, span.base_offset) for span in found.batches
    ]
    limited = source.read(3, 2 * found.batches[0].size, upto=20)
    assert isinstance(limited, ReadResult)
    assert len(limited.batches) == 2
    some = source.read(3, 1 << 20, upto=20, max_records=5)
    assert isinstance(some, ReadResult)
    assert some.batches[-1].last_offset == 7
    nothing = source.read(3, 1, upto=20, min_one_batch=False)
    assert isinstance(nothing, ReadResult)
    assert not nothing.batches


def test_available_bytes_counts_what_has_to_be_fetched_first() -> None:
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 10)
    source = rig.open("orders")
    assert source.available_bytes(0, 10) == source.chunk_bytes
    assert source.available_bytes(10, 10) == 0
    whole = rig.read(source, 0)
    assert source.available_bytes(0, 10) == len(whole.records)
    assert source.available_bytes(4, 6) == 2 * whole.batches[0].size


def test_ends_of_many_partitions_are_asked_for_together() -> None:
    rig = RecordsRig()
    rig.create("orders", 60)
    for partition in range(60):
        rig.feed.get("orders", partition)
    rig.clock.advance(5)
    assert all(source.has_ends for source in rig.feed.sources())
    assert len(rig.link.requests(ListOffsetsRequest)) == 9, "three ends at each of three brokers"


def test_ends_and_offsets_by_time_are_asked_for() -> None:
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 3)
    source = rig.open("orders")
    rig.cluster.hold_replication("orders")
    fill(rig, 1)
    assert rig.world.wait(source.ends()) == Ends(0, 4 - 1)
    rig.cluster.release_replication("orders")
    assert rig.world.wait(source.ends()) == Ends(0, 4)
    assert source.high_watermark == 4
    assert rig.world.wait(source.offset_for_timestamp(500)) == Found(1_000, 0)
    assert rig.world.wait(source.offset_for_timestamp(2_000)) is None


def test_without_a_leader_who_asks_is_answered_after_a_while() -> None:
    rig = RecordsRig()
    rig.create("orders", replicas=1)
    rig.cluster.kill(rig.cluster.leader("orders"))
    source = rig.feed.get("orders", 0)
    assert rig.world.wait(source.ends()) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rig.world.wait(source.offset_for_timestamp(0)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert source.read(0, 1, upto=0) is NOT_HERE_YET


def test_committed_readers_get_chunks_that_know_what_was_aborted() -> None:
    rig = RecordsRig()
    rig.create("orders")
    source = rig.open("orders")
    rig.cluster.append("orders", batch(0, 2, producer_id=7))
    rig.clock.advance(1)
    assert (source.high_watermark, source.last_stable_offset) == (2, 0)
    assert rig.read(source, 0).batches[-1].last_offset == 1
    rig.cluster.append("orders", marker(0, 7, commit=False))
    rig.clock.advance(1)
    assert source.last_stable_offset == 3
    assert source.read(0, 1 << 20, upto=3) is NOT_HERE_YET, "what is held was fetched before it was aborted"
    found = rig.read(source, 0, committed=True)
    assert [(one.producer_id, one.first_offset, one.last_offset) for one in source.aborted_transactions(0, 3)] == [
        (7, 0, 2)
    ]
    assert found.batches[-1].is_control


def test_an_offset_beyond_the_end_is_refused_once_the_cluster_says_so() -> None:
    """A consumer may know more than this node, so the cluster is asked first."""
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 3)
    source = rig.open("orders")
    assert source.read(9, 1, upto=3) is NOT_HERE_YET
    rig.clock.advance(5)
    assert source.read(9, 1, upto=3) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert source.read(8, 1, upto=3) is NOT_HERE_YET
    rig.clock.advance(100)
    fill(rig, 7)
    rig.clock.advance(5)
    assert rig.read(source, 9).batches[0].base_offset == 9


def test_damage_is_refused_and_served_when_it_is_mended() -> None:
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 5)
    log = rig.cluster.log("orders")
    sound = log.batches[2]
    log.batches[2] = Stored(sound.header, sound.data[:-1] + b"?")
    source = rig.open("orders")
    assert rig.read(source, 0).batches[-1].last_offset == 1
    assert source.read(2, 1 << 20, upto=5) is NOT_HERE_YET
    rig.clock.advance(5)
    assert source.read(2, 1 << 20, upto=5) is ErrorCode.CORRUPT_MESSAGE
    assert source.unreadable_range(2) == (2, 3)
    assert source.unreadable_range(3) is None
    assert rig.read(source, 3).batches[-1].last_offset == 4
    log.batches[2] = sound
    assert source.read(2, 1 << 20, upto=5) is ErrorCode.CORRUPT_MESSAGE
    rig.clock.advance(5)
    assert rig.read(source, 2).batches[0].base_offset == 2
    assert source.unreadable_range(2) is None


def test_records_of_an_old_format_refuse_the_partition_until_they_are_gone(caplog: pytest.LogCaptureFixture) -> None:
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 5)
    log = rig.cluster.log("orders")
    first = log.batches[0]
    log.batches[0] = Stored(first.header, first.data[:16] + b"\1" + first.data[17:])
    source = rig.open("orders")
    assert source.read(0, 1, upto=5) is NOT_HERE_YET
    rig.clock.advance(5)
    assert source.refusal is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert source.read(3, 1, upto=5) is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert caplog.messages == ["orders-0: records of magic 1 at offset 0; not served"]
    log.delete_before(1)
    rig.clock.advance(1_100)
    assert not source.refusal
    assert rig.read(source, 1).batches[0].base_offset == 1


def test_an_unclean_election_cuts_where_the_logs_part() -> None:
    rig = RecordsRig()
    rig.create("orders")
    source = rig.open("orders")
    fill(rig, 10)
    rig.clock.advance(1)
    rig.read(source, 0)
    leader = next(broker for broker in (1, 2, 3) if broker != rig.cluster.leader("orders"))
    rig.cluster.elect("orders", leader, keep_to=4)
    fill(rig, 2, size=99)
    rig.clock.advance(1_000)
    assert rig.cut == [(0, 4)]
    assert source.high_watermark == 6
    found = rig.read(source, 0)
    assert found.records == b"".join(each.data for each in rig.cluster.log("orders").batches)


def test_a_deleted_topic_is_refused() -> None:
    rig = RecordsRig()
    rig.create("orders")
    fill(rig, 3)
    source = rig.open("orders")
    rig.read(source, 0)
    rig.feed.topics_deleted([TopicImage("orders", source.topic_id, 1)])
    assert source.read(0, 1, upto=3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rig.feed.cache.held_bytes == 0
    assert rig.feed.sources() == []
    assert rig.heard[-1] == 0
    sent = len(rig.link.requests(FetchRequest))
    rig.clock.advance(10_000)
    assert len(rig.link.requests(FetchRequest)) <= sent + 1


def test_brokers_without_topic_ids_in_fetch_are_asked_by_name() -> None:
    apis = {**KAFKA_3_9.apis, ApiKey.FETCH: (0, 12)}
    rig = RecordsRig(ClusterSettings(release=KAFKA_3_9._replace(apis=apis)))
    rig.create("orders")
    fill(rig, 3)
    source = rig.open("orders")
    assert rig.read(source, 0).batches[-1].last_offset == 2
    fill(rig, 1)
    rig.clock.advance(1)
    assert source.high_watermark == 4


def test_a_closed_feed_asks_nothing() -> None:
    rig = RecordsRig()
    rig.create("orders", 3)
    for partition in range(3):
        rig.open("orders", partition)
    rig.feed.close()
    rig.link.close()
    rig.clock.advance(1_000)
    sent = len(rig.link.requests(FetchRequest))
    rig.clock.advance(60_000)
    assert len(rig.link.requests(FetchRequest)) == sent
    assert rig.feed.cache.reserved_bytes == 0


class NoWants:
    def want(self, source: PartitionRecords, offset: int) -> None: ...
    def tail_wanted(self, source: PartitionRecords) -> None: ...
    def ends(self, source: PartitionRecords) -> object: ...
    def offset_for_timestamp(self, source: PartitionRecords, timestamp_ms: int) -> object: ...


def test_ends_only_grow() -> None:
    """A new leader's high watermark is ignored while it lies below the old one's."""
    source = PartitionRecords("orders", Place(b"i" * 16, 0), ChunkCache(1), NoWants(), lambda: 3, 100)  # type: ignore[arg-type]
    assert source.set_ends(LogEnds(5, 90, 80))
    assert not source.set_ends(LogEnds(4, 60, 50))
    assert (source.log_start_offset, source.high_watermark, source.last_stable_offset) == (5, 90, 80)
    assert source.set_ends(LogEnds(5, 90, 90))
    source.cut(70)
    assert (source.high_watermark, source.last_stable_offset, source.has_ends) == (70, 70, False)


RECORD, LISTED = Anchor(5, 100, is_record=True), Anchor(5, 100, is_record=False)
NOW = EpochEnd(ErrorCode.NONE, 7, 130)


@pytest.mark.parametrize(
    ("anchor", "known", "log_end", "common"),
    [
        (RECORD, (5, 100), NOW, 130),  # it has all of it
        (RECORD, (5, 60), NOW, 60),  # it has less of that epoch
        (RECORD, (4, 110), NOW, 80),  # it has another epoch there: the logs differ from where the fifth begins here
        (RECORD, (3, 50), NOW, 20),
        (LISTED, (4, 110), NOW, 130),  # there was no record of the fifth epoch: nothing is missing
        (LISTED, (4, 90), NOW, 90),
        (RECORD, (-1, -1), NOW, 130),  # nothing is said
        (RECORD, (5, 100), EpochEnd(ErrorCode.NONE, 7, 100), 100),
    ],
)
def test_where_logs_part(anchor: Anchor, known: tuple[int, int], log_end: EpochEnd, common: int) -> None:
    epochs = {4: 20, 5: 80}
    assert common_end(anchor, epochs, EpochEnd(ErrorCode.NONE, *known), log_end) == common


def _at_end(rig: RecordsRig) -> PartitionRecords:
    rig.create("orders")
    fill(rig, 1)
    source = rig.open("orders")
    rig.read(source, 0)
    rig.clock.advance(5)
    rig.heard.clear()
    return source


def _commit(rig: RecordsRig, source: PartitionRecords, base: int, *, node: int | None = None) -> bytes:
    """Let a leader answer that a producer's batch is committed at `base`; return the batch as sent."""
    assert source.leader is not None
    sent = batch(0)
    rig.feed.committed(source.topic_id, 0, source.leader.node if node is None else node, base, memoryview(sent))
    return sent


def test_a_committed_batch_is_shown_at_the_logs_end_before_a_poll_brings_it() -> None:
    rig = RecordsRig()
    source = _at_end(rig)
    sent = _commit(rig, source, 1)
    assert rig.heard == [0]
    found = source.read(1, 1 << 20, upto=2)
    assert isinstance(found, ReadResult)
    assert (found.batches[0].base_offset, found.batches[0].last_offset) == (1, 1)
    assert found.records[17:] == sent[17:], "all but base offset and leader epoch is the producer's"
    assert (source.high_watermark, source.last_stable_offset) == (2, 2)
    assert source.anchor.offset == 1, "what the poll has not brought has no leader epoch yet"

    rig.cluster.append("orders", sent)
    rig.clock.advance(5)
    assert rig.heard == [0], "the poll brings nothing new"
    assert source.anchor.offset == source.tail_offset == 2
    fill(rig, 1)
    rig.clock.advance(5)
    assert rig.heard == [0, 0]
    assert rig.read(source, 2).batches[0].base_offset == 2


@pytest.mark.parametrize("base", [0, 2])
def test_a_committed_batch_elsewhere_is_left_to_the_poll(base: int) -> None:
    rig = RecordsRig()
    source = _at_end(rig)
    _commit(rig, source, base)
    assert (rig.heard, source.high_watermark) == ([], 1)


def test_a_committed_batch_is_left_to_the_poll_where_readers_are_behind_or_another_broker_leads() -> None:
    rig = RecordsRig()
    source = _at_end(rig)
    assert source.leader is not None
    _commit(rig, source, 1, node=source.leader.node + 1)
    assert source.high_watermark == 1
    fill(rig, 1)
    rig.clock.advance(5)
    assert source.high_watermark == 2
    _commit(rig, source, 2)
    assert source.high_watermark == 2, "nobody has read what is before it"


def test_open_transactions_hold_readers_of_committed_records_behind_a_batch_of_none() -> None:
    rig = RecordsRig()
    source = _at_end(rig)
    rig.cluster.append("orders", batch(0, producer_id=7))
    rig.clock.advance(5)
    rig.read(source, 1)
    assert source.last_stable_offset == 1
    _commit(rig, source, 2)
    assert (source.high_watermark, source.last_stable_offset) == (3, 1)


def test_a_log_that_lost_a_batch_that_was_committed_is_found_cut() -> None:
    """An unclean election loses the batch, which is noticed before a poll returns it."""
    rig = RecordsRig()
    source = _at_end(rig)
    _commit(rig, source, 1)
    assert source.high_watermark == 2
    leader = rig.cluster.leader("orders")
    rig.cluster.elect("orders", next(each for each in (1, 2, 3) if each != leader))
    rig.clock.advance(2_000)
    assert rig.cut == [(0, 1)]
    assert source.high_watermark == 1


def test_a_batch_that_was_shown_early_and_gave_way_is_announced_when_it_comes_again() -> None:
    rig = RecordsRig()
    source = _at_end(rig)
    rig.cluster.append("orders", _commit(rig, source, 1))
    rig.clock.advance(5)
    rig.feed.cache.forget(source.place)
    rig.heard.clear()
    assert source.read(1, 1 << 20, upto=2) is NOT_HERE_YET
    rig.clock.advance(5)
    assert rig.heard == [0]
    assert isinstance(source.read(1, 1 << 20, upto=2), ReadResult)
