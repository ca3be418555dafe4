"""Work for the next fetch of a share partition with order by key, done ahead when the previous fetch was answered.

Reading, hashing the keys, and linking them in the window do not depend on the member's acknowledgements. So they are
done while the member processes its records, and not while it waits for the next ones. Nothing is handed out or
persisted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Clock
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.dates import Dated
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.ordered.kept_reads import MOST_BYTES, KeptReads
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.share import AcquireMode

MOST_OFFSETS: Final = 20_000
"""The most offsets of a read ahead, since a turn of the loop has to stay short. A larger read is left to the fetch
itself.
"""
TURNS_TO_LEAVE: Final = 2
"""The number of turns, after the one in which a fetch ends, until its answer has surely been passed to the socket."""


class NextFetch(NamedTuple):
    """The parameters of a member's fetch, which its next fetch is expected to have, too."""

    mode: AcquireMode
    batch_size: int
    max_records: int
    max_bytes: int


class Ahead:
    """The share partitions whose records were just delivered, each with its expected next fetch, to be read ahead.

    At most one is read in a turn of the loop, and none while an answer of these groups is still to be sent. `refresh`
    looks up a share partition's settings, `wake` lets its waiting fetches look again.
    """

    __slots__ = ("_answers_leave_in", "_clock", "_expected", "_kept", "_refresh", "_scheduled", "_wake")

    def __init__(
        self,
        clock: Clock,
        kept: KeptReads,
        refresh: Callable[[SharePartitionLeader], None],
        wake: Callable[[SharePartitionLeader], None],
    ) -> None:
        self._clock = clock
        self._kept = kept
        self._refresh = refresh
        self._wake = wake
        self._expected: dict[SharePartitionLeader, NextFetch] = {}
        self._answers_leave_in = 0
        self._scheduled = False

    def expect(self, leader: SharePartitionLeader, fetch: NextFetch) -> None:
        """Expect a fetch of the share partition with these parameters, when the present one is answered."""
        self._expected[leader] = fetch
        self._answers_leave_in = TURNS_TO_LEAVE
        if not self._scheduled:
            self._scheduled = True
            self._clock.call_soon(self._turn)

    def forget(self) -> None:
        """Forget everything: the broker stops."""
        self._expected.clear()

    def _turn(self) -> None:
        self._scheduled = False
        if self._answers_leave_in:
            self._answers_leave_in -= 1
        else:
            while self._expected:
                leader = next(iter(self._expected))
                if self._enters(leader, self._expected.pop(leader)):
                    break
        if self._expected:
            self._scheduled = True
            self._clock.call_soon(self._turn)

    def _enters(self, leader: SharePartitionLeader, fetch: NextFetch) -> bool:
        """Add the records of the expected fetch to the window. Return False if nothing had to be read for that."""
        if not leader.is_active or leader.waiters:  # waiting fetches read for themselves
            return False
        self._refresh(leader)
        core = leader.core
        entering = core.enters_next(fetch.mode, fetch.max_records)
        committed = core.settings.isolation_level is IsolationLevel.READ_COMMITTED
        upto = leader.upto(committed=committed)
        if entering is None or entering[0] >= upto:
            return False
        offset, until, max_bytes = core.next_fetch_offset(), entering[1], min(fetch.max_bytes, MOST_BYTES)
        read = self._kept.read(leader, offset, until, upto, max_bytes)
        wanted = core.keys_wanted(read.batches) if isinstance(read, ReadResult) else None
        if not isinstance(read, ReadResult) or wanted is None or wanted[1] - wanted[0] >= MOST_OFFSETS:
            return True  # the fetch itself will report an error of the log
        core.acquire(
            member_id="",
            mode=fetch.mode,
            batch_size=fetch.batch_size,
            max_records=0,
            fetch_offset=offset,
            batches=read.batches,
            now_ms=self._clock.now_ms(),
            aborted=leader.aborted(read) if committed else (),
            keys=self._kept.key_hashes(read, wanted),
            waiting=self._dated(leader, read).waiting if core.settings.delay.enabled else (),
        )
        if core.take_freed():
            self._wake(leader)
        return True

    def _dated(self, leader: SharePartitionLeader, read: ReadResult) -> Dated:
        from shareq.broker.share.dated_records import dated_in  # for groups with delays, too

        return dated_in(leader, read, self._clock)
