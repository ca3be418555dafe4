"""The driver of the ports for groups: requests to both clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any, Final, TypeVar
from uuid import uuid4

from shareq.client.admin.calls import Outcome, answered, batched, only, refused
from shareq.client.admin.configs import Change
from shareq.client.admin.share_groups import alteration
from shareq.client.errors import BrokerError, ClientError, UnsupportedApi
from shareq.ops.migrate.broker import SourceCluster, TargetCluster
from shareq.ops.migrate.group_ports import Committed, Redrive, ShareState, StateRange
from shareq.ops.migrate.ports import Partition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import initialize_share_group_state as initialize_state
from shareq.protocol.generated import read_share_group_state as read_state
from shareq.protocol.generated import read_share_group_state_summary as read_summary
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated import write_share_group_state as write_state
from shareq.protocol.primitives import ZERO_UUID, Message, uuid_to_text
from shareq.protocol.share import TERMINAL, AcknowledgeType, RecordState

_OF_SHARE_PARTITIONS: Final = 2
"""FindCoordinator's key type for share partitions."""
_FENCE: Final = 2**31 - 1
"""A leader epoch above all others."""
_LOOK_MS: Final = 100
"""The wait of a fetch that only makes a leader write."""
_READS: Final = 5
"""The number of reads of states if leaders begin in between, and of starts until they are requested again."""
_UNDER_WAY: Final = "RUNNING"
_NO_MEMBERS: Final = ("empty", "dead")
_STATES: Final = frozenset((RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
_DEAD_LETTERS: Final = 2
"""The level of share.version from which on a record's state may be "archiving"."""

_ANSWERS: Final = (
    initialize_state.InitializeShareGroupStateResponse,
    read_state.ReadShareGroupStateResponse,
    read_summary.ReadShareGroupStateSummaryResponse,
    write_state.WriteShareGroupStateResponse,
)
V = TypeVar("V")


class _Groups:
    """The groups of a cluster, with the requests that both sides need."""

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

    def begun(self, group: str) -> Mapping[Partition, int]:
        """Return the share partitions of which the share group has a state, and their start offsets."""
        found = only(dict(self._admin.share_groups.offsets([group])), group)
        return {
            each: -1 if isinstance(place, ClientError) or place.start is None else place.start
            for each, place in found.items()
        }

    def _key(self, group: str, topic_id: bytes, partition: int) -> str:
        return f"{group}:{uuid_to_text(topic_id)}:{partition}"

    def _keys(self, group: str, partitions: Collection[Partition]) -> dict[str, tuple[bytes, Partition]]:
        """Return the share coordinators' keys for share partitions."""
        ids = self._network.topic_ids({name for name, _ in partitions})
        return {self._key(group, ids[each[0]], each[1]): (ids[each[0]], each) for each in partitions}

    def _ask_states(
        self,
        group: str,
        keys: Mapping[str, tuple[bytes, Partition]],
        request: Callable[[Mapping[bytes, list[str]]], Message],
        value_of: Callable[[Any], V],
    ) -> dict[str, V]:
        """Return the values that share coordinators have for keys. Raises the first error of a row.

        `request` is made from one coordinator's keys, by topic; `value_of` gets a row without an error.
        """

        def ask(some: list[str]) -> Message:
            topics: dict[bytes, list[str]] = {}
            for key in some:
                topics.setdefault(keys[key][0], []).append(key)
            return request(topics)

        def take(answer: Message, _: list[str]) -> dict[str, Outcome[V]]:
            assert isinstance(answer, _ANSWERS)
            return {
                self._key(group, topic.topic_id, row.partition): refused(
                    row.error_code, f"state of share group {group}", row.error_message
                )
                or value_of(row)
                for topic in answer.results
                for row in topic.partitions
            }

        found = self._admin.calls.each(keys, self._admin.calls.by_coordinator(_OF_SHARE_PARTITIONS), ask, take)
        return {key: only(found, key) for key in keys}

    def _read(
        self, group: str, keys: Mapping[str, tuple[bytes, Partition]], leader_epochs: Mapping[str, int]
    ) -> dict[Partition, ShareState]:
        """Return states, read as by leaders of these epochs. A start below 0 means that there is no state."""

        def request(topics: Mapping[bytes, list[str]]) -> Message:
            return read_state.ReadShareGroupStateRequest(
                group,
                [
                    read_state.ReadStateData(
                        topic_id, [read_state.PartitionData(keys[key][1][1], leader_epochs[key]) for key in of_topic]
                    )
                    for topic_id, of_topic in topics.items()
                ],
            )

        return {keys[key][1]: state for key, state in self._ask_states(group, keys, request, _state).items()}


class GroupsOfSource(_Groups):
    """The groups of the source cluster. One that `lies_still` has no members: its stored state was cut off."""

    def __init__(self, cluster: SourceCluster, *, lies_still: bool = False) -> None:
        super().__init__(cluster)
        self._lies_still = lies_still

    def consumer_groups(self) -> Mapping[str, bool]:
        return {
            each.group_id: not self._lies_still and each.state.lower() not in _NO_MEMBERS
            for each in self._admin.groups.find()
            if each.kind != "share"
        }

    def share_groups(self) -> Sequence[str]:
        """Return share groups by name."""
        return [each.group_id for each in self._admin.groups.find() if each.kind == "share"]

    def take_over(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState | None]:
        """Read states with an epoch above all others."""
        keys = self._keys(group, partitions)
        states = self._read(group, keys, dict.fromkeys(keys, _FENCE))
        self._end_leaders(group, keys)
        return {each: state if state.start >= 0 else None for each, state in states.items()}

    def _end_leaders(self, group: str, keys: Mapping[str, tuple[bytes, Partition]]) -> None:
        """Make the leaders of share partitions write, if they have records to deliver.

        The write is refused by now; without it, Apache Kafka's leaders would go on delivering records.
        """
        member = uuid_to_text(uuid4().bytes)
        by_leader: dict[int, dict[bytes, list[int]]] = {}
        for topic_id, (_, number) in keys.values():
            leader = self._network.leader(topic_id, number)
            if leader is not None:
                by_leader.setdefault(leader, {}).setdefault(topic_id, []).append(number)
        for leader, topics in by_leader.items():
            fetch = share_fetch.ShareFetchRequest(
                group,
                member,
                max_wait_ms=_LOOK_MS,
                min_bytes=1,
                max_bytes=1,
                max_records=1,
                batch_size=1,
                topics=[
                    share_fetch.FetchTopic(topic_id, [share_fetch.FetchPartition(number) for number in numbers])
                    for topic_id, numbers in topics.items()
                ],
            )
            try:
                fetched = self._network.request(leader, fetch)
                assert isinstance(fetched, share_fetch.ShareFetchResponse)
                if released := _released(fetched):
                    release = share_acknowledge.ShareAcknowledgeRequest(group, member, 1, topics=released)
                    self._network.request(leader, release)
            except ClientError:  # a leader that is gone hands out nothing either
                continue

    def redrives(self) -> Sequence[Redrive]:
        """Return the running redrives; nodes and Apache Kafka have none."""
        try:
            found = [outcome for _, outcome in self._admin.redrives.find()]
        except UnsupportedApi:
            return ()
        return [
            Redrive(each.name, each.queue, each.target, each.left)
            for each in found
            if not isinstance(each, ClientError) and each.state == _UNDER_WAY
        ]

    def end_redrive(self, name: str) -> None:
        """Stop a redrive."""
        self._admin.redrives.cancel(name)

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
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
    """The groups of the target cluster."""

    def commit(self, group: str, offsets: Mapping[Partition, Committed]) -> None:
        found = self._admin.consumer_groups.alter_offsets(
            group,
            {each: committed.offset for each, committed in offsets.items()},
            {each: committed.metadata for each, committed in offsets.items()},
        )
        for partition in offsets:
            only(found, partition)

    def writable_states(self) -> Collection[int]:
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

    def expect(self, group: str, partitions: Collection[Partition]) -> None:
        """Find the share coordinators of partitions: Apache Kafka first has to create the topic of their states."""
        self._epochs(group, self._keys(group, partitions))

    def begin(self, group: str, starts: Mapping[Partition, int]) -> int:
        """Let a share group without members begin at these offsets; return when it has, with the number of requests.

        Until then Apache Kafka may let it begin again, without an offset.
        """
        asked, left, tries = self._alter(group, starts), dict(starts), self._network.tries()
        for reads in count(1):
            known = self.begun(group) if left else {}
            left = {each: start for each, start in left.items() if each not in known}
            if not left:
                break
            self._network.wait(tries, BrokerError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"share group {group}"))
            asked += self._alter(group, left) if reads % _READS == 0 else 0
        return asked

    def _alter(self, group: str, starts: Mapping[Partition, int]) -> int:
        """Request start offsets, also if there are none; return the number of requests."""
        request, answers, take = alteration(group, starts)
        asked = 0

        def ask(_: list[str]) -> Message:
            nonlocal asked
            asked += 1
            return request

        taken = answered(answers, lambda answer: {group: take(answer)})
        found = only(self._admin.calls.each_group([group], ask, taken), group)
        for partition in starts:
            only(found, partition)
        return asked

    def begin_above(self, group: str, starts: Mapping[Partition, int]) -> None:
        """Restart partitions that have begun, with a state epoch above all earlier requests, which are refused from
        then on.
        """
        keys = self._keys(group, starts)
        epochs = {key: state_epoch for key, (state_epoch, _) in self._epochs(group, keys).items()}

        def row(key: str) -> initialize_state.PartitionData:
            epochs[key] += 1  # each time that it is asked for
            partition = keys[key][1]
            return initialize_state.PartitionData(partition[1], epochs[key], starts[partition])

        def request(topics: Mapping[bytes, list[str]]) -> Message:
            return initialize_state.InitializeShareGroupStateRequest(
                group,
                [
                    initialize_state.InitializeStateData(topic_id, [row(key) for key in of_topic])
                    for topic_id, of_topic in topics.items()
                ],
            )

        self._ask_states(group, keys, request, lambda _: True)

    def write(self, group: str, states: Mapping[Partition, ShareState]) -> None:
        keys = self._keys(group, states)
        epochs = self._epochs(group, keys)

        def row(key: str) -> write_state.PartitionData:
            partition = keys[key][1]
            return row_of(partition, states[partition], *epochs[key])

        def request(topics: Mapping[bytes, list[str]]) -> Message:
            return write_state.WriteShareGroupStateRequest(
                group,
                [
                    write_state.WriteStateData(topic_id, [row(key) for key in of_topic])
                    for topic_id, of_topic in topics.items()
                ],
            )

        self._ask_states(group, keys, request, lambda _: True)

    def read(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState]:
        """Return states, read with the epochs of the current leaders: a leader that begins meanwhile has another."""
        keys = self._keys(group, partitions)
        for _ in range(_READS):
            try:
                epochs = {key: leader for key, (_, leader) in self._epochs(group, keys).items()}
                return self._read(group, keys, epochs)
            except UnsupportedApi:
                break
            except BrokerError as error:
                if error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                    break
                if error.code != ErrorCode.FENCED_LEADER_EPOCH:
                    raise
        return {}

    def _epochs(self, group: str, keys: Mapping[str, tuple[bytes, Partition]]) -> dict[str, tuple[int, int]]:
        """Return the state epoch and leader epoch of share partitions."""

        def request(topics: Mapping[bytes, list[str]]) -> Message:
            return read_summary.ReadShareGroupStateSummaryRequest(
                group,
                [
                    read_summary.ReadStateSummaryData(
                        topic_id, [read_summary.PartitionData(keys[key][1][1], -1) for key in of_topic]
                    )
                    for topic_id, of_topic in topics.items()
                ],
            )

        return self._ask_states(group, keys, request, lambda row: (row.state_epoch, max(row.leader_epoch, 0)))

    def set_group_configs(
        self, changes: Mapping[str, Mapping[str, str]], *, dry_run: bool
    ) -> Mapping[str, BrokerError]:
        errors: dict[str, BrokerError] = {}
        for some in batched(changes):
            wanted = {("group", group): Change(changes[group]) for group in some}
            for (_, group), outcome in self._admin.configs.alter(wanted, dry_run=dry_run).items():
                if isinstance(outcome, BrokerError):
                    errors[group] = outcome
                elif isinstance(outcome, ClientError):
                    raise outcome
        return errors


def _released(fetched: share_fetch.ShareFetchResponse) -> list[share_acknowledge.AcknowledgeTopic]:
    """Return the acknowledgement that releases all fetched records."""
    rpc = share_acknowledge
    found = [
        rpc.AcknowledgeTopic(
            topic.topic_id,
            [
                rpc.AcknowledgePartition(
                    row.partition_index,
                    [
                        rpc.AcknowledgementBatch(each.first_offset, each.last_offset, [AcknowledgeType.RELEASE])
                        for each in row.acquired_records
                    ],
                )
                for row in topic.partitions
                if row.acquired_records
            ],
        )
        for topic in fetched.responses
    ]
    return [each for each in found if each.partitions]


def _state(row: read_state.PartitionResult) -> ShareState:
    ranges = [
        StateRange(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in row.state_batches
    ]
    return ShareState(row.start_offset, tuple(sorted(ranges)))


def row_of(partition: Partition, state: ShareState, state_epoch: int, leader_epoch: int) -> write_state.PartitionData:
    """Return the row that writes a state."""
    rows = [write_state.StateBatch(*each) for each in state.ranges]
    complete = state.count(TERMINAL)
    return write_state.PartitionData(partition[1], state_epoch, leader_epoch, state.start, complete, rows)
