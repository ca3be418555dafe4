"""The common part of both ways of fetching: the rows of requests, and the handling of answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.cluster.link.leaders import STALE, PartitionLeader, PartitionLeaders
from shareq.cluster.link.ports import Failure, Link, LinkFailure
from shareq.cluster.records.cache import ChunkCache, Place
from shareq.cluster.records.chunks import Transactions, chunk_of
from shareq.cluster.records.fetch_session import FetchRow
from shareq.cluster.records.signal import Signal
from shareq.cluster.records.source import LogEnds, PartitionRecords
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.fetch import FetchResponse, PartitionData
from shareq.protocol.primitives import ZERO_UUID

logger = logging.getLogger(__name__)

HOLD_MS: Final = 50
"""The pause of a partition after an error, or after an empty answer where records were expected."""
LONGEST_HOLD_MS: Final = 1_000
"""The longest pause before an unreachable broker is tried again."""
LEAST_VERSION: Final = 7
"""The first version of Fetch with sessions."""

STALE_TO_FETCH: Final = STALE | {ErrorCode.OFFSET_NOT_AVAILABLE}
"""The errors of Fetch that show that facts about a topic and its leaders may be out of date."""


class Asked(NamedTuple):
    """A partition in a request: the offset, and the source's generation at that time."""

    source: PartitionRecords
    offset: int
    generation: int

    @classmethod
    def of(cls, source: PartitionRecords, offset: int) -> Asked:
        """Return a request for an offset of the source, in its current generation."""
        return cls(source, offset, source.generation)

    def is_current(self) -> bool:
        """Return True if the answer may still be used: the source's generation has not changed since."""
        return self.source.generation == self.generation

    def row(self) -> FetchRow:
        """Return the row of the request."""
        source = self.source
        epoch = -1 if source.leader is None else source.leader.epoch
        return FetchRow(source.topic, source.place, self.offset, epoch, source.chunk_bytes)


class Heard(Protocol):
    """The listener for changes of sources."""

    def arrived(self, source: PartitionRecords) -> None:
        """Note that a read may now return records, or an error, that it could not return before."""

    def log_start_moved(self, source: PartitionRecords) -> None:
        """Note that the log start offset of the source has moved."""

    def out_of_range(self, source: PartitionRecords, offset: int) -> None:
        """Note that the cluster's log has no record at `offset`."""


class Fetching(NamedTuple):
    """The parts of a node that fetches use. `room` is set when the cache may have room again."""

    env: Environment
    link: Link
    leaders: PartitionLeaders
    cache: ChunkCache
    heard: Heard
    room: Signal
    is_closed: Callable[[], bool]

    def hold(self, source: PartitionRecords, ms: int = HOLD_MS) -> None:
        """Ask for no records of a partition for `ms` milliseconds."""
        source.held_until_ms = max(source.held_until_ms, self.env.clock.now_ms() + ms)

    def release(self, granted: int) -> None:
        """Give reserved room back to the cache."""
        self.cache.release(granted)
        self.room.set()


def rows_of(answer: FetchResponse, asked: Mapping[Place, Asked]) -> Iterator[tuple[Asked, PartitionData]]:
    """Yield the answer's rows for requested partitions, whether it names topics by id or by name."""
    names = {(one.source.topic, place.partition): one for place, one in asked.items()}
    for topic in answer.responses:
        for row in topic.partitions:
            if topic.topic_id != ZERO_UUID:
                found = asked.get(Place(topic.topic_id, row.partition_index))
            else:
                found = names.get((topic.topic, row.partition_index))
            if found is not None:
                yield found, row


class Outcome(Enum):
    """The outcomes of a requested partition."""

    CAME = "a chunk, or why there will be none"
    EMPTY = "nothing, and no error either"
    FAILED = "it has to be asked for again"


async def take_in(
    fetching: Fetching, rows: Iterable[tuple[Asked, PartitionData]], isolation: IsolationLevel
) -> list[tuple[Asked, Outcome]]:
    """Put an answer's records into the cache and notify listeners, one partition after the other."""
    outcomes: list[tuple[Asked, Outcome]] = []
    for asked, row in rows:
        outcome = Outcome.FAILED
        if asked.is_current() and not fetching.is_closed():
            outcome = await _take_in_row(fetching, asked, row, isolation)
        outcomes.append((asked, outcome))
    return outcomes


async def _take_in_row(fetching: Fetching, asked: Asked, row: PartitionData, isolation: IsolationLevel) -> Outcome:
    source = asked.source
    if row.error_code:
        return _failed(fetching, asked, row)
    decided = isolation is IsolationLevel.READ_COMMITTED
    transactions = Transactions(decided, row.aborted_transactions or ())
    answered = await chunk_of(row.records or b"", asked.offset, transactions, fetching.env.budget.breathe)
    if not asked.is_current():
        return Outcome.FAILED
    log_start = source.log_start_offset
    news = source.set_ends(LogEnds(row.log_start_offset, row.high_watermark, row.last_stable_offset))
    if answered.chunk is not None:
        news = source.put(answered.chunk, answered.epochs) or news
    elif answered.fault is not None and source.lacks(answered.fault.first_offset):
        if source.unreadable_range(answered.fault.first_offset) is None:
            logger.error("%s: %s; not served", _name(source), answered.fault.text)
        source.note_fault(answered.fault)
    if source.log_start_offset > log_start:
        fetching.heard.log_start_moved(source)
    if news or answered.fault is not None:
        fetching.heard.arrived(source)
    return Outcome.EMPTY if answered.chunk is None and answered.fault is None else Outcome.CAME


def _failed(fetching: Fetching, asked: Asked, row: PartitionData) -> Outcome:
    source, error = asked.source, error_of(row.error_code)
    fetching.hold(source)
    if error is ErrorCode.OFFSET_OUT_OF_RANGE:
        fetching.heard.out_of_range(source, asked.offset)
        return Outcome.CAME
    if error in STALE_TO_FETCH:
        leader = row.current_leader
        if leader is not None and leader.leader_id >= 0:
            learned = PartitionLeader(leader.leader_id, leader.leader_epoch)
            fetching.leaders.learned(source.topic_id, source.partition, learned)
        fetching.leaders.refresh(source.topic_id)
    else:
        logger.warning("%s: broker %s answers a fetch with %s", _name(source), _node(source), error.name)
        fetching.hold(source, LONGEST_HOLD_MS)
    return Outcome.FAILED


async def after_failure(
    fetching: Fetching, node: int, failure: LinkFailure, asked: Sequence[Asked], tries: int
) -> None:
    """Ask who leads the partitions now, then wait: the longer, the more tries have failed. Return at once if the node
    closes.
    """
    if fetching.is_closed():
        return
    if failure.failure is Failure.UNSUPPORTED:
        logger.error("broker %d serves no Fetch from version %d: %s", node, LEAST_VERSION, failure.text)
    for topic_id in {one.source.topic_id for one in asked}:
        fetching.leaders.refresh(topic_id)
    await sleep(fetching.env.clock, min(HOLD_MS << min(tries, 10), LONGEST_HOLD_MS))


def _name(source: PartitionRecords) -> str:
    return f"{source.topic}-{source.partition}"


def _node(source: PartitionRecords) -> object:
    return None if source.leader is None else source.leader.node
