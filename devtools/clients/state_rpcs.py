"""The five share-state RPCs called by an outsider, in any version, for one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from devtools.clients.wire import Caller
from shareq.protocol.generated import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)


class Batch(NamedTuple):
    """A batch of persisted state; offsets both included."""

    first: int
    last: int
    state: int
    delivery_count: int


class Stored(NamedTuple):
    """The answer to a read."""

    error: int
    state_epoch: int
    start_offset: int
    batches: list[Batch]


NEWEST: Final = 2**31 - 1
"""An epoch that is never fenced, and that a write does not store."""


class Summary(NamedTuple):
    """The answer to a read of the summary."""

    error: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


@dataclass(slots=True)
class StateCaller:
    """A group and a topic. Each call is one request for one partition, and checks its one row.

    `message`: the last error message.
    """

    client: Caller
    group: str
    topic_id: bytes
    message: str = ""

    def initialize(self, state_epoch: int, start_offset: int, partition: int = 0, topic_id: bytes | None = None) -> int:
        rpc = initialize_share_group_state
        asked = rpc.InitializeStateData(self._id(topic_id), [rpc.PartitionData(partition, state_epoch, start_offset)])
        request = rpc.InitializeShareGroupStateRequest(self.group, [asked])
        answer = self.client.call(request, 0, rpc.InitializeShareGroupStateResponse)
        (topic,) = answer.results
        (row,) = topic.partitions
        assert (topic.topic_id, row.partition) == (asked.topic_id, partition)
        self._note(row.error_code, row.error_message)
        return row.error_code

    def write(
        self,
        *batches: tuple[int, int, int, int],
        start: int = -1,
        done: int = -1,
        state_epoch: int = NEWEST,
        leader_epoch: int = NEWEST,
        partition: int = 0,
        topic_id: bytes | None = None,
        version: int = 1,
    ) -> int:
        """Write state. `done` is the DeliveryCompleteCount, which version 0 lacks."""
        rpc = write_share_group_state
        rows = [rpc.StateBatch(*batch) for batch in batches]
        asked = rpc.WriteStateData(
            self._id(topic_id), [rpc.PartitionData(partition, state_epoch, leader_epoch, start, done, rows)]
        )
        request = rpc.WriteShareGroupStateRequest(self.group, [asked])
        (topic,) = self.client.call(request, version, rpc.WriteShareGroupStateResponse).results
        (row,) = topic.partitions
        assert (topic.topic_id, row.partition) == (asked.topic_id, partition)
        self._note(row.error_code, row.error_message)
        return row.error_code

    def read(self, leader_epoch: int = 0, partition: int = 0, topic_id: bytes | None = None) -> Stored:
        rpc = read_share_group_state
        asked = rpc.ReadStateData(self._id(topic_id), [rpc.PartitionData(partition, leader_epoch)])
        request = rpc.ReadShareGroupStateRequest(self.group, [asked])
        (topic,) = self.client.call(request, 0, rpc.ReadShareGroupStateResponse).results
        (row,) = topic.partitions
        assert (topic.topic_id, row.partition) == (asked.topic_id, partition)
        self._note(row.error_code, row.error_message)
        batches = [Batch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in row.state_batches]
        return Stored(row.error_code, row.state_epoch, row.start_offset, batches)

    def summary(self, partition: int = 0, topic_id: bytes | None = None, version: int = 1) -> Summary:
        rpc = read_share_group_state_summary
        asked = rpc.ReadStateSummaryData(self._id(topic_id), [rpc.PartitionData(partition, -1)])
        request = rpc.ReadShareGroupStateSummaryRequest(self.group, [asked])
        (topic,) = self.client.call(request, version, rpc.ReadShareGroupStateSummaryResponse).results
        (row,) = topic.partitions
        assert (topic.topic_id, row.partition) == (asked.topic_id, partition)
        self._note(row.error_code, row.error_message)
        return Summary(row.error_code, row.state_epoch, row.leader_epoch, row.start_offset, row.delivery_complete_count)

    def delete(self, partition: int = 0, topic_id: bytes | None = None) -> int:
        rpc = delete_share_group_state
        asked = rpc.DeleteStateData(self._id(topic_id), [rpc.PartitionData(partition)])
        request = rpc.DeleteShareGroupStateRequest(self.group, [asked])
        (topic,) = self.client.call(request, 0, rpc.DeleteShareGroupStateResponse).results
        (row,) = topic.partitions
        assert (topic.topic_id, row.partition) == (asked.topic_id, partition)
        self._note(row.error_code, row.error_message)
        return row.error_code

    def errors(self, partition: int = 0, topic_id: bytes | None = None) -> dict[str, int]:
        """Return the error of each of the five RPCs, called in turn."""
        return {
            "read": self.read(0, partition, topic_id).error,
            "write": self.write(start=0, partition=partition, topic_id=topic_id),
            "summary": self.summary(partition, topic_id).error,
            "delete": self.delete(partition, topic_id),
            "initialize": self.initialize(0, 0, partition, topic_id),
        }

    def _note(self, code: int, message: str | None) -> None:
        assert bool(message) == bool(code)
        self.message = message or self.message

    def _id(self, topic_id: bytes | None) -> bytes:
        return self.topic_id if topic_id is None else topic_id
