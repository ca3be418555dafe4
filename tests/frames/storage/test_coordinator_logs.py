from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import read_header
from shareq.protocol.records.compression import Compression
from tests.interop.support.share_wire import Member, begin_at

STATE, OFFSETS = "__share_group_state", "__consumer_offsets"
ONE_OF_EACH = {"share.coordinator.state.topic.num.partitions": "1", "offsets.topic.num.partitions": "1"}


class Group:
    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld(ONE_OF_EACH | {name.replace("_", "."): value for name, value in properties.items()})
        topic = self.world.create_topic("t", 3)
        client = self.world.connect()
        begin_at(client, "g", "t", [1, 2, 3])
        self.member = Member(client, "g", "m", topic.topic_id)
        assert self.member.heartbeat(["t"]).error_code == ErrorCode.NONE

    def codecs(self, topic: str) -> set[int]:
        log = self.world.folder.logs.get(topic, 0)
        read = log.read(0, 1 << 20, upto=log.high_watermark)
        assert isinstance(read, ReadResult)
        assert read.batches
        data = bytes(read.records)
        return {read_header(data[span.position : span.position + span.size]).attributes & 7 for span in read.batches}

    def is_found_by_a_restart(self) -> bool:
        self.world.restart()
        self.member.client = self.world.connect()
        shard = self.world.services.share_states.partitions.get(0).shard
        offsets = {
            key.partition: state.start_offset for key in shard.share_partitions() if (state := shard.state_of(key))
        }
        return self.member.heartbeat().error_code == ErrorCode.NONE and offsets == {0: 1, 1: 2, 2: 3}


@pytest.mark.parametrize("codec", Compression)
def test_batches_have_the_codec_of_their_topic(codec: Compression) -> None:
    group = Group(share_coordinator_state_topic_compression_codec=str(codec.value))
    assert group.codecs(STATE) == {codec}
    assert group.codecs(OFFSETS) == {Compression.NONE}
    assert group.is_found_by_a_restart()
    group = Group(offsets_topic_compression_codec=str(codec.value))
    assert group.codecs(STATE) == {Compression.NONE}
    assert group.codecs(OFFSETS) == {codec}
    assert group.is_found_by_a_restart()


def test_a_small_load_buffer_holds_a_batch_at_least() -> None:
    assert Group(share_coordinator_load_buffer_size="1").is_found_by_a_restart()
