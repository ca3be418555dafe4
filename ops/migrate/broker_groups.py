"""The driver of the ports of groups: both clusters by their protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from shareq.client.admin.calls import Outcome, only, refused
from shareq.client.admin.configs import Change
from shareq.client.errors import BrokerError, ClientError, UnsupportedApi
from shareq.ops.migrate.broker import SourceCluster, TargetCluster
from shareq.ops.migrate.group_ports import Committed, ShareState, StateRange
from shareq.ops.migrate.ports import Partition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import read_share_group_state as read_state
from shareq.protocol.generated import read_share_group_state_summary as read_summary
from shareq.protocol.generated import write_share_group_state as write_state
from shareq.protocol.primitives import ZERO_UUID, Message, uuid_to_text
from shareq.protocol.share import RecordState

_OF_SHARE_PARTITIONS: Final = 2
"""FindCoordinator's key type of share partitions."""
_FENCE: Final = 2**31 - 1
"""A leader epoch above all."""
_NO_MEMBERS: Final = ("empty", "dead")
_TERMINAL: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED)
_STATES: Final = frozenset((RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
_DEAD_LETTERS: Final = 2
"""The level of share.version from which on records may be archiving."""


class _Groups:
    """The groups of a cluster, for requests that both sides get."""

    def __init__(self, cluster: SourceCluster | TargetCluster) -> None:
        self._admin = cluster.admin
        self._network = cluster.network

    def offsets(self, group: str) -> Mapping[Partition, Committed]:
        """Return committed offsets."""
        found = only(dict(self._admin.consumer_groups.offsets([group])), group)
        return {
            each: Committed(committed.offset, committed.metadata)
            for each, committed in ((each, only(found, each)) for each in found)
        }

    def begun(self, group: str) -> Sequence[Partition]:
        """Return the share partitions that a share group has a state of."""
        return list(only(dict(self._admin.share_groups.offsets([group])), group))

    def _key(self, group: str, topic_id: bytes, partition: int) -> str:
        return f"{group}:{uuid_to_text(topic_id)}:{partition}"

    def _keys(self, group: str, partitions: Collection[Partition]) -> dict[str, tuple[bytes, Partition]]:
        """Return the share coordinators' keys of share partitions."""
        ids = self._network.topic_ids({name for name, _ in partitions})
        return {self._key(group, ids[each[0]], each[1]): (ids[each[0]], each) for each in partitions}


class GroupsOfSource(_Groups):
    """Groups of the cluster that is left."""

    def consumer_groups(self) -> Mapping[str, bool]:
        """Return groups with committed offsets by name, and whether they have members."""
        return {
            each.group_id: each.state.lower() not in _NO_MEMBERS
            for each in self._admin.groups.find()
            if each.kind != "share"
        }

    def share_groups(self) -> Sequence[str]:
        """Return share groups by name."""
        return [each.group_id for each in self._admin.groups.find() if each.kind == "share"]

    def take_over(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState | None]:
        """Read states with an epoch above all."""
        keys = self._keys(group, partitions)

        def ask(some: list[str]) -> Message:
            topics: dict[bytes, list[read_state.PartitionData]] = {}
            for topic_id, (_, number) in (keys[key] for key in some):
                topics.setdefault(topic_id, []).append(read_state.PartitionData(number, _FENCE))
            return read_state.ReadShareGroupStateRequest(
                group, [read_state.ReadStateData(topic_id, rows) for topic_id, rows in topics.items()]
            )

        def take(answer: Message, _: list[str]) -> dict[str, Outcome[ShareState]]:
            assert isinstance(answer, read_state.ReadShareGroupStateResponse)
            return {
                self._key(group, topic.topic_id, row.partition): refused(
                    row.error_code, f"state of share group {group}", row.error_message
                )
                or _state(row)
                for topic in answer.results
                for row in topic.partitions
            }

        found = self._admin.calls.each(keys, self._admin.calls.by_coordinator(_OF_SHARE_PARTITIONS), ask, take)
        states = {keys[key][1]: only(found, key) for key in keys}
        return {each: state if state.start >= 0 else None for each, state in states.items()}

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return properties that were set, by group."""
        try:
            resources = self._admin.configs.resources(["group"])
        except UnsupportedApi:
            resources = [("group", each.group_id) for each in self._admin.groups.find()]
        found: dict[str, Mapping[str, str]] = {}
        for (_, name), outcome in self._admin.configs.describe(resources):
            configs = () if isinstance(outcome, ClientError) else outcome
            set_here = {each.name: each.value for each in configs if each.source == "group" and each.value is not None}
            if set_here:
                found[name] = set_here
        return found


class GroupsOfTarget(_Groups):
    """Groups of the cluster that is moved to."""

    def commit(self, group: str, offsets: Mapping[Partition, Committed]) -> None:
        """Commit for a group without members."""
        found = self._admin.consumer_groups.alter_offsets(
            group,
            {each: committed.offset for each, committed in offsets.items()},
            {each: committed.metadata for each, committed in offsets.items()},
        )
        for partition in offsets:
            only(found, partition)

    def writable_states(self) -> Collection[int]:
        """Return delivery states that can be written; none where the cluster does not take states from this user."""
        request = read_summary.ReadShareGroupStateSummaryRequest(
            "shareq-migrate", [read_summary.ReadStateSummaryData(ZERO_UUID, [read_summary.PartitionData(0, -1)])]
        )
        try:
            answer = self._network.request(None, request)
        except UnsupportedApi:
            return ()
        assert isinstance(answer, read_summary.ReadShareGroupStateSummaryResponse)
        rows = [row for topic in answer.results for row in topic.partitions]
        if any(row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED for row in rows):
            return ()
        level = next((each.level for each in self._admin.cluster.features() if each.name == "share.version"), 0)
        return _STATES | {RecordState.ARCHIVING} if level >= _DEAD_LETTERS else _STATES

    def begin(self, group: str, starts: Mapping[Partition, int]) -> None:
        """Let a share group without members begin at these offsets."""
        found = self._admin.share_groups.alter_offsets(group, starts)
        for partition in starts:
            only(found, partition)

    def write(self, group: str, states: Mapping[Partition, ShareState]) -> None:
        """Write what is known of share partitions that have begun."""
        keys = self._keys(group, states)
        epochs = self._epochs(group, keys)

        def ask(some: list[str]) -> Message:
            topics: dict[bytes, list[write_state.PartitionData]] = {}
            for key in some:
                topic_id, partition = keys[key]
                topics.setdefault(topic_id, []).append(_row(partition, states[partition], *epochs[key]))
            return write_state.WriteShareGroupStateRequest(
                group, [write_state.WriteStateData(topic_id, rows) for topic_id, rows in topics.items()]
            )

        def take(answer: Message, _: list[str]) -> dict[str, Outcome[bool]]:
            assert isinstance(answer, write_state.WriteShareGroupStateResponse)
            return {
                self._key(group, topic.topic_id, row.partition): refused(
                    row.error_code, f"state of share group {group}", row.error_message
                )
                or True
                for topic in answer.results
                for row in topic.partitions
            }

        found = self._admin.calls.each(keys, self._admin.calls.by_coordinator(_OF_SHARE_PARTITIONS), ask, take)
        for key in keys:
            only(found, key)

    def _epochs(self, group: str, keys: Mapping[str, tuple[bytes, Partition]]) -> dict[str, tuple[int, int]]:
        """Return the state epoch and leader epoch of share partitions."""

        def ask(some: list[str]) -> Message:
            topics: dict[bytes, list[read_summary.PartitionData]] = {}
            for topic_id, (_, number) in (keys[key] for key in some):
                topics.setdefault(topic_id, []).append(read_summary.PartitionData(number, -1))
            return read_summary.ReadShareGroupStateSummaryRequest(
                group, [read_summary.ReadStateSummaryData(topic_id, rows) for topic_id, rows in topics.items()]
            )

        def take(answer: Message, _: list[str]) -> dict[str, Outcome[tuple[int, int]]]:
            assert isinstance(answer, read_summary.ReadShareGroupStateSummaryResponse)
            return {
                self._key(group, topic.topic_id, row.partition): refused(
                    row.error_code, f"state of share group {group}", row.error_message
                )
                or (row.state_epoch, max(row.leader_epoch, 0))
                for topic in answer.results
                for row in topic.partitions
            }

        found = self._admin.calls.each(keys, self._admin.calls.by_coordinator(_OF_SHARE_PARTITIONS), ask, take)
        return {key: only(found, key) for key in keys}

    def set_group_configs(self, group: str, configs: Mapping[str, str], *, dry_run: bool) -> BrokerError | None:
        """Set properties of a group; return the error with which they are refused."""
        resource = "group", group
        outcome = self._admin.configs.alter({resource: Change(configs)}, dry_run=dry_run)[resource]
        if isinstance(outcome, BrokerError):
            return outcome
        if isinstance(outcome, ClientError):
            raise outcome
        return None


def _state(row: read_state.PartitionResult) -> ShareState:
    ranges = [
        StateRange(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in row.state_batches
    ]
    return ShareState(row.start_offset, tuple(sorted(ranges)))


def _row(partition: Partition, state: ShareState, state_epoch: int, leader_epoch: int) -> write_state.PartitionData:
    done = sum(each.last - each.first + 1 for each in state.ranges if each.state in _TERMINAL)
    rows = [write_state.StateBatch(*each) for each in state.ranges]
    return write_state.PartitionData(partition[1], state_epoch, leader_epoch, state.start, done, rows)
