"""The driver of the ports: requests to both clusters, whether shareq, its nodes, or Apache Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome
from shareq.client.admin.configs import Change, Config
from shareq.client.admin.topics import NewTopic, TopicInfo
from shareq.client.core.list_offsets import EARLIEST, LATEST, OffsetAt
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi, is_transient, understood
from shareq.client.fetch import BY_TOPIC_ID, whole_batches
from shareq.client.network import Exchange, Network, Tries
from shareq.ops.migrate.batches import Aborted, Fetched
from shareq.ops.migrate.ports import LogRange, Partition, Sample, Topic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.records.batch import batch_headers

CHUNK_BYTES: Final = 4 << 20
"""The size of a Fetch answer, unless a single batch is larger. The next answer is requested meanwhile."""
MAX_WAIT_MS: Final = 500
SAMPLE_BYTES: Final = 32 << 20
SAMPLE_S: Final = 2.0
"""The most bytes of a sample, and about how many seconds it takes."""
_ALL: Final = -1
_BATCHES: Final = 3
"""The first version of Produce with record batches of magic 2."""
_NO_TRANSACTION_MS: Final = 0x7FFFFFFF
_COMMITTED: Final = 1
_LARGEST_BATCH: Final = "max.message.bytes"
_TRIED: Final = "shareq-migrate.tried"


class Cluster:
    """A cluster, with the requests that both sides need."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.admin = Admin(network)

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        return self.admin.cluster.describe().cluster_id

    def ranges(self, partitions: Collection[Partition]) -> Mapping[Partition, LogRange]:
        """Return the starts of logs, and the ends of decided transactions."""
        starts = _known(self.admin.topics.offsets(dict.fromkeys(partitions, EARLIEST)))
        ends = _known(self.admin.topics.offsets(dict.fromkeys(partitions, LATEST), committed_only=True))
        return {each: LogRange(starts[each], ends[each]) for each in partitions}

    def fetch(self, partition: Partition, offset: int, end: int) -> Iterator[Fetched]:
        """Yield whole batches from an offset on, below `end`; from the start of the log if the offset was deleted."""
        position, tries = offset, self.network.tries()
        reply = self._ask(partition, position) if position < end else None
        while reply is not None:
            try:
                row = _row_of(reply, partition)
                size, following = whole_batches(row.records or b"")
                if following <= position:
                    raise Unreachable(f"{_named(partition)}: nothing comes at offset {position}, and it ends at {end}")
            except ClientError as error:
                position = self._beyond(partition, position, error)
                if position < end:
                    self._wait(tries, error, partition)
                    reply = self._ask(partition, position)
                    continue
                return
            tries = self.network.tries()
            position = following
            reply = self._ask(partition, position) if position < end else None
            aborted = [Aborted(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()]
            yield Fetched(memoryview(row.records or b"")[:size], aborted)

    def _wait(self, tries: Tries, error: ClientError, partition: Partition) -> None:
        out_of_range = isinstance(error, BrokerError) and error.code == ErrorCode.OFFSET_OUT_OF_RANGE
        if not is_transient(error) and not out_of_range:
            raise error
        self.network.wait(tries, error)
        self.refresh(partition)

    def refresh(self, partition: Partition) -> None:
        """Ask for the leader of a partition, if a broker answers."""
        try:
            self.network.refresh([partition[0]])
        except Unreachable:
            return

    def _beyond(self, partition: Partition, position: int, error: ClientError) -> int:
        """Return where to continue after an error: the log's start, if it is beyond the position."""
        if not isinstance(error, BrokerError) or error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return position
        return max(position, self.ranges([partition])[partition].start)

    def _ask(self, partition: Partition, position: int) -> Exchange | ClientError:
        try:
            topic_id, leader = self._leader(partition)
            row = FetchPartition(partition[1], fetch_offset=position, partition_max_bytes=CHUNK_BYTES)
            request = FetchRequest(
                max_wait_ms=MAX_WAIT_MS,
                min_bytes=1,
                max_bytes=CHUNK_BYTES,
                isolation_level=_COMMITTED,
                topics=[FetchTopic(topic_id=topic_id, partitions=[row])],
            )
            return self.network.submit(leader, request, min_version=BY_TOPIC_ID)
        except ClientError as error:
            return error

    def _leader(self, partition: Partition) -> tuple[bytes, int]:
        """Return the topic's id and the partition's leader."""
        name, number = partition
        ids = self.network.topic_ids([name])
        if name not in ids:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name}")
        leader = self.network.leader(ids[name], number)
        if leader is None:
            raise Unreachable(f"{_named(partition)} has no leader")
        return ids[name], leader

    def _topics(self, found: Collection[TopicInfo]) -> list[Topic]:
        configs = dict(self.admin.configs.describe([("topic", each.name) for each in found]))
        return [_topic(each, configs["topic", each.name]) for each in found]


