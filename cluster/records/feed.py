"""The records of all partitions that this node reads: sources by topic and partition, fetched into one cache.

A source is opened when it is first needed. Its broker is asked for the log's ends; from then on its tail is polled, and
records that readers lack are fetched. A batch that was produced through this node can be read at the log's end as soon
as the leader has answered. When another broker leads a partition, or the same one in another leader epoch,
OffsetForLeaderEpoch shows whether the log was cut before more is read; if it was, everything known about it is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.append import Ends
from shareq.broker.log.segments.reader import Found
from shareq.cluster.link.leaders import PartitionLeader, PartitionLeaders
from shareq.cluster.link.ports import Link
from shareq.cluster.records.behind import BehindFetches
from shareq.cluster.records.cache import ChunkCache, Place
from shareq.cluster.records.chunks import chunk_at
from shareq.cluster.records.ends import EARLIEST, LATEST, EndQuestions, Offset, Partition, common_end
from shareq.cluster.records.fetching import HOLD_MS, STALE_TO_FETCH, Fetching
from shareq.cluster.records.signal import Signal
from shareq.cluster.records.source import LogEnds, PartitionRecords
from shareq.cluster.records.tails import TailFetches
from shareq.coordinator.ports import IsolationLevel, MetadataImage, TopicImage
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

CHUNK_BYTES: Final = 1024 * 1024
CHUNKS_IN_BUDGET: Final = 16
"""The least number of chunks that the budget has room for, which limits the size of a chunk."""
MOST_TRIES: Final = 100
"""The number of attempts to get ends, or an offset by time, before NOT_LEADER_OR_FOLLOWER is returned: after 5 s at
least.
"""
ENDS_MS: Final = 1_000
"""The pause between two requests for the ends of partitions whose tails are not polled."""

SourceListener = Callable[[PartitionRecords], None]


class RecordFeed:
    """`HeardSources` and `FetchedLogs` of a node; see the module's docstring.

    `topics` knows the existing topics, `led_epoch` returns the epoch since which this node leads a partition. `begin`
    starts coroutines. Listeners are called on the loop, after a source shows the change.
    """

    def __init__(
        self,
        env: Environment,
        link: Link,
        leaders: PartitionLeaders,
        topics: MetadataImage,
        begin: Begin,
        *,
        budget: int,
        led_epoch: Callable[[bytes, int], int],
    ) -> None:
        self._env: Final = env
        self._leaders: Final = leaders
        self._topics: Final = topics
        self._begin: Final = begin
        self._led_epoch: Final = led_epoch
        self._questions: Final = EndQuestions(env, link)
        self._sources: Final[dict[Place, PartitionRecords]] = {}
        self._behind: Final[dict[int, BehindFetches]] = {}
        self._tails: Final[dict[int, TailFetches]] = {}
        self._finding: Final[set[Place]] = set()
        self._is_closed = False
        self._on_high_watermark: Final[list[SourceListener]] = []
        self._on_log_start: Final[list[SourceListener]] = []
        self._on_truncation: Final[list[SourceListener]] = []
        self.cache: Final = ChunkCache(budget)
        self.truncations = 0
        self._chunk_bytes: Final = max(min(CHUNK_BYTES, budget // CHUNKS_IN_BUDGET), 1)
        room = Signal(env.clock)
        self._fetching: Final = Fetching(
            env=env,
            link=link,
            leaders=leaders,
            cache=self.cache,
            heard=self,
            room=room,
            is_closed=lambda: self._is_closed,
        )
        leaders.on_leader(self._on_leader)
        self._look_at_ends_later()

    # -- what the node asks

    @property
    def believes_absence(self) -> bool:
        """False: a partition that is missing here may exist in the cluster."""
        return False

    def get(self, topic: str, partition: int) -> PartitionRecords:
        """Return the source of an existing partition. Raises KeyError for a topic that is not known."""
        image = self._topics.topic(topic)
        if image is None:
            raise KeyError(topic)
        place = Place(image.topic_id, partition)
        source = self._sources.get(place)
        if source is None:
            led_epoch = self._led_epoch
            source = self._sources[place] = PartitionRecords(
                topic, place, self.cache, self, lambda: led_epoch(*place), self._chunk_bytes
            )
            self._on_leader(*place)
        return source

    def sources(self) -> list[PartitionRecords]:
        """Return all open sources."""
        return list(self._sources.values())

    def add_listener(self, on_high_watermark: SourceListener) -> None:
        """Call back after a source's high watermark has moved, or after records can be read that were NOT_HERE_YET."""
        self._on_high_watermark.append(on_high_watermark)

    def add_log_start_listener(self, on_log_start: SourceListener) -> None:
        """Call back after a log start offset has moved."""
        self._on_log_start.append(on_log_start)

    def add_truncation_listener(self, on_truncated: SourceListener) -> None:
        """Call back after a log was truncated: records read from its high watermark on no longer exist."""
        self._on_truncation.append(on_truncated)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Close the sources of deleted topics: reads get UNKNOWN_TOPIC_OR_PARTITION."""
        topic_ids = {topic.topic_id for topic in topics}
        for place in [place for place in self._sources if place.topic_id in topic_ids]:
            source = self._sources.pop(place)
            self._leave(source)
            source.generation += 1
            source.leader = None
            source.refusal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            self.cache.forget(place)
            self.arrived(source)

    def begins_at(self, topic: str, partition: int, offset: int) -> None:
        """Set the log start offset that a broker has answered to DeleteRecords."""
        image = self._topics.topic(topic)
        source = None if image is None else self._sources.get(Place(image.topic_id, partition))
        if source is not None and source.has_ends:
            log_start = source.log_start_offset
            if source.set_ends(LogEnds(offset, source.high_watermark, source.last_stable_offset)):
                self._ends_known(source, log_start)

    def committed(
        self, topic: str | bytes, partition: int, node: int, base_offset: int, batch: bytes | memoryview
    ) -> None:
        """Show a batch without transaction to readers at the log's end, as soon as `node` has answered that it is
        committed.

        The pending poll brings it a little later, too.
        """
        image = self._topics.topic(topic) if isinstance(topic, str) else self._topics.topic_by_id(topic)
        source = None if image is None else self._sources.get(Place(image.topic_id, partition))
        if source is None or source.leader is None or source.leader.node != node or self._is_closed:
            return
        if source.is_read_at_end(base_offset):
            source.put_at_end(chunk_at(base_offset, batch))
            self.arrived(source)

    def close(self) -> None:
        """Stop fetching. Requests under way end with the link."""
        self._is_closed = True
        for node in self._tails:
            self._behind[node].wake()
            self._tails[node].wake()
        self._fetching.room.set()

    # -- what sources want

    def want(self, source: PartitionRecords, offset: int) -> None:
        """Have the records at `offset` fetched, unless the pending poll brings them."""
        leader = source.leader
        if leader is not None and not self._tails[leader.node].brings(source, offset):
            self._behind[leader.node].want(source, offset)

    def tail_wanted(self, source: PartitionRecords) -> None:
        if source.leader is not None:
            self._tails[source.leader.node].wanted(source)

    def ends(self, source: PartitionRecords) -> Pending[Ends | ErrorCode]:
        """Return the ends of a log, or NOT_LEADER_OR_FOLLOWER if they are not known in time."""
        return self._begin(self._current_ends(source))

    def offset_for_timestamp(self, source: PartitionRecords, timestamp_ms: int) -> Pending[Found | ErrorCode | None]:
        """Return the first record with this timestamp or a later one, None if there is none, or an error as `ends`
        does.
        """
        return self._begin(self._found(source, timestamp_ms))

    # -- what fetches bring

    def arrived(self, source: PartitionRecords) -> None:
        """Notify the listeners that more records can be read."""
        for listener in self._on_high_watermark:
            listener(source)

    def log_start_moved(self, source: PartitionRecords) -> None:
        """Notify the listeners that a log start offset has moved."""
        for listener in self._on_log_start:
            listener(source)

    def out_of_range(self, source: PartitionRecords, offset: int) -> None:
        """Find out where the log begins and ends, and whether it was truncated, unless this is under way already."""
        if source.place not in self._finding:
            self._finding.add(source.place)
            self._begin(self._find_ends_once(source, offset))

    # -- leaders

    def _on_leader(self, topic_id: bytes, partition: int) -> None:
        source = self._sources.get(Place(topic_id, partition))
        leader = self._leaders.leader(topic_id, partition)
        if source is None or leader == source.leader or self._is_closed:
            return
        wants = self._leave(source)
        source.leader = leader
        source.generation += 1
        source.held_until_ms = 0
        if leader is None:
            return
        self._broker(leader.node)
        for offset in wants:
            self._behind[leader.node].want(source, offset)
        if source.has_ends:
            source.is_validating = True
            self._begin(self._validate(source, leader))
        else:
            self._begin(self._open(source))
        self._tails[leader.node].add(source)

    def _leave(self, source: PartitionRecords) -> list[int]:
        """Detach a source from its former leader; return the offsets that readers want."""
        if source.leader is None:
            return []
        self._tails[source.leader.node].remove(source)
        return self._behind[source.leader.node].taken(source)

    def _broker(self, node: int) -> None:
        if node not in self._tails:
            behind = self._behind[node] = BehindFetches(self._fetching, node)
            tails = self._tails[node] = TailFetches(self._fetching, node, behind)
            for each in self._tails.values():
                each.share = len(self._tails)
            self._begin(behind.run())
            self._begin(tails.run())

    async def _open(self, source: PartitionRecords) -> None:
        """Ask for the ends of a log until they are known."""
        generation = source.generation
        while source.generation == generation and not self._is_closed:
            ends = await self._ask_ends(source)
            if ends is not None and source.generation == generation:
                log_start = source.log_start_offset
                source.set_ends(ends)
                self._ends_known(source, log_start)
                return
            await self._pause()

    def _ends_known(self, source: PartitionRecords, log_start: int) -> None:
        if source.leader is not None:
            self._behind[source.leader.node].wake()
            self._tails[source.leader.node].wanted(source)
        if source.log_start_offset > log_start:
            self.log_start_moved(source)
        self.arrived(source)

    async def _ask_ends(self, source: PartitionRecords) -> LogEnds | None:
        """Return the ends of a log; None if one of them is not available now."""
        generation = source.generation
        start = self._offset_at(source, EARLIEST)
        end = self._offset_at(source, LATEST)
        stable = self._offset_at(source, LATEST, IsolationLevel.READ_COMMITTED)
        answers = [await start, await end, await stable]
        for answer in answers:
            if answer.error is not ErrorCode.NONE or answer.offset < 0:
                self._note_error(source, answer.error)
                return None
        if source.generation == generation:
            source.set_anchor(answers[1].epoch, answers[1].offset)
        return LogEnds(*[answer.offset for answer in answers])

    def _offset_at(
        self, source: PartitionRecords, timestamp: int, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> Pending[Offset]:
        if source.leader is None:
            return completed(Offset(ErrorCode.LEADER_NOT_AVAILABLE))
        at = Partition(source.topic, source.partition)
        return self._questions.offset_at(at, source.leader, timestamp, isolation)

    async def _current_ends(self, source: PartitionRecords) -> Ends | ErrorCode:
        for _ in range(MOST_TRIES):
            generation = source.generation
            ends = await self._ask_ends(source)
            if ends is not None and source.generation == generation and not source.is_validating:
                log_start = source.log_start_offset
                if source.set_ends(ends):
                    self._ends_known(source, log_start)
                return Ends(source.log_start_offset, source.high_watermark)
            if source.refusal or self._is_closed:
                break
            await self._pause()
        return source.refusal or ErrorCode.NOT_LEADER_OR_FOLLOWER

    async def _found(self, source: PartitionRecords, timestamp_ms: int) -> Found | ErrorCode | None:
        for _ in range(MOST_TRIES):
            answer = await self._offset_at(source, timestamp_ms)
            if answer.error is ErrorCode.NONE:
                return None if answer.offset < 0 else Found(answer.timestamp, answer.offset)
            if answer.error is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT or source.refusal or self._is_closed:
                return source.refusal or answer.error
            self._note_error(source, answer.error)
            await self._pause()
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    async def _validate(self, source: PartitionRecords, leader: PartitionLeader) -> None:
        """Find out whether the leader has the whole known log; if it has not, drop everything known about the log."""
        while source.leader == leader and not self._is_closed:
            common = await self._common_end(source, leader)
            if source.leader != leader:
                return
            if common is None:
                await self._pause()
            elif common >= source.high_watermark:
                source.is_validating = False
                self._ends_known(source, source.log_start_offset)
                return
            else:
                self._cut(source, common)
                return

    async def _common_end(self, source: PartitionRecords, leader: PartitionLeader) -> int | None:
        """Return the end (exclusive) of the part that a leader's log has in common with the known one: at least the
        high watermark if nothing is missing. None if it is unknown now.
        """
        anchor = source.anchor
        if anchor.epoch < 0 or leader.epoch < 0:
            return source.high_watermark  # this cluster names no leader epochs: nothing could say more
        at = Partition(source.topic, source.partition)
        asked = self._questions.epoch_end(at, leader, anchor.epoch), self._questions.epoch_end(at, leader, leader.epoch)
        known, log_end = await asked[0], await asked[1]
        for answer in (known, log_end):
            if answer.error is not ErrorCode.NONE:
                self._note_error(source, answer.error)
                return None
        return common_end(anchor, source.epochs, known, log_end)

    def _cut(self, source: PartitionRecords, end_offset: int) -> None:
        logger.warning(
            "%s-%d: the log was cut at offset %d, of %d that were known",
            source.topic,
            source.partition,
            end_offset,
            source.high_watermark,
        )
        self.truncations += 1
        source.cut(end_offset)
        source.is_validating = False
        for listener in self._on_truncation:
            listener(source)
        self._begin(self._open(source))

    async def _find_ends_once(self, source: PartitionRecords, offset: int) -> None:
        try:
            await self._find_ends(source, offset)
        finally:
            self._finding.discard(source.place)

    async def _find_ends(self, source: PartitionRecords, offset: int) -> None:
        """Ask for the ends after an answer that there is no record at `offset`. If they show that the log was truncated
        under the same leader, it is validated first.
        """
        generation, leader = source.generation, source.leader
        ends = await self._ask_ends(source)
        if source.generation != generation or leader is None or self._is_closed:
            return
        if ends is None:
            await self._pause()
            if source.generation == generation:
                self.want(source, offset)
            return
        if offset >= ends.log_start_offset:
            self._fetching.hold(source)  # a reader that asks again may be answered the same
        else:
            source.held_until_ms = 0
        if ends.high_watermark < offset <= source.high_watermark and not source.is_validating:
            source.is_validating = True
            await self._validate(source, leader)
            return
        log_start = source.log_start_offset
        source.set_ends(ends)
        source.note_beyond(offset)
        self._ends_known(source, log_start)

    def _note_error(self, source: PartitionRecords, error: ErrorCode) -> None:
        if error in STALE_TO_FETCH or error is ErrorCode.REQUEST_TIMED_OUT:
            self._leaders.refresh(source.topic_id)

    async def _pause(self) -> None:
        if not self._is_closed:
            await sleep(self._env.clock, HOLD_MS)

    # -- ends of what is not polled

    def _look_at_ends_later(self) -> None:
        self._env.clock.call_at(self._env.clock.now_ms() + ENDS_MS, self._look_at_ends)

    def _look_at_ends(self) -> None:
        if not self._is_closed:
            for source in self._sources.values():
                is_known = source.has_ends and source.leader is not None and not source.is_validating
                is_polled = source.wants_tail and source.last_stable_offset == source.high_watermark
                if is_known and not is_polled:
                    self._begin(self._refresh_ends(source))
            self._look_at_ends_later()

    async def _refresh_ends(self, source: PartitionRecords) -> None:
        generation = source.generation
        ends = await self._ask_ends(source)
        if ends is not None and source.generation == generation:
            log_start = source.log_start_offset
            if source.set_ends(ends):
                self._ends_known(source, log_start)
