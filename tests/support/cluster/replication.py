"""Replication to followers, which moves the high watermark.

The high watermark reaches the end of the log when every replica of the ISR has it: none of them may be paused or dead,
and the test must not hold the partition. It moves `replication_ms` after an append.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.cluster.controller import LogKey

if TYPE_CHECKING:
    from tests.support.cluster.broker import SimulatedBroker
    from tests.support.cluster.cluster import SimulatedCluster


class Replication:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._held: set[LogKey] = set()

    def hold(self, key: LogKey) -> None:
        self._held.add(key)

    def release(self, key: LogKey) -> None:
        self._held.discard(key)
        self.go_on(key)

    def appended(self, broker: SimulatedBroker, key: LogKey) -> None:
        if broker.is_stranded(key):
            return
        delay_ms = self._cluster.settings.replication_ms
        log = self._cluster.controller.logs[key]
        if not delay_ms:
            self.go_on(key)
            return
        clock, end, epoch = self._cluster.env.clock, log.end, log.epochs[-1].epoch

        def arrived() -> None:
            if log.epochs and log.epochs[-1].epoch == epoch:
                self.go_on(key, end)

        clock.call_at(clock.now_ms() + delay_ms, arrived)

    def go_on(self, key: LogKey, upto: int | None = None) -> None:
        """Replicate what the followers can take, and answer the requests that waited for that."""
        state, log = self._cluster.controller.state(key), self._cluster.controller.logs.get(key)
        if state is None or log is None or key in self._held or state.leader not in self._cluster.brokers:
            return
        if not all(map(self._cluster.is_running, state.isr)):
            return
        log.replicated(log.end if upto is None else min(upto, log.end))
        self._cluster.brokers[state.leader].look()

    def go_on_everywhere(self) -> None:
        """Try all partitions again after a broker came back or an ISR changed."""
        for key in list(self._cluster.controller.logs):
            self.go_on(key)
