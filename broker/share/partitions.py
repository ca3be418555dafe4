"""The shell of the share-partition leaders: it loads share partitions, performs their effects, and has the one timer
for all.

The rules live in `shareq.broker.share.core`; this file moves values between them, the persister and the logs.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.aborted import cut_out
from shareq.broker.share.core.dates import Dated, reason_of
from shareq.broker.share.core.effects import (
    DeadLetter,
    DeadLetters,
    DeliveryLimitReached,
    Effect,
    StateBatch,
    WriteState,
)
from shareq.broker.share.core.partition import AckBatch, Acknowledged, AckOutcome, AcquiredRange, SharePartition
from shareq.broker.share.core.sessions import InMemory, PartitionId, ShareSession
from shareq.broker.share.core.window.expiry import Expired, reasons_of
from shareq.broker.share.events import ShareEvents
from shareq.broker.share.leader import (
    MOST_REASONS,
    DeadLetterWriter,
    LeaderState,
    NoDeadLetters,
    SharePartitionLeader,
    Unreadable,
)
from shareq.broker.share.leader_counters import ShareCounters
from shareq.broker.share.loading import Loads, in_wall_time
from shareq.broker.share.persister import FENCING, Persister, surfaced_error
from shareq.broker.share.ports import NoRecords, RecordSource, RecordSources
from shareq.broker.share.purgatory import ShareFetchPurgatory
from shareq.broker.topics.leaders import Leaders
from shareq.coordinator.ports import ShareGroupSettingsSource, TopicImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.share import AcknowledgeType

if TYPE_CHECKING:
    from shareq.broker.share.dlq.breakers import Breakers, PauseGroup
    from shareq.broker.share.ordered.ahead import Ahead
    from shareq.broker.share.ordered.kept_reads import KeptReads

logger = logging.getLogger(__name__)


class LeadersOfGroup(dict[PartitionId, SharePartitionLeader]):
    """The share partitions of a group that are in memory; `changes` counts how often they changed."""

    changes = 0


class SharePartitionManager:
    """The share partitions in this broker's memory, and all operations on them.

    `sources` has the records, `settings` the properties of groups, and `persister` stores states. `other_leaders` names
    the brokers that lead other partitions. `dead_letters` writes to the groups' dead-letter queues. `pause` pauses a
    group whose breaker opens.
    """

    def __init__(
        self,
        env: Environment,
        sources: RecordSources,
        settings: ShareGroupSettingsSource,
        other_leaders: Leaders,
        persister: Persister,
        dead_letters: DeadLetterWriter = NoDeadLetters(),  # noqa: B008 it has no state
        *,
        pause: PauseGroup | None = None,
    ) -> None:
        self._env = env
        self._sources = sources
        self._settings = settings
        self._other_leaders = other_leaders
        self._persister = persister
        self._dead_letters = dead_letters
        self._pause = pause
        self._leaders: dict[SharePartitionKey, SharePartitionLeader] = {}
        self._by_topic: dict[tuple[bytes, int], dict[SharePartitionKey, SharePartitionLeader]] = {}
        self._by_group: dict[str, LeadersOfGroup] = {}
        self._deadlines: list[tuple[int, int, SharePartitionLeader]] = []
        self._sequence = 0
        self._timer: TimerHandle | None = None
        self._timer_at = 0
        self._events = ShareEvents(env.clock.now_ms)
        self._loads = Loads(env, persister, self._load_ended, believes_absence=sources.believes_absence)
        self._kept_reads: KeptReads | None = None
        self._ahead: Ahead | None = None
        self._breakers: Breakers | None = None
        self.counters = ShareCounters()
        self.purgatory = ShareFetchPurgatory(env.clock, self.may_find)

    def kept_reads(self) -> KeptReads:
        """Return the kept reads of share partitions with order by key."""
        if self._kept_reads is None:
            from shareq.broker.share.ordered.kept_reads import KeptReads  # for these groups alone

            self._kept_reads = KeptReads()
        return self._kept_reads

    def dated(self, leader: SharePartitionLeader, read: ReadResult) -> Dated:
        """Return the dated records of a read, for a share partition of a group with delays."""
        from shareq.broker.share.dated_records import dated_in  # for these groups alone

        return dated_in(leader, read, self._env.clock)

    def expired(self, leader: SharePartitionLeader, read: ReadResult, first_offset: int) -> list[Expired]:
        """Return the expired records of a read from an offset on, for a share partition of a group with a time to
        live.
        """
        from shareq.broker.share.dated_records import expired_in  # for these groups alone

        return expired_in(leader, read, first_offset, self._env.clock.wall_ms())

    def reject_expired(self, leader: SharePartitionLeader, expired: Sequence[Expired]) -> None:
        """Write what the last acquisition has rejected of these."""
        writes = leader.core.take_rejections()
        for write in writes:
            for offset, reason in reasons_of(expired, write.batches, MOST_REASONS):
                leader.note_reason(offset, reason)
        self.perform(leader, writes)

    def refuse(
        self,
        leader: SharePartitionLeader,
        member_id: str,
        acquired: Sequence[AcquiredRange],
        refused: Sequence[tuple[int, bytes]],
    ) -> list[AcquiredRange]:
        """Reject the refused records among those just acquired, on the member's behalf.

        Return the ranges left to deliver.

        The group's dead-letter queue gets the rejected ones, if it has one.
        """
        from shareq.broker.share.dated_records import refused_of  # for groups with delays alone

        rejections = refused_of(acquired, refused)
        if not rejections:
            return list(acquired)
        for offset, value in refused[-MOST_REASONS:]:
            leader.note_reason(offset, reason_of(value, leader.core.settings.delay.max_ms))
        self.acknowledge(leader, member_id, rejections)
        return cut_out(acquired, [(each.first_offset, each.last_offset) for each in rejections])

    def ahead(self) -> Ahead:
        """Return the work done ahead for share partitions with order by key, after a fetch of them was answered."""
        if self._ahead is None:
            from shareq.broker.share.ordered.ahead import Ahead  # for these groups alone

            self._ahead = Ahead(self._env.clock, self.kept_reads(), self.refresh_settings, self.purgatory.wake)
        return self._ahead

    def may_hand_out(self, leader: SharePartitionLeader) -> bool:
        """Return True if this broker may hand out the share partition's records now."""
        others = self._other_leaders
        return others.is_alone or others.may_hand_out(leader.topic, leader.key.partition)

    def may_find(self, leader: SharePartitionLeader) -> bool:
        """Return False if a fetch that looks at the share partition now would find neither records nor an error."""
        if not leader.hands_out:
            return leader.fails_waiters
        self.refresh_settings(leader)
        return leader.may_have_records() and self.may_hand_out(leader)

    # -- looking up and loading

    def get(self, key: SharePartitionKey) -> SharePartitionLeader | None:
        """Return the share partition if it is in memory, else None."""
        return self._leaders.get(key)

    def leaders(self) -> list[SharePartitionLeader]:
        """Return the leaders that are in memory and loaded."""
        return [each for each in self._leaders.values() if each.is_active]

    def of_group(self, group_id: str) -> LeadersOfGroup:
        """Return the share partitions of a group that are in memory. The caller must not change them."""
        return self._by_group.get(group_id) or LeadersOfGroup()

    def of_session(self, session: ShareSession) -> Sequence[SharePartitionLeader]:
        """Return those share partitions of a session that are in memory."""
        known, kept = self.of_group(session.group_id), session.in_memory
        if kept is None or kept.known is not known or kept.changes != known.changes:
            found = [known[place] for place in session.partitions if place in known]
            kept = session.in_memory = InMemory(known, known.changes, found)
        return kept.found

    def get_or_load(self, key: SharePartitionKey, topic: str) -> SharePartitionLeader:
        """Return the share partition; begin to load it if it is not in memory."""
        leader = self._leaders.get(key)
        if leader is not None:
            leader.left = False
            return leader
        return self._load(key, topic)

    def _load(self, key: SharePartitionKey, topic: str, truncated_to: int | None = None) -> SharePartitionLeader:
        log = self._sources.get(topic, key.partition)
        settings = self._settings.share_group(key.group_id)
        core = SharePartition(key, log.leader_epoch, settings, self.counters.partitions.get(key))
        leader = SharePartitionLeader(key, topic, log, core, self._env.clock.now_ns())
        leader.truncated_to = truncated_to
        self._leaders[key] = leader
        place = (key.topic_id, key.partition)
        self._by_topic.setdefault(place, {})[key] = leader
        of_group = self._by_group.setdefault(key.group_id, LeadersOfGroup())
        of_group[place] = leader
        of_group.changes += 1
        self._loads.begin(leader)
        return leader

    def _load_ended(self, leader: SharePartitionLeader, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            self._activate(leader)
        else:
            leader.error = error
            self._drop(leader, LeaderState.FAILED)

    def _activate(self, leader: SharePartitionLeader) -> None:
        leader.state = LeaderState.ACTIVE
        self.counters.partitions[leader.key] = leader.core.counters
        self.counters.loads.add(self._env.clock.now_ns() - leader.since_ns)
        unfinished = leader.core.unfinished_dead_letters()
        if unfinished:
            self._bury(leader, unfinished)
        self.arm(leader)
        self.purgatory.wake(leader, everybody=True)
        if leader.left or leader.quiet:
            self._letters_done(leader)

    def _drop(self, leader: SharePartitionLeader, state: LeaderState) -> None:
        """Remove a share partition from memory; the next fetch loads it again."""
        leader.state = state
        self._loads.look_again(leader)
        if self._kept_reads is not None:
            self._kept_reads.forget(leader.key)
        if state is LeaderState.FAILED:
            self.counters.loads.add(self._env.clock.now_ns() - leader.since_ns)
        if self._leaders.get(leader.key) is leader:
            leader.core.counters.oldest_since_ms = leader.core.oldest_since_ms()
            del self._leaders[leader.key]
            place = (leader.key.topic_id, leader.key.partition)
            siblings, of_group = self._by_topic[place], self._by_group[leader.key.group_id]
            del siblings[leader.key]
            if not siblings:
                del self._by_topic[place]
            del of_group[place]
            of_group.changes += 1
            if not of_group:
                del self._by_group[leader.key.group_id]
        self.purgatory.wake(leader, everybody=True)
        _notify_quiet(leader)

    def fence_if_needed(self, leader: SharePartitionLeader, error: ErrorCode) -> None:
        """Drop the share partition when the error means that another broker leads it, or that it was deleted."""
        if error in FENCING and leader.state is LeaderState.ACTIVE:
            logger.info("%s: dropped after %s; the next fetch loads it", leader.key.text(), error.name)
            self._drop(leader, LeaderState.FENCED)

    def leader_begun(self, key: SharePartitionKey, leader_epoch: int) -> None:
        """Stop handing out records of a share partition, because a leader with a higher epoch has read its state. Its
        next write is refused, and drops it.
        """
        leader = self._leaders.get(key)
        if leader is not None and leader.is_active and leader.core.leader_epoch < leader_epoch:
            logger.info("%s: a leader of epoch %d has read its state", key.text(), leader_epoch)
            leader.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            self.purgatory.wake(leader, everybody=True)

    # -- acting on a share partition

    def acknowledge(
        self,
        leader: SharePartitionLeader,
        member_id: str,
        batches: Sequence[Acknowledged],
        later: Sequence[Later] = (),
    ) -> Pending[ErrorCode]:
        """Acknowledge records; the code arrives when the state is durable, at once when nothing had to be written."""
        self.refresh_settings(leader)
        return self._answered(leader, leader.core.acknowledge(member_id, batches, self._env.clock.now_ms(), later))

    def stage(
        self, leader: SharePartitionLeader, member_id: str, producer: ProducerEpoch, batches: Sequence[Acknowledged]
    ) -> Pending[ErrorCode]:
        """Acknowledge records in a producer's transaction; the code arrives when that is durable."""
        self.refresh_settings(leader)
        return self._answered(leader, leader.core.stage(member_id, producer, batches, self._env.clock.now_ms()))

    def end_transaction(
        self, leader: SharePartitionLeader, producer: ProducerEpoch, *, commit: bool
    ) -> Pending[ErrorCode]:
        """End what the producer has staged; the code arrives when that is durable."""
        self.refresh_settings(leader)
        now_ms = self._env.clock.now_ms()
        return self._answered(leader, leader.core.end_transaction(producer, now_ms, commit=commit))

    def _answered(self, leader: SharePartitionLeader, outcome: AckOutcome) -> Pending[ErrorCode]:
        if outcome.write_id is None:
            self.perform(leader, outcome.effects)
            return completed(outcome.error)
        pending: Pending[ErrorCode] = Pending()
        leader.writes[outcome.write_id] = pending.complete
        self.perform(leader, outcome.effects)
        return pending

    def release(self, key: SharePartitionKey, member_id: str) -> None:
        """Release all records that the member holds, because its share session ended."""
        leader = self._leaders.get(key)
        if leader is not None and leader.state is LeaderState.ACTIVE:
            self.refresh_settings(leader)
            self.perform(leader, leader.core.release_acquired_records(member_id, self._env.clock.now_ms()))

    def give_back(self, key: SharePartitionKey, member_id: str, acquired: Iterable[AcquiredRange]) -> None:
        """Release records that a fetch of the member has just acquired but that its answer will not contain. Nothing is
        released if the member no longer holds all of them.
        """
        leader = self._leaders.get(key)
        if leader is not None and leader.state is LeaderState.ACTIVE:
            released = [AckBatch(each.first_offset, each.last_offset, (AcknowledgeType.RELEASE,)) for each in acquired]
            self.acknowledge(leader, member_id, released)

    def skips_unreadable(self, leader: SharePartitionLeader, offset: int, upto: int) -> bool:
        """Return True if delivery continues behind an offset that the log could not read; if False, the member gets the
        error.

        Each failed read counts as a delivery. At the delivery limit the records are archived, up to the next one that
        can be read, or to `upto` (exclusive).
        """
        found = leader.log.unreadable_range(offset)
        if found is None:
            return False
        tried = leader.unreadable
        if tried is None or not tried.first_offset <= offset < tried.next_offset:
            tried = leader.unreadable = Unreadable(*found)
        tried.attempts += 1
        if tried.attempts < leader.core.settings.delivery_count_limit:
            return False
        last = min(tried.next_offset, upto) - 1
        skipped = leader.core.skip_unreadable(offset, last, self._env.clock.now_ms())
        if skipped:
            logger.error(
                "%s: offsets %d to %d cannot be read, skipped after %d attempts",
                leader.key.text(),
                offset,
                last,
                tried.attempts,
            )
        return skipped

    def refresh_settings(self, leader: SharePartitionLeader) -> None:
        """Take over the group's current limits. This is done on each use, so that a changed group config takes effect
        at once.
        """
        leader.core.settings = self._settings.share_group(leader.key.group_id)

    def group_empty(self, group_id: str) -> None:
        """Remove the share partitions of a group from memory, because its last share session ended; their states are
        read again when needed.

        Those that owe dead letters stay until these are written.
        """
        for leader in list(self.of_group(group_id).values()):
            if leader.owes_letters:
                leader.left = True  # the next leader would write its dead letters once more
            else:
                self._drop(leader, LeaderState.FENCED)

    def state_replaced(self, keys: Iterable[SharePartitionKey]) -> None:
        """Remove these share partitions from memory, because another operation rewrites or deletes their states.

        The call comes together with the share coordinator's operation, so there is no gap: a pending write precedes the
        operation, a dropped share partition begins no write, and the next load reads the state after it. State epochs
        alone would not suffice: those of a group that never had members are all equal.
        """
        for key in keys:
            leader = self._leaders.get(key)
            if leader is not None:
                leader.orphaned = True
                self._drop(leader, LeaderState.FENCED)

    def state_deleted(self, keys: Collection[SharePartitionKey]) -> None:
        """Remove share partitions like `state_replaced`, and end their counters, because their states are deleted."""
        self.state_replaced(keys)
        self.counters.end(keys)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Drop all share partitions of deleted topics; if `__share_group_state` was deleted, drop all."""
        topic_ids = {topic.topic_id for topic in topics}
        for leader in [leader for key, leader in self._leaders.items() if key.topic_id in topic_ids]:
            leader.orphaned = True
            self._give_up(leader, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.counters.end_topics(topic_ids)
        if any(topic.name == SHARE_GROUP_STATE for topic in topics):
            self.state_replaced(list(self._leaders))
            self.counters.end(list(self.counters.partitions))

    def forget_all(self) -> None:
        """Drop every share partition and answer waiting requests, because share groups were switched off."""
        self.purgatory.finish_all()
        for leader in list(self._leaders.values()):
            self._drop(leader, LeaderState.FENCED)

    def leader_moved(self, topic: str, partition: int) -> None:
        """Drop the share partitions of a partition that another broker leads."""
        if self._other_leaders.other_leader(topic, partition) is None:
            return
        for leader in list(self._leaders.values()):
            if leader.topic == topic and leader.key.partition == partition:
                self._give_up(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _give_up(self, leader: SharePartitionLeader, error: ErrorCode) -> None:
        leader.error = error
        self._drop(leader, LeaderState.FENCED)

    # -- effects and time

    def perform(self, leader: SharePartitionLeader, effects: Sequence[Effect]) -> None:
        """Perform the effects that the core returned."""
        for effect in effects:
            if isinstance(effect, WriteState):
                self._write(leader, effect)
            elif isinstance(effect, DeliveryLimitReached):
                self._events.given_up(leader, effect.ranges)
            elif isinstance(effect, DeadLetters):
                self._bury(leader, effect.letters)
                if leader.core.settings.breaker.letters and self._pause is not None:
                    self._count(leader.key.group_id, effect.letters, self._pause)
            else:
                self.purgatory.wake(leader)
        self.arm(leader)

    def _count(self, group_id: str, letters: Sequence[DeadLetter], pause: PauseGroup) -> None:
        if self._breakers is None:
            from shareq.broker.share.dlq.breakers import Breakers  # for groups that have one alone

            self._breakers = Breakers(self._env.clock, self._settings, pause, self.counters)
        self._breakers.count(group_id, letters)

    def config_changed(self, group_id: str | None) -> None:
        """Restart the breaker's count if a group is paused now; `group_id` is the group whose properties changed, None
        for all.
        """
        if self._breakers is not None:
            self._breakers.config_changed(group_id)

    def _bury(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter]) -> None:
        """Have dead letters written. If the leader is dropped meanwhile, the next leader of the share partition writes
        them.
        """

        def done(first_offset: int, last_offset: int) -> None:
            leader.unburied -= last_offset - first_offset + 1
            if leader.state is not LeaderState.ACTIVE:
                return
            self.perform(leader, leader.core.on_dead_letters_done(first_offset, last_offset))
            self._letters_done(leader)

        leader.unburied += sum(letter.last_offset - letter.first_offset + 1 for letter in letters)
        self._dead_letters.write(leader, letters, done)

    def bury_orphans(
        self, key: SharePartitionKey, topic: str, batches: Iterable[StateBatch], lost_because: str = ""
    ) -> None:
        """Write the dead letters of a state that is being removed and that no leader has in memory.

        `batches` are its archiving batches, which no later leader will find. `lost_because` is the reason why their
        letters cannot be written, "" if they can.
        """
        leader = self._orphan(key, topic)
        letters = [leader.core.letter_of(first, last, count) for first, last, _state, count in batches]
        if lost_because:
            self._dead_letters.give_up(leader, letters, lost_because)
        else:
            self._bury(leader, letters)

    def _orphan(self, key: SharePartitionKey, topic: str) -> SharePartitionLeader:
        log: RecordSource
        try:
            log = self._sources.get(topic, key.partition)
        except KeyError:
            log = NoRecords(topic, key.topic_id, key.partition)
        if log.topic_id != key.topic_id:  # another topic of that name
            log = NoRecords(topic, key.topic_id, key.partition)
        core = SharePartition(key, log.leader_epoch, self._settings.share_group(key.group_id))
        leader = SharePartitionLeader(key, topic, log, core)
        leader.state, leader.error, leader.orphaned = LeaderState.FENCED, log.refusal, True
        return leader

    def _letters_done(self, leader: SharePartitionLeader) -> None:
        """Notify those that wait for letters once none is left to write; drop the share partition if the group's last
        member has left.
        """
        if leader.owes_letters:
            return
        _notify_quiet(leader)
        if leader.left and leader.is_active:
            self._drop(leader, LeaderState.FENCED)

    def _write(self, leader: SharePartitionLeader, write: WriteState) -> None:
        if write.delays:
            write = replace(write, delays=in_wall_time(self._env.clock, write.delays))
        pending = self._persister.write_state(leader.key, write)
        pending.on_complete(lambda error: self._written(leader, write.write_id, error))

    def _written(self, leader: SharePartitionLeader, write_id: int, persisted: ErrorCode) -> None:
        error = surfaced_error(persisted)
        if error is not ErrorCode.NONE:
            self.refresh_settings(leader)  # records that are rolled back may have lost their lock
        effects = leader.core.on_state_written(write_id, error, self._env.clock.now_ms())
        answer = leader.writes.pop(write_id, None)
        if write_id == leader.start_write_id:
            leader.start_write_id = None
            self.purgatory.wake(leader, everybody=True)
        self.perform(leader, effects)
        if error is not ErrorCode.NONE:
            logger.warning("%s: state write %d failed: %s", leader.key.text(), write_id, persisted.name)
            self.fence_if_needed(leader, error)
        if answer is not None:
            answer(error)
        if leader.left or leader.quiet:
            self._letters_done(leader)

    def start_is_durable(self, leader: SharePartitionLeader) -> bool:
        """Return True if the resolved start offset is durable, so that records may be acquired.

        If it is not durable, begin to write it; waiting fetches look again when that has ended. Without the write, a
        crash before the first acknowledgement could resolve the start offset again and skip records.
        """
        write = leader.core.pending_start_write()
        if write is None:
            return True
        if leader.start_write_id is None:
            leader.start_write_id = write.write_id
            self._write(leader, write)
        return False

    def arm(self, leader: SharePartitionLeader) -> None:
        """Note the next time when a lock or a wait of the share partition ends; one loop timer serves all share
        partitions.
        """
        deadline = leader.core.next_deadline_ms()
        if deadline is None or (leader.armed_at is not None and leader.armed_at <= deadline):
            return  # the timer that is set fires no later, and then looks again
        leader.armed_at = deadline
        self._sequence += 1
        heapq.heappush(self._deadlines, (deadline, self._sequence, leader))
        self._arm_timer(deadline)

    def _arm_timer(self, deadline: int) -> None:
        if self._timer is not None:
            if deadline >= self._timer_at:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._env.clock.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = self._env.clock.now_ms()
        while self._deadlines and self._deadlines[0][0] <= now:
            armed_at, _, leader = heapq.heappop(self._deadlines)
            if leader.armed_at == armed_at:
                leader.armed_at = None
            if leader.state is not LeaderState.ACTIVE:
                continue
            deadline = leader.core.next_deadline_ms()
            if deadline is not None and deadline <= now:
                self.refresh_settings(leader)
                self._expire(leader, now)
            else:
                self.arm(leader)
        if self._deadlines:  # deadlines added meanwhile may be later than ones that were not due yet
            self._arm_timer(self._deadlines[0][0])

    def _expire(self, leader: SharePartitionLeader, now_ms: int) -> None:
        effects = leader.core.on_deadline(now_ms)
        for effect in effects:
            if isinstance(effect, WriteState):
                self._events.locks_ran_out(leader, effect)
        self.perform(leader, effects)

    # -- news of the logs

    def on_high_watermark(self, log: RecordSource) -> None:
        """Let the fetches that wait on the partition look again at once, and retry its dead letters, because it has new
        records.
        """
        siblings = self._by_topic.get((log.topic_id, log.partition))
        if siblings:
            for leader in list(siblings.values()):
                if self._loads.waiting:
                    self._loads.look_again(leader)
                self.purgatory.wake_now(leader)
                if leader.unburied:
                    self._dead_letters.records_came(leader)

    def on_truncated(self, log: RecordSource) -> None:
        """Forget the lost records from the partition's high watermark on, and cut the states that contain them, because
        new records may get their offsets.
        """
        end = log.high_watermark
        for key, leader in list(self._by_topic.get((log.topic_id, log.partition), {}).items()):
            if self._kept_reads is not None:
                self._kept_reads.forget(key)
            if leader.state is LeaderState.LOADING:
                leader.truncated_to = end if leader.truncated_to is None else min(leader.truncated_to, end)
                self._loads.look_again(leader)
            elif leader.core.known_until >= end:
                logger.warning("%s: dropped, the log was cut to offset %d", leader.key.text(), end)
                self._drop(leader, LeaderState.FENCED)
                self._load(key, leader.topic, truncated_to=end)

    def close(self) -> None:
        """Stop the timer and the work done ahead. Nothing is released: locks are not durable, so the records are handed
        out again after a restart.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ahead is not None:
            self._ahead.forget()


def _notify_quiet(leader: SharePartitionLeader) -> None:
    waiting, leader.quiet = leader.quiet, []
    for look in waiting:
        look()
