"""One broker: its view of the cluster, the partitions it leads, and the requests waiting in it.

It follows the last image it has received. A replaced leader that has not heard of it yet keeps its own copy of the log,
which followers no longer copy: acks=all is not answered until it hears, and then with NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from shareq.broker.config.topic_config import log_settings
from shareq.broker.fetch.sessions import FetchSessions
from shareq.broker.log.admission import Admission
from shareq.broker.log.settings import LogSettings
from shareq.protocol.config_def import ConfigValue, int_value
from shareq.protocol.errors import ErrorCode
from tests.support.cluster.image import Image, PartitionState, TopicState
from tests.support.cluster.log import ClusterLog

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster
    from tests.support.cluster.controller import LogKey

Waiter = Callable[[], bool]
"""A function that answers its request if the awaited event has happened; it returns whether it has answered."""


class Led(NamedTuple):
    topic: TopicState
    partition: int
    state: PartitionState
    log: ClusterLog

    @property
    def key(self) -> LogKey:
        return self.topic.topic_id, self.partition


class SimulatedBroker:
    """A broker of a cluster. The modules beside this one hold its parts by subject; they get it in a `Call`."""

    def __init__(self, broker_id: int, cluster: SimulatedCluster) -> None:
        self.id = broker_id
        self.cluster = cluster
        self.image = Image()
        self.hears = True
        self._stranded: dict[LogKey, ClusterLog] = {}
        self._waiters: list[Waiter] = []
        self.sessions = self._new_sessions()
        self.named_in_sessions: set[tuple[int, bytes]] = set()
        """Sessions and topic ids that were known while the session had them."""

    def _new_sessions(self) -> FetchSessions:
        rng = self.cluster.env.rng
        return FetchSessions(self.cluster.settings.fetch_session_slots, lambda: rng.randint(1, 2**31 - 1))

    # -- what it knows

    def take_in(self, image: Image) -> None:
        """Apply a new image, unless the broker is cut off from the controller's news."""
        if self.hears:
            self.image = image
            self._stranded.clear()
            self.look()

    def strand(self, key: LogKey, log: ClusterLog) -> None:
        """Replace the broker as a leader: until it hears of that, it keeps using this log."""
        if not self.hears:
            self._stranded.setdefault(key, log)

    def is_stranded(self, key: LogKey) -> bool:
        """Return whether the broker still believes it leads a partition that another leads."""
        return key in self._stranded

    def restarted(self) -> None:
        """Start again after a crash: sessions and waiting requests are lost."""
        self._waiters.clear()
        self._stranded.clear()
        self.sessions = self._new_sessions()
        self.named_in_sessions.clear()

    def led(self, topic: TopicState | None, partition: int, epoch: int = -1) -> Led | ErrorCode:
        """Return a partition that is led here, or an error (Partition.localLogWithEpochOrThrow).

        The errors are UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH and NOT_LEADER_OR_FOLLOWER.
        """
        if topic is None or not 0 <= partition < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        state, key = topic.partitions[partition], (topic.topic_id, partition)
        if self.id in state.replicas and 0 <= epoch != state.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if epoch < state.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        if state.leader != self.id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = self._stranded.get(key) or self.cluster.controller.logs.get(key)
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if log is None else Led(topic, partition, state, log)

    def topic(self, name: str) -> TopicState | None:
        return self.image.topics.get(name)

    def log_settings(self, topic: TopicState) -> LogSettings:
        return log_settings(self._values(topic), self.cluster.config)

    def min_insync_replicas(self, topic: TopicState) -> int:
        return int_value(self._values(topic), "min.insync.replicas")

    def _values(self, topic: TopicState) -> Mapping[str, ConfigValue]:
        return self.cluster.settings.release.topic_values(topic.name, self.cluster.config, topic.configs)

    def admission(self, topic: TopicState) -> Admission:
        return Admission(self.log_settings(topic))

    # -- who waits

    def wait(self, waiter: Waiter, timeout_ms: int, on_timeout: Callable[[], None]) -> None:
        """Let a request wait for its answer, at most `timeout_ms`."""

        def over() -> None:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                on_timeout()

        self._waiters.append(waiter)
        clock = self.cluster.env.clock
        clock.call_at(clock.now_ms() + timeout_ms, lambda: self.cluster.when_running(self.id, over))

    def look(self) -> None:
        if not self.cluster.is_running(self.id):
            return
        for waiter in list(self._waiters):
            if waiter in self._waiters and waiter():
                self._waiters.remove(waiter)