class SourceCluster(Cluster):
    """The source cluster."""

    def topics(self, wanted: Callable[[str, bool], bool]) -> Sequence[Topic]:
        """Return the topics that are wanted. Nodes list their cluster's internal topics, but do not describe them."""
        return self._topics([each for each in self.admin.topics.all() if wanted(each.name, each.internal)])

    def sample(self, ranges: Mapping[Partition, LogRange]) -> Sample:
        """Read the longest ranges first, until the sample is large enough."""
        began_s = time.monotonic()
        size = records = 0
        for partition, (start, end) in sorted(ranges.items(), key=lambda one: one[1].start - one[1].end):
            for fetched in self.fetch(partition, start, end):
                size += len(fetched.data)
                records += sum(header.records_count for _, header in batch_headers(memoryview(fetched.data)))
                seconds = time.monotonic() - began_s
                if size >= SAMPLE_BYTES or seconds >= SAMPLE_S:
                    return Sample(size, records, seconds)
        return Sample(size, records, time.monotonic() - began_s)

    def undecided(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Wait for open transactions at the ends of logs, for the time of one call; return the first offsets of those
        that remain.
        """
        tries = self.network.tries()
        while True:
            # The log's end first: what comes in between must not look like a part of a transaction.
            ends = _known(self.admin.topics.offsets(dict.fromkeys(partitions, LATEST)))
            decided = _known(self.admin.topics.offsets(dict.fromkeys(partitions, LATEST), committed_only=True))
            left = {each: decided[each] for each in partitions if decided[each] < ends[each]}
            if not left:
                return left
            try:
                self.network.wait(tries, Unreachable("transactions are open"))
            except Unreachable:
                return left

    def sizes(self) -> Mapping[Partition, int]:
        """Return the bytes of each partition's largest replica; nothing if the cluster does not report them."""
        found: dict[Partition, int] = {}
        try:
            for answer in self.admin.calls.brokers(
                DescribeLogDirsRequest(None), DescribeLogDirsResponse, "log folders"
            ):
                for topic in (topic for folder in answer.results for topic in folder.topics):
                    for row in topic.partitions:
                        partition = topic.name, row.partition_index
                        found[partition] = max(found.get(partition, 0), row.partition_size)
        except UnsupportedApi:  # nodes have no logs
            return {}
        except BrokerError as error:
            if error.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise
        return found


class _Sent(NamedTuple):
    cluster: TargetCluster
    partition: Partition
    reply: Exchange | ClientError

    def appended(self) -> int | None:
        try:
            if isinstance(self.reply, ClientError):
                raise self.reply
            answer = self.reply.result()
            assert isinstance(answer, ProduceResponse)
            with understood(f"an answer to Produce of {_named(self.partition)}"):
                row = answer.responses[0].partition_responses[0]
            if row.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                return None
            if row.error_code:
                said = next((each.batch_index_error_message for each in row.record_errors), None)
                raise BrokerError(row.error_code, f"{_named(self.partition)} at the target", row.error_message or said)
        except ClientError as error:
            if is_transient(error):
                self.cluster.refresh(self.partition)
            raise
        return row.base_offset if row.base_offset >= 0 else None


class TargetCluster(Cluster):
    """The target cluster."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._tries: Tries | None = None

    def topics(self, names: Collection[str]) -> Mapping[str, Topic]:
        """Return those of the topics that exist."""
        described = self.admin.topics.describe(names)
        found: list[TopicInfo] = []
        for _, outcome in described:
            if isinstance(outcome, TopicInfo):
                found.append(outcome)
            elif not isinstance(outcome, BrokerError) or outcome.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise outcome
        return {each.name: each for each in self._topics(found)}

    def create(self, topic: Topic) -> BrokerError | None:
        """Create a topic, with the cluster's default number of replicas; return the error with which it is refused."""
        return self._created(NewTopic(topic.name, topic.partitions, configs=topic.configs), dry_run=False)

    def try_configs(self, topic: Topic) -> BrokerError | None:
        """Return the error with which the cluster refuses the properties of a topic; creates nothing.

        The request names another topic: a cluster refuses an existing name before it looks at properties.
        """
        return self._created(NewTopic(_TRIED, 1, configs=topic.configs), dry_run=True)

    def _created(self, topic: NewTopic, *, dry_run: bool) -> BrokerError | None:
        outcome = self.admin.topics.create([topic], dry_run=dry_run)[topic.name]
        if isinstance(outcome, BrokerError):
            return outcome
        if isinstance(outcome, ClientError):
            raise outcome
        return None

    def set_configs(self, changes: Mapping[str, tuple[Mapping[str, str], Collection[str]]]) -> None:
        found = self.admin.configs.alter(
            {("topic", topic): Change(configs, list(delete)) for topic, (configs, delete) in changes.items()}
        )
        for outcome in found.values():
            if isinstance(outcome, ClientError):
                raise outcome

    def producer(self) -> tuple[int, int]:
        answer = self.admin.calls.any(
            InitProducerIdRequest(None, _NO_TRANSACTION_MS), InitProducerIdResponse, "InitProducerId"
        )
        return answer.producer_id, answer.producer_epoch

    def send(self, partition: Partition, batch: bytes | bytearray) -> _Sent:
        """Send a batch."""
        try:
            topic_id, leader = self._leader(partition)
            timeout_ms = self.network.config.request_timeout_ms
            rows = [PartitionProduceData(partition[1], memoryview(batch))]
            request = ProduceRequest(None, _ALL, timeout_ms, [TopicProduceData(partition[0], topic_id, rows)])
            return _Sent(self, partition, self.network.submit(leader, request, min_version=_BATCHES))
        except ClientError as error:
            return _Sent(self, partition, error)

    def pause(self, error: ClientError) -> None:
        """Wait before a failed request is retried."""
        self._tries = self._tries or self.network.tries()
        self.network.wait(self._tries, error)

    def progressed(self) -> None:
        self._tries = None


def _named(partition: Partition) -> str:
    return f"partition {partition[0]}-{partition[1]}"


def _known(found: Mapping[Partition, Outcome[OffsetAt]]) -> dict[Partition, int]:
    offsets: dict[Partition, int] = {}
    for partition, outcome in found.items():
        if isinstance(outcome, ClientError):
            raise outcome
        offsets[partition] = outcome.offset or 0
    return offsets


def _row_of(reply: Exchange | ClientError, partition: Partition) -> PartitionData:
    if isinstance(reply, ClientError):
        raise reply
    answer = reply.result()
    assert isinstance(answer, FetchResponse)
    row = answer.responses[0].partitions[0] if answer.responses else PartitionData()
    if error := answer.error_code or row.error_code:
        raise BrokerError(error, f"{_named(partition)}: Fetch")
    return row


def _topic(info: TopicInfo, configs: Outcome[tuple[Config, ...]]) -> Topic:
    if isinstance(configs, ClientError):
        raise configs
    set_here = {each.name: each.value for each in configs if each.source == "topic" and each.value is not None}
    largest = next((each.value for each in configs if each.name == _LARGEST_BATCH), None)
    return Topic(
        info.name, info.topic_id.hex(), len(info.partitions), info.internal, set_here, int(largest) if largest else 0
    )
