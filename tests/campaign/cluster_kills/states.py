"""The state topic, read as the next owner of a slot would read it."""

from __future__ import annotations

import asyncio
from typing import Final

from shareq.client.config import ClientConfig
from shareq.cluster.link.network import NetworkLink, arrived
from shareq.cluster.node.state_topics import STATES
from shareq.cluster.state.fencing import Counting, Verdict
from shareq.cluster.state.slot import Fetched, Refused, Slot, StateTopic
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.share_state import ShareState
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.share import RecordState
from tests.campaign.cluster_kills.judge import Place

_FINISHED: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})


class States:
    """The states of one group's share partitions of a topic, by partition."""

    def __init__(self, states: dict[int, ShareState]) -> None:
        self._finished: dict[int, set[int]] = {}
        self._start: dict[int, int] = {}
        for partition, state in states.items():
            self._start[partition] = state.start_offset
            self._finished[partition] = {
                offset
                for batch in state.batches
                if batch.delivery_state in _FINISHED
                for offset in range(batch.first_offset, batch.last_offset + 1)
            }

    def is_finished(self, place: Place) -> bool:
        partition, offset = place
        return offset < self._start.get(partition, 0) or offset in self._finished.get(partition, ())


def read_states(bootstrap: str, group: str, topic: str) -> States:
    """Return a group's share states of a topic from the state topic; RuntimeError if it is unreadable."""
    return asyncio.run(_read(bootstrap, group, topic))


async def _read(bootstrap: str, group: str, topic: str) -> States:
    link = NetworkLink(ClientConfig.from_properties({"bootstrap.servers": bootstrap}))
    try:
        asked = MetadataRequest([MetadataRequestTopic(name=STATES), MetadataRequestTopic(name=topic)], False)
        answer = await arrived(link.send(None, asked))
        assert isinstance(answer, MetadataResponse), answer
        states, records = answer.topics
        shard = ShareCoordinatorShard(
            _Images(TopicImage(topic, records.topic_id, len(records.partitions))), lambda: 0, ShareCoordinatorSettings()
        )
        as_found = StateTopic(STATES, states.topic_id, len(states.partitions), 1 << 20, compacted=False)
        for partition in range(len(states.partitions)):
            await _replay(Slot(link, as_found, partition), shard)
    finally:
        link.close()
        await link.wait_closed()
    found = {key.partition: shard.state_of(key) for key in shard.share_partitions() if key.group_id == group}
    return States({partition: state for partition, state in found.items() if state is not None})


async def _replay(slot: Slot, shard: ShareCoordinatorShard) -> None:
    counting = Counting()
    for found in (await arrived(slot.find_leader()), offset := await arrived(slot.find_start())):
        if isinstance(found, Refused):
            raise RuntimeError(found.text)
    assert isinstance(offset, int)
    while True:
        fetched = await arrived(slot.fetch(offset, 0))
        if not isinstance(fetched, Fetched):
            raise RuntimeError(fetched.text)
        if offset >= fetched.high_watermark:
            return
        for position, header in batch_headers(fetched.records):
            batch = fetched.records[position : position + header.length + 12]
            if counting.judge(header, batch) is Verdict.COUNTS:
                for record in decode_records(batch):
                    decoded = None if record.key is None else SHARE_STATE_SERDE.decode(record.key, record.value)
                    if decoded is not None:
                        shard.replay(decoded, record.offset)
            offset = header.last_offset + 1


class _Images:
    def __init__(self, image: TopicImage) -> None:
        self._image = image

    def topic(self, name: str) -> TopicImage | None:
        return self._image if name == self._image.name else None

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._image if topic_id == self._image.topic_id else None
