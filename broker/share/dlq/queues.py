"""Writing dead letters: one lane for each share partition, one batch of it at a time, with retries (KIP-1191).

A letter that cannot be written is given up, and its record is archived without a letter, as in Apache Kafka 4.4.0. In a
group with `shareq.dlq.keep` no letter is given up: its dead records stay in flight, and the lane tries again until it
succeeds.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import islice
from typing import Final

from shareq.broker.foundation.bounded_log import BoundedLog
from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.dlq.counters import GroupDeadLetters
from shareq.broker.share.dlq.letter_batches import MOST_RECORDS, Burial, Done, Lane, Part, Round
from shareq.broker.share.dlq.ports import QueueTopics
from shareq.broker.share.dlq.rules import MOST_ATTEMPTS, QueueTopic, delay_ms, not_found, partition_for, refusal
from shareq.broker.share.leader import SharePartitionLeader
from shareq.coordinator.ports import ShareGroupSettings, ShareGroupSettingsSource
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.records.batch import build_batch

logger = logging.getLogger(__name__)

FETCHED_MS: Final = 30_000
"""The longest wait, in milliseconds, for source records that have to be fetched: at least as long as five attempts
take.
"""
LOOK_MS: Final = 1_000
"""The pause, in milliseconds, between two looks for source records that have to be fetched, unless there is news of
their partition.
"""
_MOST_GIVEN_UP: Final = 100  # ranges in one turn
_NO_NAME: Final[Pending[QueueTopic | ApiError | None]] = completed(None)


class DeadLetterQueues:
    """A `DeadLetterWriter`. `settings` and `topics` are consulted before each batch, so a change takes effect with the
    next one.
    """

    def __init__(self, env: Environment, settings: ShareGroupSettingsSource, topics: QueueTopics) -> None:
        self._env = env
        self._settings = settings
        self._topics = topics
        self._lanes: dict[SharePartitionLeader, Lane] = {}
        self._timers: dict[Lane, TimerHandle] = {}
        self._log = BoundedLog(logger, env.clock.now_ms)
        self.groups: dict[str, GroupDeadLetters] = {}

    def write(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], done: Done) -> None:
        """Begin to write letters, after the current operation; see `DeadLetterWriter.write`."""
        lane = self._lanes.get(leader)
        if lane is None:
            lane = self._lanes[leader] = Lane(leader)
        lane.add(letters, done)
        if not lane.busy:
            lane.busy = True
            self._soon(lane)

    def give_up(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], reason: str) -> None:
        """Log and count letters that can never be written; see `DeadLetterWriter.give_up`."""
        lane = Lane(leader)
        lane.add(letters, lambda _first_offset, _last_offset: None)
        while lane.burials:
            self._give_up(lane, lane.burials[0], lane.burials[0].letter.last_offset + 1, reason)

    def records_came(self, leader: SharePartitionLeader) -> None:
        """Continue with the letters that wait for records; see `DeadLetterWriter.records_came`.

        Letters that wait for their queue keep waiting.
        """
        lane = self._lanes.get(leader)
        if lane is not None and lane.fetches:
            lane.fetches = False
            self._timers.pop(lane).cancel()
            self._soon(lane)

    def waiting(self) -> dict[str, int]:
        """Return the number of records that wait for their letters, by group."""
        counts: dict[str, int] = {}
        for lane in self._lanes.values():
            counts[lane.origin.group_id] = counts.get(lane.origin.group_id, 0) + lane.waiting
        return counts

    def trouble(self, leader: SharePartitionLeader) -> str:
        """Return why the last attempt to write the leader's letters failed; "" if it did not."""
        lane = self._lanes.get(leader)
        return "" if lane is None else lane.trouble

    def close(self) -> None:
        """Stop all timers. Letters that still wait are found again by the next load."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._lanes.clear()

    # -- one step of a lane

    def _soon(self, lane: Lane) -> None:
        self._env.clock.call_soon(lambda: self._step(lane))

    def _step(self, lane: Lane) -> None:
        """Write the lane's next batch; when that has ended, continue with the next step."""
        self._timers.pop(lane, None)
        lane.fetches = False
        if not self._goes_on(lane):
            return
        settings = self._settings.share_group(lane.origin.group_id)
        name = settings.dead_letter_queue
        found = self._topics.find(name) if name else _NO_NAME
        if found.done:
            self._found(lane, settings, found.value)
        else:
            found.on_complete(lambda queue: self._found_later(lane, name, queue))

    def _goes_on(self, lane: Lane) -> bool:
        """Return True if the lane has letters to write; otherwise forget the lane."""
        if self._lanes.get(lane.leader) is not lane:
            return False  # closed
        if lane.burials and (lane.leader.is_active or lane.leader.orphaned):
            return True
        del self._lanes[lane.leader]  # the next leader finds what is left, unless this one is orphaned
        lane.busy = False
        return False

    def _found_later(self, lane: Lane, name: str, queue: QueueTopic | ApiError | None) -> None:
        """Continue with the result of the search for the queue, unless the lane has no letters left by now, or another
        queue.
        """
        if not self._goes_on(lane):
            return
        settings = self._settings.share_group(lane.origin.group_id)
        if settings.dead_letter_queue == name:
            self._found(lane, settings, queue)
        else:
            self._step(lane)

    def _found(self, lane: Lane, settings: ShareGroupSettings, queue: QueueTopic | ApiError | None) -> None:
        name = settings.dead_letter_queue
        if isinstance(queue, ApiError):
            self._without_queue(lane, settings, not_found(name, queue), queue.code)
            return
        refused = refusal(lane.origin.group_id, name, queue, self._topics.policy())
        if refused is not None:
            self._failed_before(lane, settings, refused)
            return
        if queue is None:
            self._topics.create(name).on_complete(lambda error: self._created(lane, name, error))
            return
        if settings.keep_dead_records and queue.name == lane.origin.topic:
            self._refuse(lane, queue.name)
            return
        self._append(lane, settings, queue)

    def _created(self, lane: Lane, name: str, error: ApiError) -> None:
        """Continue with the lane's letters, now that the queue's topic exists or could not be created."""
        group_id = lane.origin.group_id
        if not error:
            logger.info("share group %s: created %s, its dead-letter queue", group_id, name)
            self._step(lane)
        elif self._goes_on(lane):
            reason = f"topic {name} cannot be created: {error.code.name}: {error.message or ''}"
            self._without_queue(lane, self._settings.share_group(group_id), reason, error.code)

    def _append(self, lane: Lane, settings: ShareGroupSettings, queue: QueueTopic) -> None:
        now_ms = self._env.clock.wall_ms()
        made = lane.next_round(settings, queue, now_ms)
        if not made.parts:
            self._unread(lane, settings, made)
            return
        lane.fetched_by_ms = None
        if not made.records:  # all of them are refused
            self._finish(lane, made.parts)
            return
        counters = self._counters(lane)
        counters.requests += 1
        batch = build_batch(made.records, timestamp_ms=now_ms)
        partition = partition_for(lane.origin.partition, queue.partitions)

        def durable(error: ErrorCode) -> None:
            if self._lanes.get(lane.leader) is not lane:
                return  # closed
            if error:
                self._failed(lane, made, error)
            else:
                counters.records += len(made.records)
                self._finish(lane, made.parts)

        error = self._topics.append(queue.name, partition, batch, durable)
        if error:
            self._failed(lane, made, error)

    def _finish(self, lane: Lane, parts: Sequence[Part]) -> None:
        """Finish these parts, whose letters are durable, or refused for good."""
        counters = self._counters(lane)
        if lane.trouble:
            logger.info("%s: dead letters are written again", lane.leader.key.text())
        lane.attempts, lane.trouble, lane.bare, lane.own_time = 0, "", False, False
        lane.most_records = min(2 * lane.most_records, MOST_RECORDS)
        for part in parts:
            counters.without_content += part.bare
            if part.refused:
                self._note_refused(lane, part.burial, part.refused)
            lane.bury(part.burial, part.upto)
        self._soon(lane)

    # -- what goes wrong

    def _without_queue(self, lane: Lane, settings: ShareGroupSettings, reason: str, error: ErrorCode) -> None:
        """Try again later, or give the letters up, because the queue could not be found or created."""
        if error in self._topics.retriable and not settings.keep_dead_records:
            if lane.attempts + 1 < MOST_ATTEMPTS:
                self._again(lane, reason)
                return
            lane.attempts = 0
        self._failed_before(lane, settings, reason)

    def _failed_before(self, lane: Lane, settings: ShareGroupSettings, reason: str) -> None:
        """Try again later, or give the letters up, because there is no queue to write to."""
        if settings.keep_dead_records:
            self._again(lane, reason)
            return
        for burial in list(islice(lane.burials, _MOST_GIVEN_UP)):
            self._give_up(lane, burial, burial.letter.last_offset + 1, reason)
        self._soon(lane)

    def _failed(self, lane: Lane, made: Round, error: ErrorCode) -> None:
        """Try a batch again, later or in another form, or give its letters up, because the queue refused it."""
        self._counters(lane).failed_requests += 1
        if error is ErrorCode.MESSAGE_TOO_LARGE and len(made.records) > 1:  # the queue's limit has become lower
            lane.most_records = len(made.records) // 2
            self._soon(lane)
            return
        settings = self._settings.share_group(lane.origin.group_id)
        if settings.keep_dead_records:
            self._failed_and_kept(lane, error)
            return
        if error in self._topics.retriable and lane.attempts + 1 < MOST_ATTEMPTS:
            self._again(lane, error.name)
            return
        lane.attempts = 0
        for part in made.parts:
            # A record that is too large was alone in its batch; after other errors the rest of the range fails, too.
            upto = part.upto if error is ErrorCode.MESSAGE_TOO_LARGE else part.burial.letter.last_offset + 1
            self._give_up(lane, part.burial, upto, error.name)
        self._soon(lane)

    def _failed_and_kept(self, lane: Lane, error: ErrorCode) -> None:
        if error is ErrorCode.MESSAGE_TOO_LARGE and not lane.bare:
            lane.bare = True
            self._soon(lane)
        elif error is ErrorCode.INVALID_TIMESTAMP and not lane.own_time:
            lane.own_time = True
            self._soon(lane)
        else:
            lane.bare = lane.own_time = False  # the queue's limits may have changed by then
            self._again(lane, error.name)

    def _unread(self, lane: Lane, settings: ShareGroupSettings, made: Round) -> None:
        """Wait for the first record, which cannot be read now. After too long, write its letter without content, unless
        the group keeps its dead records.
        """
        if made.error:
            self._again(lane, made.error.name)
            return
        if made.arrived is not None:
            made.arrived.on_complete(lambda _: self._soon(lane))
            return
        now_ms = self._env.clock.now_ms()
        if lane.fetched_by_ms is None:
            lane.fetched_by_ms = now_ms + FETCHED_MS
        if now_ms < lane.fetched_by_ms:
            self._timers[lane] = self._env.clock.call_at(now_ms + LOOK_MS, lambda: self._step(lane))
            lane.fetches = True
        elif settings.keep_dead_records:
            self._again(lane, "its records have to be fetched first")
            lane.fetches = True
        else:
            lane.fetched_by_ms = None
            lane.burials[0].unread = True
            self._soon(lane)

    def _refuse(self, lane: Lane, queue: str) -> None:
        """Refuse letters for a queue that is itself the topic where the records died."""
        for burial in list(islice(lane.burials, _MOST_GIVEN_UP)):
            self._note_refused(lane, burial, burial.letter.last_offset - burial.next_offset + 1)
            lane.bury(burial, burial.letter.last_offset + 1)
        self._soon(lane)

    def _again(self, lane: Lane, reason: str) -> None:
        """Try once more later. Log the failure if its reason differs from the last one logged."""
        lane.attempts += 1
        self._counters(lane).retries += 1
        wait_ms = delay_ms(lane.attempts, self._env.rng.random())
        if lane.trouble != reason:
            lane.trouble = reason
            first, last = lane.burials[0].next_offset, lane.burials[-1].letter.last_offset
            self._log.log(
                logging.WARNING,
                "share group %s: %s-%d: %d dead records from offset %d to %d wait for their dead letters: %s",
                *lane.origin,
                lane.waiting,
                first,
                last,
                reason,
                **self._fields(lane, "dead_letters_wait", reason),
            )
        self._timers[lane] = self._env.clock.call_at(self._env.clock.now_ms() + wait_ms, lambda: self._step(lane))

    def _give_up(self, lane: Lane, burial: Burial, upto: int, reason: str) -> None:
        """Archive the dead records up to `upto` (exclusive) without letters."""
        count = upto - burial.next_offset
        self._counters(lane).without_letter += count
        self._log.log(
            logging.WARNING,
            "share group %s: %s-%d: dead letters of offsets %d to %d could not be written, archived without: %s",
            *lane.origin,
            burial.next_offset,
            upto - 1,
            reason,
            **self._fields(lane, "dead_letters_lost", reason),
        )
        lane.bury(burial, upto)

    def _note_refused(self, lane: Lane, burial: Burial, count: int) -> None:
        counters = self._counters(lane)
        counters.refused += count
        counters.without_letter += count
        self._log.log(
            logging.WARNING,
            "share group %s: %s-%d: %d dead records from offset %d on were in the dead-letter queue before: archived "
            "without letters, which would go round in circles",
            *lane.origin,
            count,
            burial.next_offset,
            **self._fields(lane, "dead_letters_refused", "loop"),
        )

    def _fields(self, lane: Lane, event: str, reason: str) -> dict[str, object]:
        group_id, topic, partition = lane.origin
        return {"event": event, "group": group_id, "topic": topic, "partition": partition, "reason": reason}

    def _counters(self, lane: Lane) -> GroupDeadLetters:
        group_id = lane.origin.group_id
        counters = self.groups.get(group_id)
        if counters is None:
            counters = self.groups[group_id] = GroupDeadLetters()
        return counters
