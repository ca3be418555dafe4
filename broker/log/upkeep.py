"""Periodic upkeep of all logs: retention, and expiry of silent producers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from shareq.broker.disk.policy import DiskState
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.loop.coroutines import Waiting, beginner, in_ticks
from shareq.broker.log.log_starts import LogStarts
from shareq.broker.log.partition_log import PartitionLog

RETENTION_RETRY_MS: Final = 5_000
"""The time in ms until retention is tried again, after a full disk has kept it from saving start offsets."""


class CheckTimes(NamedTuple):
    """Intervals of upkeep: `log.retention.check.interval.ms`, `producer.id.expiration.check.interval.ms`."""

    retention_ms: int = 5 * 60 * 1000
    producers_ms: int = 10 * 60 * 1000


DEFAULT_CHECK_TIMES: Final = CheckTimes()


class Upkeep:
    """The timers of a manager of logs, and their work on all `logs`, some of them in each tick of the loop."""

    def __init__(
        self,
        env: Environment,
        logs: Callable[[], Iterable[PartitionLog]],
        starts: LogStarts,
        times: CheckTimes,
        disk: DiskWatch | None,
    ) -> None:
        self._env = env
        self._logs = logs
        self._starts = starts
        self._times = times
        self._disk = disk
        self._begin = beginner(env.budget, in_ticks(env.clock.call_soon))
        self._timers: dict[object, TimerHandle] = {}
        self._runs = False
        self._retries = False

    def start(self) -> None:
        """Begin to check the logs periodically."""
        self._runs = True
        self._every(self._times.retention_ms, self._check_retention)
        self._every(self._times.producers_ms, self._forget_silent_producers)

    def stop(self) -> None:
        """Stop checking the logs. A second call has no effect."""
        self._runs = False
        for timer in self._timers.values():
            timer.cancel()

    def make_room_soon(self) -> None:
        """Apply retention in the next tick, because the disk is full."""
        if self._runs:
            self._env.clock.call_soon(self.apply_retention)

    def apply_retention(self) -> None:
        """Delete segments by retention time and size, some in each turn; try again later if a full disk cannot save
        the new starts.
        """
        self._retain(list(self._logs()))

    def _retain(self, logs: list[PartitionLog]) -> None:
        self._starts.retain_many(logs, self._env.clock.wall_ms, self._retained)

    def _retained(self, saved: bool) -> None:
        full = self._disk is not None and self._disk.state >= DiskState.FULL
        if saved or not full or self._retries:
            return
        self._retries = True
        self._env.clock.call_at(self._env.clock.now_ms() + RETENTION_RETRY_MS, self._retain_again)

    def _retain_again(self) -> None:
        self._retries = False
        if self._runs:
            self.apply_retention()

    def _every(self, ms: int, check: Callable[[], Waiting[None]]) -> None:
        clock = self._env.clock

        def due() -> None:
            self._every(ms, check)
            self._begin(check())

        self._timers[check] = clock.call_at(clock.now_ms() + ms, due)

    async def _check_retention(self) -> None:
        due: list[PartitionLog] = []
        for log in list(self._logs()):
            while (arrived := log.load_oldest()) is not None:
                await arrived
            if self._starts.is_due(log, self._env.clock.wall_ms()):
                due.append(log)
            await self._env.budget.breathe()
            if not self._runs:
                return
        self._retain(due)
        if self._disk is not None:
            self._disk.writing()  # others may have filled the disk meanwhile

    async def _forget_silent_producers(self) -> None:
        now = self._env.clock.wall_ms()
        for log in list(self._logs()):
            log.producers.remove_expired(now, log.settings.producer_id_expiration_ms)
            await self._env.budget.breathe()
            if not self._runs:
                return
