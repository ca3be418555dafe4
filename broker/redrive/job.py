"""One running redrive: rounds of a few letters, each of which is sent back once, even after failures.

Before a round appends anything, it commits its last letter, the logs to which its letters are sent, and the ends of
those logs. Then one batch for each log is appended under the redrive's own producer id; the commit of the next round
shows that this one is done. After a crash, or a failed append, these logs are searched from the committed ends:
letters of the round that are found in them are not sent again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.foundation.bounded_log import BoundedLog
from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.loop.coroutines import Begin, Waiting
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.redrive.ports import RedriveWorld
from shareq.broker.redrive.progress import PartitionProgress, Place, State, UnderWay, What, stayed_length
from shareq.broker.redrive.rate_limit import records_of_a_round, wait_ms
from shareq.broker.redrive.reading import sent_back
from shareq.broker.redrive.rounds import MOST_RECORDS, Round, RoundMaker, SentBefore
from shareq.broker.redrive.spec import RedriveSpec, Target
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.broker.share.dlq.rules import delay_ms
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import MAX_SEQUENCE, RecordData, build_batch

logger = logging.getLogger(__name__)

MOST_STAYED_TEXT: Final = 350  # characters, some 80 ranges; a round has no more than 100 of them
_TOO_MANY: Final = "too many letters stay between those sent back; name the topic with --source-topic"


# The log will never accept such a record; after any other error a later attempt may succeed.
_FOR_GOOD: Final = frozenset(
    (
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
    )
)


_Act = Callable[[], Waiting[None]]
"""The next action of the redrive."""


class Redrive:
    """A running redrive. `progress` has the committed progress of each partition of its queue.

    `trouble` is the reason why it waits, "" if it does not. `ended` is called once, when the redrive has ended and
    that is durable.
    """

    def __init__(
        self,
        env: Environment,
        begin: Begin,
        spec: RedriveSpec,
        progress: Sequence[PartitionProgress],
        world: RedriveWorld,
        ended: Callable[[Redrive], None],
        sent_before: SentBefore,
    ) -> None:
        self.spec = spec
        self.progress = progress
        self.state = State.RUNNING
        self.trouble: str | None = None
        self.counts: Counter[What] = Counter()  # of letters, since this object was made
        self._env = env
        self._begin = begin
        self._world = world
        self._ended = ended
        self._log = BoundedLog(logger, env.clock.now_ms)
        self._maker = RoundMaker(spec, world, sent_before)
        self._searched: PartitionProgress | None = None  # the progress whose unfinished round was searched for in logs
        self._sent: set[int] = set()
        self._uncommitted: set[PartitionProgress] = set()
        self._alone_upto = -1
        self._attempts = 0
        self._timer: TimerHandle | None = None
        self._scheduled = 0  # the number of scheduled actions: only the last one is carried out
        self._busy = False  # waits for a commit, an append or a search, not for time
        self._closed = False
        self._cancelled: list[Pending[ErrorCode]] = []

    def start(self) -> None:
        """Begin in the next tick."""
        self._soon(self._step)

    def cancel(self) -> Pending[ErrorCode]:
        """End the redrive after the current round. The answer comes when that is durable."""
        pending: Pending[ErrorCode] = Pending()
        self._cancelled.append(pending)
        if not self._busy:
            self._soon(self._step)
        return pending

    def stop_waiting(self) -> None:
        """Answer pending calls that are not durable yet with COORDINATOR_NOT_AVAILABLE, because the broker stops."""
        self._answer_cancels(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def close(self) -> None:
        """Stop, without a change; the broker's next start continues the redrive."""
        self._closed = True
        self._stop_timer()

    def queue_deleted(self) -> None:
        """Fail the redrive: no letters are left to send back, and its progress was deleted with the queue."""
        if not self._closed:
            logger.warning("redrive %s: its queue %s was deleted", self.spec.name, self.spec.queue)
            self._over(State.FAILED, "the queue was deleted")

    # -- one round

    async def _step(self) -> None:
        if self._cancelled:
            await self._wind_up(State.CANCELLED)
            return
        progress = next((each for each in self.progress if not each.is_done), None)
        if progress is None:
            await self._end(State.DONE)
            return
        refused = self._refused()
        if refused is not None:
            await self._wind_up(State.FAILED, refused)
            return
        if progress.under_way is not None and self._searched is not progress:
            await self._look_for(progress)
            return
        alone = progress.next_offset < self._alone_upto
        most = 1 if alone else records_of_a_round(self.spec.per_second, MOST_RECORDS)
        made = self._maker.next_round(progress, self._sent, most, self._env.clock.wall_ms())
        if made is None:
            self._soon(self._step)
        elif isinstance(made, BeingRead):
            self._busy = True
            await made.arrived
            self._busy = False
            if not self._closed:
                self._soon(self._step)
        elif isinstance(made, ErrorCode):
            self._again(f"{self.spec.queue}-{progress.partition} cannot be read: {made.name}", self._step)
        elif not made.batches:
            await self._finish(progress, made, 0)
        else:
            await self._announce(progress, made)

    def _refused(self) -> str | None:
        """Return why the owner may no longer continue the redrive; None if it may."""
        owner, spec = self.spec.owner, self.spec
        if not self._world.may(owner, READ_TOPIC, spec.queue):
            return f"{owner.principal} may not read {spec.queue}"
        group_id = spec.letters.group_id or ""
        if spec.target is Target.GROUP and not self._world.may(owner, READ_GROUP, group_id):
            return f"{owner.principal} may not use group {group_id}"
        return None

    async def _announce(self, progress: PartitionProgress, made: Round) -> None:
        """Commit the plan of a round, then append its letters."""
        ends: dict[Place, int] = {}
        for place in made.batches:
            log = self._world.log(*place)
            if isinstance(log, ErrorCode):
                self._maker.forget()
                self._again(f"{place[0]}-{place[1]} cannot be written: {log.name}", self._step)
                return
            ends[place] = log.log_end_offset
        progress.under_way = _together(progress.under_way, UnderWay(made.upto, ends))
        self._busy = True
        self._uncommitted.add(progress)
        error = await self._world.commit(self.spec, self.state, list(self._uncommitted))
        self._busy = False
        if self._closed:
            return
        if error:
            self._again(f"progress cannot be committed: {error.name}", lambda: self._announce(progress, made))
            return
        self._uncommitted.clear()
        await self._append(progress, made)

    async def _append(self, progress: PartitionProgress, made: Round) -> None:
        """Append one batch to each log. Failures are handled when all appends have been answered."""
        started_ms = self._env.clock.now_ms()
        self._busy = True
        answers = {place: self._append_to(place, records) for place, records in made.batches.items()}
        errors = {place: await answer for place, answer in answers.items()}
        self._busy = False
        if not self._closed:
            await self._appended(progress, made, errors, started_ms)

    def _append_to(self, place: Place, records: Sequence[RecordData]) -> Pending[ErrorCode]:
        log = self._world.log(*place)
        if isinstance(log, ErrorCode):
            return completed(log)
        now_ms = self._env.clock.wall_ms()
        known = log.producers.get(self.spec.producer_id)
        sequence = known.batches[-1].last_sequence + 1 if known is not None and known.batches else 0
        batch = build_batch(
            records,
            timestamp_ms=now_ms,
            producer_id=self.spec.producer_id,
            producer_epoch=0,
            base_sequence=0 if sequence > MAX_SEQUENCE else sequence,
        )
        answer: Pending[ErrorCode] = Pending()
        error = self._world.append(*place, batch, now_ms, answer.complete)
        return completed(error) if error else answer

    async def _appended(
        self, progress: PartitionProgress, made: Round, errors: dict[Place, ErrorCode], started_ms: int
    ) -> None:
        failed = {place: error for place, error in errors.items() if error}
        if not failed:
            await self._finish(progress, made, started_ms)
            return
        place, error = next(iter(failed.items()))
        if all(error in _FOR_GOOD for error in failed.values()):
            if made.records == 1:
                self._leave(progress, made, place, error)
                await self._finish(progress, made, started_ms)
                return
            self._alone_upto = max(self._alone_upto, made.upto)
            self._maker.forget()
            await self._look_for(progress)
            return
        self._maker.forget()
        self._again(f"{place[0]}-{place[1]} cannot be written: {error.name}", lambda: self._look_for(progress))

    def _leave(self, progress: PartitionProgress, made: Round, place: Place, error: ErrorCode) -> None:
        """Leave the letter of a round with only one record in the queue, because its log never accepts it."""
        made.leave(What.REFUSED)
        self._log.log(
            logging.WARNING,
            "redrive %s: %s-%d: a letter below offset %d stays: %s-%d does not take it: %s",
            self.spec.name,
            self.spec.queue,
            progress.partition,
            made.upto,
            *place,
            error.name,
            event="redrive_refused",
            redrive=self.spec.name,
            topic=place[0],
            partition=place[1],
            reason=error.name,
        )

    async def _finish(self, progress: PartitionProgress, made: Round, started_ms: int) -> None:
        """Finish the round. The next commit shows this."""
        if self.trouble is not None:
            logger.info("redrive %s: goes on", self.spec.name)
        self._attempts, self.trouble = 0, None
        progress.move(made.upto, made.counts, made.stayed)
        self.counts.update(made.counts)
        if stayed_length(progress) > MOST_STAYED_TEXT:
            await self._wind_up(State.FAILED, f"{self.spec.queue}-{progress.partition}: {_TOO_MANY}")
            return
        self._uncommitted.add(progress)
        if progress.under_way is None:
            self._sent.clear()
        pause_ms = wait_ms(made.records, self.spec.per_second)
        if pause_ms:
            self._at(started_ms + pause_ms, self._step)
        else:
            self._soon(self._step)

    # -- what may have been done

    async def _look_for(self, progress: PartitionProgress) -> None:
        """Find the letters of the unfinished round that are already in the logs."""
        found: set[int] = set()
        trouble = ""
        try:
            for place, end in {} if progress.under_way is None else progress.under_way.logs.items():
                found |= await self._search(place, end, progress.partition)
        except (OSError, MalformedMessage) as error:
            trouble = f"cannot find out what was sent back: {error}"
        if self._closed:
            return
        if trouble and not self._cancelled:
            self._again(trouble, lambda: self._look_for(progress))
            return
        if not trouble:
            self._sent, self._searched = found, progress
        self._soon(self._step)

    async def _search(self, place: Place, end: int, partition: int) -> set[int]:
        """Return the offsets of the queue's letters that are already in a log. Raise OSError, MalformedMessage."""
        log = self._world.log(*place)
        if log is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return set()  # the topic was deleted, and with it the records sent to it
        if isinstance(log, ErrorCode):
            raise OSError(f"{place[0]}-{place[1]}: {log.name}")
        self._busy = True
        try:
            return await sent_back(log, self.spec.producer_id, end, partition, self._env.budget.breathe)
        finally:
            self._busy = False

    # -- the end, and time

    async def _wind_up(self, state: State, trouble: str | None = None) -> None:
        """End the redrive, which leaves letters in the queue. If a round is in progress, letters that are found in
        the logs count as sent.
        """
        progress = next((each for each in self.progress if each.under_way is not None), None)
        if progress is not None and progress.under_way is not None:
            found: set[int] = set()
            for place, end in progress.under_way.logs.items():
                try:
                    found |= await self._search(place, end, progress.partition)
                except (OSError, MalformedMessage) as error:
                    logger.warning("redrive %s: cannot count what was sent back: %s", self.spec.name, error)
                if self._closed:
                    return
            self.counts[What.REDRIVEN] += progress.give_up(found)
        await self._end(state, trouble)

    async def _end(self, state: State, trouble: str | None = None) -> None:
        self._busy = True
        error = await self._world.commit(self.spec, state, self.progress, trouble or "")
        self._busy = False
        if self._closed:
            return
        if error:
            self._again(f"progress cannot be committed: {error.name}", lambda: self._end(state, trouble))
        else:
            self._over(state, trouble)

    def _over(self, state: State, trouble: str | None) -> None:
        self.state, self.trouble = state, trouble
        self.close()
        self._ended(self)
        self._answer_cancels(ErrorCode.NONE)

    def _answer_cancels(self, error: ErrorCode) -> None:
        waiting, self._cancelled = self._cancelled, []
        for pending in waiting:
            pending.complete(error)

    def _again(self, reason: str, retry: _Act) -> None:
        """Try again later. Each reason is logged once."""
        self._attempts += 1
        if self.trouble != reason:
            self.trouble = reason
            self._log.log(
                logging.WARNING,
                "redrive %s: waits: %s",
                self.spec.name,
                reason,
                event="redrive_waits",
                redrive=self.spec.name,
                reason=reason,
            )
        wait_ms = delay_ms(self._attempts, self._env.rng.random())
        self._at(self._env.clock.now_ms() + wait_ms, retry)

    def _soon(self, act: _Act) -> None:
        self._env.clock.call_soon(self._schedule(act))

    def _at(self, when_ms: int, act: _Act) -> None:
        self._timer = self._env.clock.call_at(when_ms, self._schedule(act))

    def _schedule(self, act: _Act) -> Callable[[], None]:
        """Return a function that begins `act`, in place of an action scheduled before."""
        self._stop_timer()
        self._scheduled += 1
        scheduled = self._scheduled

        def run() -> None:
            if not self._closed and scheduled == self._scheduled:
                self._begin(act())

        return run

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _together(earlier: UnderWay | None, now: UnderWay) -> UnderWay:
    """Merge both rounds: each log is searched from the lower of its two offsets, since it may have been cut, or created
    again, in between.
    """
    if earlier is None:
        return now
    logs = dict(earlier.logs)
    for place, end in now.logs.items():
        logs[place] = min(end, logs.get(place, end))
    return UnderWay(max(earlier.upto, now.upto), logs)
