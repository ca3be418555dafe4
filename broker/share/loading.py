"""Loading of a share partition: its persisted state, or the start offset of one that has no such state.

The start offset of a new share partition is persisted before the first acquisition. Apache Kafka resolves it again
after a crash, and with `latest` it then skips records. Within a state epoch the stored start offset never moves back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from shareq.broker.foundation.environment import Clock, Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import TurnBudget
from shareq.broker.log.append import Ends
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.load import persisted_state
from shareq.broker.share.leader import LeaderState, SharePartitionLeader
from shareq.broker.share.persister import PersistedState, Persister, surfaced_error
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.staged import NONE_STAGED
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

_NOT_SERVED_HERE = frozenset(
    {
        ErrorCode.INVALID_REQUEST,  # it was initialised elsewhere
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""Errors after which another node may serve the state."""


class Loads:
    """The share partitions that are being loaded. `ended` is called at the end of each load, with the error or NONE,
    unless the share partition was dropped meanwhile.

    A state that reaches beyond the log's end has records that a power loss destroyed: it is cut, and written again.
    Without `believes_absence`, the cluster may have these records although the node does not know of them yet; so the
    load waits for them. A state that this node does not serve is then served by the node that leads the share partition
    now.
    """

    def __init__(
        self,
        env: Environment,
        persister: Persister,
        ended: Callable[[SharePartitionLeader, ErrorCode], None],
        *,
        believes_absence: bool,
    ) -> None:
        self._clock = env.clock
        # A load never breathes, and has its own budget: the turn's budget counts only the request that begins it.
        self._begin = beginner(TurnBudget(env.clock), in_ticks(env.clock.call_soon))
        self._persister = persister
        self._ended = ended
        self._believes_absence = believes_absence
        self.waiting: dict[SharePartitionLeader, Pending[None]] = {}
        """The share partitions whose load waits for the log to grow."""

    def begin(self, leader: SharePartitionLeader) -> None:
        """Load a share partition."""
        self._begin(self._load(leader))

    def look_again(self, leader: SharePartitionLeader) -> None:
        """Continue a load that waits, because the log has grown or was cut, or the share partition was dropped. Do
        nothing for others.
        """
        waiting = self.waiting.pop(leader, None)
        if waiting is not None:
            waiting.complete(None)

    async def _load(self, leader: SharePartitionLeader) -> None:
        error = await self._loaded(leader)
        if _is_loading(leader):
            self._ended(leader, error)

    async def _loaded(self, leader: SharePartitionLeader) -> ErrorCode:
        """Load the share partition; return NONE or the reason why it failed. The result has no meaning if it was
        dropped meanwhile.
        """
        state = await self._persister.read_state(leader.key, leader.log.leader_epoch)
        error = self._surfaced(state.error)
        if error is not ErrorCode.NONE or not _is_loading(leader):
            return error
        begins_at = state.start_offset if state.start_offset >= 0 else await self._reset_offset(leader)
        if isinstance(begins_at, ErrorCode):
            return begins_at
        end = await self._log_end(leader, begins_at, state.batches)
        if isinstance(end, ErrorCode) or not _is_loading(leader):
            return end if isinstance(end, ErrorCode) else ErrorCode.NONE
        clock, core = self._clock, leader.core
        error = core.load(
            state.state_epoch,
            begins_at,
            state.batches,
            log_start_offset=leader.log.log_start_offset,
            log_end_offset=end,
            persisted=state.start_offset >= 0,
            now_ms=clock.now_ms(),
            delays=_monotonic(clock, state.delays, _longest_ms(core.settings)) if state.delays else (),
            staged=state.staged,
        )
        if error is ErrorCode.NONE and core.lost_tail:
            return self._surfaced(await self._rewritten(leader, state, end))
        return error

    def _surfaced(self, error: ErrorCode) -> ErrorCode:
        """Return the error that the consumer gets for an error of the persister.

        In a cluster of nodes, a state that is not served here is, or will be, served by the share partition's new
        leader. Consumers look for that after NOT_LEADER_OR_FOLLOWER, while librdkafka and Java raise an exception for
        COORDINATOR_NOT_AVAILABLE.
        """
        if error in _NOT_SERVED_HERE and not self._believes_absence:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return surfaced_error(error)

    async def _reset_offset(self, leader: SharePartitionLeader) -> int | ErrorCode:
        """Return the first offset of a share partition without a persisted start offset, by
        `share.auto.offset.reset`.
        """
        reset = leader.core.settings.auto_offset_reset
        if reset.strategy != "by_duration":
            ends = await _ends(leader)
            if isinstance(ends, ErrorCode):
                return ends
            return ends.log_start_offset if reset.strategy == "earliest" else ends.high_watermark
        try:
            asked = leader.log.offset_for_timestamp(self._clock.wall_ms() - reset.duration_ms)
        except OSError as error:
            logger.error("%s: cannot read where it begins: %s", leader.key.text(), error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        found = await asked if isinstance(asked, Pending) else asked
        if isinstance(found, ErrorCode):
            return _surfaced_of_log(found)
        return ErrorCode.OFFSET_NOT_AVAILABLE if found is None else found.offset

    async def _log_end(
        self, leader: SharePartitionLeader, start_offset: int, batches: Sequence[StateBatch]
    ) -> int | ErrorCode:
        """Return the log's end (exclusive), once the log is known to reach as far as the state, or was cut."""
        log = leader.log
        if not self._believes_absence and leader.truncated_to is None:
            reached = max((batch.last_offset + 1 for batch in batches), default=start_offset)
            if log.high_watermark < max(start_offset, reached):
                ends = await _ends(leader)
                if isinstance(ends, ErrorCode):
                    return ends
                await self._grown(leader, max(start_offset, reached))
        end = log.high_watermark
        return end if leader.truncated_to is None else min(end, leader.truncated_to)

    async def _grown(self, leader: SharePartitionLeader, reached: int) -> None:
        """Wait until the log ends at or behind `reached` (exclusive), or was cut."""
        log = leader.log
        if log.high_watermark < reached:
            logger.warning(
                "%s: the persisted state reaches to offset %d, the log is known up to %d: waiting for the rest",
                leader.key.text(),
                reached - 1,
                log.high_watermark,
            )
        while log.high_watermark < reached and leader.truncated_to is None and _is_loading(leader):
            waiting = self.waiting[leader] = Pending[None]()
            await waiting

    async def _rewritten(self, leader: SharePartitionLeader, found: PersistedState, log_end: int) -> ErrorCode:
        """Replace a persisted state that reaches beyond the log's end by the part of it that was loaded.

        Otherwise the coordinator would still apply the states of lost records to new records with the same offsets.
        """
        core, rows = leader.core, leader.core.snapshot()
        logger.warning(
            "%s: the persisted state (start offset %d) reaches beyond the log end %d: the rest is dropped",
            leader.key.text(),
            found.start_offset,
            log_end,
        )
        batches = [
            StateBatch(row.first_offset, row.last_offset, persisted_state(row.state), row.delivery_count)
            for row in rows
        ]
        waiting = [Delay(row.first_offset, row.last_offset, row.not_before_ms or 0, row.delivery_count) for row in rows]
        delays = in_wall_time(self._clock, [each for each in waiting if each.not_before_ms])
        staged = core.staged() if found.staged else NONE_STAGED
        return await self._persister.replace_state(
            leader.key, core.state_epoch, core.start_offset, batches, delays, staged
        )


def in_wall_time(clock: Clock, delays: Sequence[Delay]) -> tuple[Delay, ...]:
    """Return the delays of a share partition converted from monotonic to wall-clock time, in which they are
    persisted.
    """
    ahead = clock.wall_ms() - clock.now_ms()
    return tuple(each._replace(not_before_ms=max(each.not_before_ms + ahead, 0)) for each in delays)


def _monotonic(clock: Clock, delays: Sequence[Delay], longest_ms: int) -> list[Delay]:
    """Return persisted delays converted to monotonic time, without those that are over.

    The wall clock may have been set back meanwhile, so no delay lasts longer than `longest_ms` from now.
    """
    now, wall = clock.now_ms(), clock.wall_ms()
    left = ((each, min(each.not_before_ms - wall, longest_ms)) for each in delays)
    return [each._replace(not_before_ms=now + wait) for each, wait in left if wait > 0]


def _longest_ms(settings: ShareGroupSettings) -> int:
    longest_ms = settings.redelivery.max_ms
    return max(longest_ms, settings.delay.max_ms) if settings.delay.enabled else longest_ms


async def _ends(leader: SharePartitionLeader) -> Ends | ErrorCode:
    asked = leader.log.ends()
    ends = await asked if isinstance(asked, Pending) else asked
    return _surfaced_of_log(ends) if isinstance(ends, ErrorCode) else ends


def _surfaced_of_log(error: ErrorCode) -> ErrorCode:
    """Return the error that the consumer gets for an error of the log: after OFFSET_NOT_AVAILABLE consumers ask
    again.
    """
    return ErrorCode.OFFSET_NOT_AVAILABLE if error is ErrorCode.REQUEST_TIMED_OUT else error


def _is_loading(leader: SharePartitionLeader) -> bool:
    return leader.state is LeaderState.LOADING
