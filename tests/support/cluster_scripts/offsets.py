from __future__ import annotations

from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.cluster_scripts.building import TIMESTAMP_MS, batch, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation


def _list(
    talk: Conversation, topic: str, *times: int, partition: int = 0, epoch: int = -1, version: int | None = None
) -> None:
    for time in times:
        rows = [ListOffsetsTopic(topic, [ListOffsetsPartition(partition, epoch, time)])]
        talk.ask(ListOffsetsRequest(-1, 0, rows), ListOffsetsResponse, version)


def _delete(talk: Conversation, topic: str, *offsets: int, partition: int = 0) -> None:
    for offset in offsets:
        rows = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])]
        talk.ask(DeleteRecordsRequest(rows, 10_000), DeleteRecordsResponse)


def offsets_by_name(talk: Conversation) -> None:
    """Ask for latest, earliest, newest, and the names of tiered storage; also of an empty log."""
    topic = talk.topic()
    _list(talk, topic, -1, -2, -3, -4, -5)
    produce(talk, topic, batch(b"a", timestamp_ms=TIMESTAMP_MS + 9))
    produce(talk, topic, batch(b"b", b"c"))
    _list(talk, topic, -1, -2, -3, -4, -5)
    _delete(talk, topic, 2)
    _list(talk, topic, -1, -2, -4)


def offsets_by_time(talk: Conversation) -> None:
    topic = talk.topic()
    for value, time in ((b"a", 0), (b"b", 20), (b"c", 10), (b"d", 20)):
        produce(talk, topic, batch(value, timestamp_ms=TIMESTAMP_MS + time))
    _list(talk, topic, 0, *(TIMESTAMP_MS + each for each in (0, 1, 10, 15, 20, 21)))


def offsets_refused(talk: Conversation) -> None:
    """Ask for unknown topics and partitions, wrong epochs, a partition named twice, old versions."""
    topic = talk.topic(partitions=2)
    _list(talk, talk.name("unknown"), -1)
    _list(talk, topic, -1, partition=7)
    _list(talk, topic, -1, epoch=0)
    _list(talk, topic, -1, epoch=3)
    twice = [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(1, -1, -1), ListOffsetsPartition(0, -1, -2)]
    talk.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, twice)]), ListOffsetsResponse)
    _list(talk, topic, -3, -4, version=6)
    _list(talk, topic, -1, -2, version=3)


def ends_of_epochs(talk: Conversation) -> None:
    """Ask where the leader's epoch ends; nothing is known of others."""
    topic = talk.topic()

    def ask(epoch: int, current: int = -1, name: str = topic, partition: int = 0) -> None:
        rows = [OffsetForLeaderTopic(name, [OffsetForLeaderPartition(partition, current, epoch)])]
        talk.ask(OffsetForLeaderEpochRequest(-1, rows), OffsetForLeaderEpochResponse)

    for epoch in (-1, 0, 1):
        ask(epoch)
    produce(talk, topic, batch(b"a", b"b"))
    for epoch in (-1, 0, 1):
        ask(epoch)
    ask(0, current=0)
    ask(0, current=4)
    ask(0, name=talk.name("unknown"))
    ask(0, partition=5)


def records_deleted(talk: Conversation) -> None:
    """Delete up to an offset, up to the end, beyond it (refused), and in a compacted topic (refused)."""
    topic = talk.topic()
    produce(talk, topic, batch(b"a", b"b", b"c"))
    produce(talk, topic, batch(b"d"))
    _delete(talk, topic, 1, 0, 5, -2, 4, -1)
    fetch(talk, topic, 4)
    produce(talk, topic, batch(b"e"))
    _delete(talk, topic, 1)
    _delete(talk, topic, 1, partition=3)
    compacted = talk.topic("compacted", configs={"cleanup.policy": "compact"})
    produce(talk, compacted, batch(b"a"))
    _delete(talk, compacted, 1)
    both = talk.topic("both", configs={"cleanup.policy": "compact,delete"})
    produce(talk, both, batch(b"a"))
    _delete(talk, both, 1)
