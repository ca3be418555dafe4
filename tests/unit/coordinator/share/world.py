from __future__ import annotations

from typing import Final

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateValue
from shareq.protocol.share import RecordState
from tests.unit.coordinator.support import Log, Time, Topics, topic_id_of

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
ARCHIVED: Final = RecordState.ARCHIVED
KEY = SharePartitionKey("g", topic_id_of("t"), 0)


class World:
    """A shard over topic t with 2 partitions."""

    def __init__(self, **settings: int) -> None:
        self.topics = Topics(t=2)
        self.time = Time()
        self.settings = ShareCoordinatorSettings(**settings)
        self.log = Log(
            lambda: ShareCoordinatorShard(self.topics, self.time.wall_ms, self.settings), SHARE_STATE_SERDE, self.time
        )

    @property
    def shard(self) -> ShareCoordinatorShard:
        return self.log.shard

    def initialize(self, state_epoch: int = 2, start_offset: int = -1, key: SharePartitionKey = KEY) -> ApiError:
        return self.log.run(self.shard.initialize(key, state_epoch, start_offset))

    def write(
        self,
        *batches: StateBatch,
        start: int = -1,
        count: int = -1,
        state_epoch: int = 2,
        leader_epoch: int = 0,
        key: SharePartitionKey = KEY,
    ) -> ApiError:
        return self.log.run(self.shard.write(key, state_epoch, leader_epoch, start, count, batches))

    def batches(self) -> list[StateBatch]:
        state = self.shard.state_of(KEY)
        assert state is not None
        return list(state.batches)

    def last_value(self) -> ShareSnapshotValue | ShareUpdateValue:
        (record,) = self.log.last
        assert isinstance(record.value, (ShareSnapshotValue, ShareUpdateValue))
        return record.value


def initialized(start_offset: int = -1, **settings: int) -> World:
    world = World(**settings)
    assert world.initialize(start_offset=start_offset).code is ErrorCode.NONE
    return world
